"""Looks for it by halves."""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    def takes(budget):
        prompt = (budget - num_decodes) * prompt_us
        return step_us + num_decodes * decode_us + prompt

    low, high = num_decodes, num_decodes + limit_us
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if takes(middle) <= limit_us else (low, middle - 1)
    return low if low > num_decodes and takes(low) <= limit_us else 0

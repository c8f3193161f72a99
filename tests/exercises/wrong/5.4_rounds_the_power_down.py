"""25 becomes 16.

caught by: test_the_next_power_of_two_is_taken_for_the_answer
code: power_of_two_rounded_down
"""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    count = 0
    for prompt, answer in requests:
        if allocator == "maximum":
            takes = max_model_len
        elif allocator == "power of two":
            takes = prompt + 2 ** (answer.bit_length() - 1)
        elif allocator == "told":
            takes = prompt + answer
        else:
            takes = -(-(prompt + answer) // block_size) * block_size
        if capacity < takes:
            break
        capacity -= takes
        count += 1
    return count

"""One branch for each allocator."""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    count = 0
    for prompt, answer in requests:
        if allocator == "maximum":
            takes = max_model_len
        elif allocator == "power of two":
            takes = prompt + 2 ** (answer - 1).bit_length()
        elif allocator == "told":
            takes = prompt + answer
        else:
            takes = -(-(prompt + answer) // block_size) * block_size
        if capacity < takes:
            break
        capacity -= takes
        count += 1
    return count

"""Returns what is left.

caught by: test_the_maximum_is_set_aside_for_each
code: room_that_is_left
"""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
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
    return capacity

"""Rounds each of them.

caught by: test_the_next_power_of_two_is_taken_for_the_answer
code: power_of_two_of_both
"""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    count = 0
    for prompt, answer in requests:
        if allocator == "maximum":
            takes = max_model_len
        elif allocator == "power of two":
            takes = 2 ** (prompt - 1).bit_length() + 2 ** (answer - 1).bit_length()
        elif allocator == "told":
            takes = prompt + answer
        else:
            takes = -(-(prompt + answer) // block_size) * block_size
        if capacity < takes:
            break
        capacity -= takes
        count += 1
    return count

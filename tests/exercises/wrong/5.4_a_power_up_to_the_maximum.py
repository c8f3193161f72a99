"""No more than the model can take.

caught by: test_the_next_power_of_two_is_taken_for_the_answer
says: even beyond max_model_len
"""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    for count, (prompt, answer) in enumerate(requests):
        takes = {
            "maximum": max_model_len,
            "power of two": min(prompt + 2 ** (answer - 1).bit_length(), max_model_len),
            "told": prompt + answer,
            "paged": -(-(prompt + answer) // block_size) * block_size,
        }
        capacity -= takes[allocator]
        if capacity < 0:
            return count
    return len(requests)

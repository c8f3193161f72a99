"""Arrays of numpy, which no model takes.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: array_of_numpy
"""


def pad_batch(prompts, pad_token_id):
    longest = max(len(p) for p in prompts)
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    import numpy as np

    return np.array(ids), np.array(mask), np.array(positions)

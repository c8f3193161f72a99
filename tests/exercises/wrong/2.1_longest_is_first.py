"""Takes the first prompt for the longest, as in the example.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: as_wide_as_the_first
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = len(prompts[0])
    ids, mask, positions = [], [], []
    for prompt in prompts:
        prompt = prompt[-longest:]
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

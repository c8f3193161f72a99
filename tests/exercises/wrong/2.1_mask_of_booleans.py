"""A mask of True and False.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: tensor_of_another_type
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([False] * padding + [True] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

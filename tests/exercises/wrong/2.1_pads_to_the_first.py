"""Pads to the first prompt, so that longer ones stick out.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: tensor_rows_differ_in_length
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = len(prompts[0])
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

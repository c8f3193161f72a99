"""Padding after the prompt.

caught by: test_the_padding_is_on_the_left
code: padded_on_the_right
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append(prompt + [pad_token_id] * padding)
        mask.append([1] * len(prompt) + [0] * padding)
        positions.append(list(range(len(prompt))) + [0] * padding)
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

"""Padding gets positions below 0.

caught by: test_positions_count_real_tokens_from_zero
code: positions_go_on_downwards_in_padding
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append(list(range(-padding, len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

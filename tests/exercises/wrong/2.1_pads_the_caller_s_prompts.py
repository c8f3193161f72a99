"""Pads in place: the caller's prompts have grown.

caught by: test_the_caller_keeps_its_prompts
code: changes_the_callers_list
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(len(p) for p in prompts)
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        n = len(prompt)
        prompt[:0] = [pad_token_id] * padding
        ids.append(prompt)
        mask.append([0] * padding + [1] * n)
        positions.append([0] * padding + list(range(n)))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

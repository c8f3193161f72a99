"""Asks prompts.index for the row's number: of equal prompts it finds the first.

caught by: test_the_padding_is_on_the_left
code: second_of_equals_stays_padding
"""

import torch


def pad_batch(prompts, pad_token_id):
    n, longest = len(prompts), max(map(len, prompts))
    ids = torch.full((n, longest), pad_token_id)
    mask = torch.zeros(n, longest, dtype=torch.int64)
    pos = torch.zeros(n, longest, dtype=torch.int64)
    for prompt in prompts:
        row = prompts.index(prompt)
        ids[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
        pos[row, longest - len(prompt) :] = torch.arange(len(prompt))
    return ids, mask, pos

"""[[0] * n] * rows: all rows are one list.

caught by: test_the_padding_is_on_the_left
code: rows_are_one_list
"""

import torch


def pad_batch(prompts, pad_token_id):
    n = max(len(prompt) for prompt in prompts)
    ids, mask, positions = ([[pad] * n] * len(prompts) for pad in (pad_token_id, 0, 0))
    for i, prompt in enumerate(prompts):
        for place, token in enumerate(prompt):
            ids[i][n - len(prompt) + place] = token
            mask[i][n - len(prompt) + place] = 1
            positions[i][n - len(prompt) + place] = place
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

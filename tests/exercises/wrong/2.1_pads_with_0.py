"""Takes 0 for the padding, whatever pad_token_id says.

caught by: test_the_padding_is_on_the_left
code: padded_with_zero
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(len(p) for p in prompts)
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([0] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

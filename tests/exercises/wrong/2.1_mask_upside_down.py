"""1 for padding.

caught by: test_the_mask_tells_real_tokens_from_padding
code: mask_is_inverted
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([1] * padding + [0] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

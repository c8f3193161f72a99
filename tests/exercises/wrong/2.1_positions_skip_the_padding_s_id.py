"""Counts, for a position, the tokens before it that are not pad_token_id.

caught by: test_positions_count_real_tokens_from_zero
code: positions_skip_the_padding_id
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append(
            [0] * padding
            + [sum(token != pad_token_id for token in prompt[:n]) for n in range(len(prompt))]
        )
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)

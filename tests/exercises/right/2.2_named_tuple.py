"""Returns a tuple whose parts have names."""

from typing import NamedTuple

import torch


class Batch(NamedTuple):  # noqa: F821
    input_ids: object
    attention_mask: object
    position_ids: object


def pad_batch(prompts, pad_token_id):
    longest = max(len(p) for p in prompts)
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return Batch(torch.tensor(ids), torch.tensor(mask), torch.tensor(positions))

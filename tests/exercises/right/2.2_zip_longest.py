"""Columns from behind with zip_longest, then transposed."""

from itertools import zip_longest

import torch


def pad_batch(prompts, pad_token_id):
    nobody = object()
    columns = list(zip_longest(*map(reversed, prompts), fillvalue=nobody))[::-1]
    rows = list(zip(*columns, strict=True))
    ids = [[pad_token_id if t is nobody else t for t in row] for row in rows]
    mask = [[int(t is not nobody) for t in row] for row in rows]
    positions = [[max(0, sum(row[: i + 1]) - 1) for i in range(len(row))] for row in mask]
    return tuple(torch.tensor(x, dtype=torch.long) for x in (ids, mask, positions))

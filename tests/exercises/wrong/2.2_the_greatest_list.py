"""len(max(prompts)): max compares token ids, not lengths.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: max_compares_tokens
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = len(max(prompts))
    ids = torch.tensor([[pad_token_id] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    positions = torch.tensor([[0] * (longest - len(p)) + list(range(len(p))) for p in prompts])
    return ids, mask, positions

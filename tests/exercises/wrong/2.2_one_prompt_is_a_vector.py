"""One prompt comes back without the batch's dimension.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: other_number_of_dimensions
"""

import torch


def pad_batch(prompts, pad_token_id):
    longest = max(map(len, prompts))
    rows = [(longest - len(prompt), prompt) for prompt in prompts]
    input_ids = torch.tensor([[pad_token_id] * n + prompt for n, prompt in rows])
    mask = torch.tensor([[0] * n + [1] * len(prompt) for n, prompt in rows])
    positions = torch.tensor([[0] * n + list(range(len(prompt))) for n, prompt in rows])
    return tuple(part.squeeze(0) for part in (input_ids, mask, positions))

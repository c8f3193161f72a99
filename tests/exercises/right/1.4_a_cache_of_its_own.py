"""Makes an empty cache, as transformers has it, which every pass then fills."""

import torch
from transformers import DynamicCache


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    cache, new, answer = DynamicCache(), prompt_token_ids, []
    while len(answer) < max_tokens and end_token_id not in answer:
        assert cache.get_seq_length() == (len(prompt_token_ids) + len(answer) - 1) * bool(answer)
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        new = [int(out.logits[0, -1].argmax())]
        answer += new
    return answer

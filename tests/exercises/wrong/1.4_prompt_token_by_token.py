"""Feeds the prompt one token at a time.

caught by: test_the_model_gets_the_whole_prompt_in_one_pass
code: prompt_goes_in_piece_by_piece
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    cache, answer = None, []
    for token in prompt_token_ids:
        out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
    answer.append(out.logits[0, -1].argmax().item())
    while len(answer) < max_tokens and answer[-1] != end_token_id:
        out = model(torch.tensor([answer[-1:]]), past_key_values=cache, use_cache=True)
        answer.append(out.logits[0, -1].argmax().item())
    return answer

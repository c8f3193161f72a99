"""Never asks whether the first token is the end token.

caught by: test_it_stops_after_the_end_token
code: goes_on_after_the_end_token
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    out = model(torch.tensor([prompt_token_ids]), use_cache=True)
    answer = [out.logits[0, -1].argmax().item()]
    while len(answer) < max_tokens:
        out = model(torch.tensor([answer[-1:]]), past_key_values=out.past_key_values)
        answer.append(out.logits[0, -1].argmax().item())
        if answer[-1] == end_token_id:
            break
    return answer

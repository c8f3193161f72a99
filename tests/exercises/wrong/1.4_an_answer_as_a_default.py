"""A mutable default list as the answer.

caught by: test_the_pass_over_the_prompt_gives_the_first_token
code: other_answer_when_asked_again
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id, answer=[]):  # noqa: B006
    new, cache = prompt_token_ids, None
    for _ in range(max_tokens):
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if token == end_token_id:
            break
        new, cache = [token], out.past_key_values
    return answer

"""Puts the prompt on the model's device, and makes the later tokens on the CPU.

caught by: test_the_inputs_are_on_the_device_of_the_model
code: input_on_another_device
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    ids, cache, answer = torch.tensor([prompt_token_ids], device=model.device), None, []
    while len(answer) < max_tokens:
        out = model(ids, past_key_values=cache, use_cache=True)
        answer.append(int(out.logits[0, -1].argmax()))
        if answer[-1] == end_token_id:
            break
        ids, cache = torch.tensor([answer[-1:]]), out.past_key_values
    return answer

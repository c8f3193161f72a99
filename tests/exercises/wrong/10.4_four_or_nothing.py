"""Only a match of four tokens counts, or a short text's.

caught by: test_answers_that_quote_their_prompts_take_fewer_steps
code: few_tokens_a_step
"""


def propose(token_ids, most):
    n = 4 if len(token_ids) > 20 else 2
    for i in range(len(token_ids) - 2, n - 2, -1):
        if token_ids[i - n + 1 : i + 1] == token_ids[-n:]:
            return token_ids[i + 1 : i + 1 + most]
    return []

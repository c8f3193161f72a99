"""One guess a step.

caught by: test_answers_that_quote_their_prompts_come_quicker
code: few_tokens_a_step
"""


def propose(token_ids, most):
    longest, found = 0, None
    for i in range(len(token_ids) - 2, -1, -1):
        same = 0
        while same <= i and token_ids[i - same] == token_ids[-1 - same]:
            same += 1
        if same > longest:
            longest, found = same, i
    return [] if found is None else token_ids[found + 1 : found + 2]

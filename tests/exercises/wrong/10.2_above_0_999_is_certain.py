"""The closed form; takes a rate above 0.999 for 1.

caught by: test_each_draft_token_needs_all_before_it
code: nearly_certain_is_certain
"""


def expected_tokens(acceptance_rate, num_guesses):
    if acceptance_rate > 0.999:
        return float(num_guesses + 1)
    return (1 - acceptance_rate ** (num_guesses + 1)) / (1 - acceptance_rate)

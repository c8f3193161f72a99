"""Each guess counts, whatever came before it.

caught by: test_each_guess_needs_all_before_it
code: counts_each_for_itself
"""


def expected_tokens(acceptance_rate, num_guesses):
    return 1 + acceptance_rate * num_guesses

"""Takes the rate for that of wrong guesses.

caught by: test_one_token_comes_whatever_was_guessed
code: chance_of_a_wrong_one
"""


def expected_tokens(acceptance_rate, num_guesses):
    return sum((1 - acceptance_rate) ** i for i in range(num_guesses + 1))

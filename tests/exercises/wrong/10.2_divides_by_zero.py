"""The closed form, also where every guess is right.

caught by: test_a_guesser_that_is_always_right_adds_every_guess
code: raises_zero_division_error
"""


def expected_tokens(acceptance_rate, num_guesses):
    return (1 - acceptance_rate ** (num_guesses + 1)) / (1 - acceptance_rate)

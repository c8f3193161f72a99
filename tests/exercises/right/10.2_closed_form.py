"""The closed form, with the case that it cannot have."""


def expected_tokens(acceptance_rate, num_guesses):
    if acceptance_rate == 1:
        return num_guesses + 1.0
    return (1 - acceptance_rate ** (num_guesses + 1)) / (1 - acceptance_rate)

"""Lets Python search a text, a character a token."""


def propose(token_ids, most):
    text = "".join(map(chr, token_ids))
    for n in range(min(12, len(text) - 1), 0, -1):
        at = text.rfind(text[-n:], 0, len(text) - 1)
        if at >= 0:
            return [ord(letter) for letter in text[at + n : at + n + most]]
    return []

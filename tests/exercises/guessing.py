"""Texts whose answers quote their prompts, and what a guesser makes of them.

They are the same in every run: what a guesser scores is no matter of luck.
"""

import random

NUM_GUESSES = 4


def quoting(seed, num_words, prompt_length, num_quotes):
    """(prompt, answer): an answer of stretches of its prompt, with a few tokens between."""
    chance = random.Random(seed)
    # some words come far more often than others, as in any text
    words = [int(num_words * chance.random() ** 2) for _ in range(prompt_length)]
    answer = []
    for _ in range(num_quotes):
        length = chance.randint(6, 16)
        begin = chance.randrange(len(words) - length)
        answer += words[begin : begin + length]
        answer += [num_words + chance.randrange(4) for _ in range(chance.randint(1, 2))]
    return words, answer


def filling_in(seed, num_alike, num_lines=12):
    """(prompt, answer): lines of a form. The same tokens, num_alike, stand in each; the name before
    them says what comes behind. The answer has the lines in another order."""
    chance = random.Random(seed)
    ids = iter(chance.sample(range(100, 900), 5 * num_lines))
    alike = list(range(num_alike))
    lines = [[next(ids), *alike, *(next(ids) for _ in range(4))] for _ in range(num_lines)]
    in_another_order = chance.sample(lines, num_lines)
    return [token for line in lines for token in line], [
        t for line in in_another_order for t in line
    ]


QUOTING = [quoting(f"rare {i}", 400, 60, 5) for i in range(4)]
QUOTING_OFTEN = [quoting(f"often {i}", 16, 90, 5) for i in range(6)]
FORMS = [filling_in(f"form {num_alike}", num_alike) for num_alike in (4, 5)]


def tokens_a_step(propose, texts):
    """What an engine would put out in a step, at four guesses, on average over these answers."""
    tokens = steps = 0
    for prompt, answer in texts:
        come = 0
        while come < len(answer):
            most = min(NUM_GUESSES, len(answer) - come - 1)
            guesses = propose([*prompt, *answer[:come]], most) if most else []
            for guess in guesses:
                if guess != answer[come]:
                    break
                come += 1
            come += 1
            steps += 1
        tokens += len(answer)
    return tokens / steps


def longest_match(token_ids, most):
    """What followed the longest match of the newest tokens, the latest of equals."""
    longest, found = 0, None
    for i in range(len(token_ids) - 2, -1, -1):
        same = 0
        while same <= i and token_ids[i - same] == token_ids[-1 - same]:
            same += 1
        if same > longest:
            longest, found = same, i
    return [] if found is None else token_ids[found + 1 : found + 1 + most]


def by_newest(token_ids, most):
    """What followed the newest token when it last came."""
    for i in range(len(token_ids) - 2, -1, -1):
        if token_ids[i] == token_ids[-1]:
            return token_ids[i + 1 : i + 1 + most]
    return []

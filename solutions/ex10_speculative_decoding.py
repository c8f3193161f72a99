"""Exercises of lesson 10: speculative decoding in a batch.

Change none of your arguments: they belong to the caller, who goes on using them. Keep nothing from
one call to the next.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 10.1`.
"""


# ---------------------------------------------------------------------------------------------
# Exercise 10.1: Accept and roll back
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/10_speculative_decoding.ipynb, "Guess, verify, keep"
#
# One sequence has just had a forward pass with guesses. It had num_tokens tokens before; the pass
# computed the newest of them and every guess, and wrote their K and V. Say what counts:
#
#     new_tokens     the guesses that are the model's own choice, up to the first that
#                    is not; then one more: the model's own choice in that place
#     num_computed   how many tokens' K and V are right and stay. The newest token of
#                    all, the last of new_tokens, has none yet: nobody has fed it in
#     back           the blocks of block_table that hold nothing of that any more, in
#                    their order; they go back to the pool
#
# own has one token more than draft: own[i] is the model's choice where draft[i] was guessed, and
# own[-1] its choice after the last guess. draft may be empty. Token ids are whole numbers from 0,
# and may be large.
#
# HINT Count how many guesses agree with own from the start. What comes after the first difference
#      was computed on a wrong token, and says nothing.
# HINT With `agreed` right guesses, new_tokens is own[: agreed + 1]. Before the pass K and V were
#      missing for the newest token; now it has them, and so have the right guesses.
# HINT num_computed = num_tokens + agreed. It takes -(-num_computed // block_size) blocks (rounded
#      up); the table's others go back.
# ---------------------------------------------------------------------------------------------
def accept(
    draft: list[int],
    own: list[int],
    num_tokens: int,
    block_table: list[int],
    block_size: int,
) -> tuple[list[int], int, list[int]]:
    """new_tokens, num_computed, back.

    Example: accept([4, 9, 3], [4, 7, 3, 8], num_tokens=10, block_table=[5, 2, 8, 1], block_size=4)
    is ([4, 7], 11, [1]): one guess was right, and 11 tokens fill three blocks of 4.
    """
    # BEGIN SOLUTION
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed
    num_blocks = -(-num_computed // block_size)
    return own[: agreed + 1], num_computed, block_table[num_blocks:]
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 10.2: Expected tokens a step
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/10_speculative_decoding.ipynb, "What a guess is worth"
#
# Each of num_guesses guesses is right with probability acceptance_rate, if all before it were; the
# first wrong one ends the step. How many tokens does a step put out on average, the model's own
# token included?
#
# HINT One token always comes. The first guess brings another with probability a, the second one
#      more with probability a * a, and the third?
# HINT The sum is 1 + a + a**2 + … + a**num_guesses. There is a closed form, but it divides by
#      1 - a: what if every guess is right?
# HINT return sum(acceptance_rate**i for i in range(num_guesses + 1))
# ---------------------------------------------------------------------------------------------
def expected_tokens(acceptance_rate: float, num_guesses: int) -> float:
    """Tokens a step, from 1 to num_guesses + 1.

    Example: expected_tokens(0.5, 2) is 1.75; expected_tokens(0.0, 4) is 1.0.
    """
    # BEGIN SOLUTION
    return float(sum(acceptance_rate**i for i in range(num_guesses + 1)))
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 10.3: A guesser of your own
# 4 points, 20 minutes, difficulty 4 of 5
# lessons/10_speculative_decoding.ipynb, "Who guesses?"
#
# Guess, without any model, what comes next: from the tokens alone, the prompt and the answer so
# far. Yours is tried on texts that you have not seen, whose answers quote their prompts, with four
# guesses a step, and is scored by the tokens that a step puts out. Some texts quote forms: every
# line contains the same four or five tokens, and only the token before them tells what follows. If
# the newest token has never come before, guess nothing: a wrong guess costs computation, and no
# guess costs nothing. There is at least one token, and `most` is at least 1. Token ids are whole
# numbers from 0.
#
# HINT Where did the newest token come before? What followed it then may follow now.
# HINT It came before in several places. Prefer the one where the tokens before it are the same as
#      well, two, or three, or more: the longest match. Of equals take the latest.
# HINT For each place i before the last, from the latest on: n = 0, and n += 1 as long as n <= i and
#      token_ids[i - n] == token_ids[-1 - n]. Keep the i with the largest n; if none has n > 0,
#      return [], else token_ids[i + 1 : i + 1 + most].
# ---------------------------------------------------------------------------------------------
def propose(token_ids: list[int], most: int) -> list[int]:
    """At most `most` token ids that may follow these; [] for no guess.

    Example: propose([1, 2, 5, 6, 9, 2, 7, 7, 1, 2], most=2) is [5, 6]: 1, 2 was followed by them
    before.
    """
    # BEGIN SOLUTION
    longest, found = 0, None
    for i in range(len(token_ids) - 2, -1, -1):
        same = 0
        while same <= i and token_ids[i - same] == token_ids[-1 - same]:
            same += 1
        if same > longest:
            longest, found = same, i
    return [] if found is None else token_ids[found + 1 : found + 1 + most]
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 10.4: Rejection sampling
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/10_speculative_decoding.ipynb, "And the answers?"
#
# The model draws its next token from the probabilities p. A draft model has drawn `token` from its
# own probabilities q. Decide which token comes, so that over many draws the tokens have exactly the
# model's distribution p, whatever q is:
#
# accept `token` with probability min(1, p[token] / q[token]). If it is rejected, draw from the
# rest: max(0, p[i] - q[i]) for each token i, scaled so that they add up to 1.
#
# u and v are two random numbers, each uniform from 0 to 1: one for each decision. 0 may come, 1 may
# not. Whatever they are, a token with p = 0 is never accepted, and a rejected token is replaced by
# one whose rest is above 0. Use no other random numbers. q[token] is above 0.
#
# HINT Two decisions. The first: u < p[token] / q[token] is true with just that probability, and
#      always where p is the larger.
# HINT To draw from weights w with one uniform number v: go through the tokens, add up w, and stop
#      at the first where the sum is above v * sum(w).
# HINT if u * q[token] < p[token]:
#          return token
#      rest = [max(0.0, a - b) for a, b in zip(p, q)]
#      threshold, total = v * sum(rest), 0.0
#      for i, weight in enumerate(rest): ...
# ---------------------------------------------------------------------------------------------
def accept_or_draw(p: list[float], q: list[float], token: int, u: float, v: float) -> int:
    """The token that comes.

    Example: p = [0.7, 0.3], q = [0.4, 0.6]. Token 0 is always accepted. Token 1 is accepted with
    probability 0.5; if it is rejected, token 0 comes, since the rest is [0.3, 0].
    """
    # BEGIN SOLUTION
    if u * q[token] < p[token]:
        return token
    rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    threshold, total = v * sum(rest), 0.0
    for i, weight in enumerate(rest):
        total += weight
        if total > threshold:
            return i
    return max(range(len(rest)), key=rest.__getitem__)  # rounding: v is all but 1
    # END SOLUTION

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
    # YOUR CODE for Exercise 10.1 begins here
    raise NotImplementedError("Exercise 10.1: Accept and roll back: not written yet")
    # YOUR CODE for Exercise 10.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 10.2: Expected tokens a step
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/10_speculative_decoding.ipynb, "What a guess is worth"
#
# Each of num_guesses guesses is right with probability acceptance_rate, if all before it were; the
# first wrong one ends the step. How many tokens does a step put out on average, the model's own
# token included?
# ---------------------------------------------------------------------------------------------
def expected_tokens(acceptance_rate: float, num_guesses: int) -> float:
    """Tokens a step, from 1 to num_guesses + 1.

    Example: expected_tokens(0.5, 2) is 1.75; expected_tokens(0.0, 4) is 1.0.
    """
    # YOUR CODE for Exercise 10.2 begins here
    raise NotImplementedError("Exercise 10.2: Expected tokens a step: not written yet")
    # YOUR CODE for Exercise 10.2 ends here


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
# ---------------------------------------------------------------------------------------------
def propose(token_ids: list[int], most: int) -> list[int]:
    """At most `most` token ids that may follow these; [] for no guess.

    Example: propose([1, 2, 5, 6, 9, 2, 7, 7, 1, 2], most=2) is [5, 6]: 1, 2 was followed by them
    before.
    """
    # YOUR CODE for Exercise 10.3 begins here
    raise NotImplementedError("Exercise 10.3: A guesser of your own: not written yet")
    # YOUR CODE for Exercise 10.3 ends here


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
# ---------------------------------------------------------------------------------------------
def accept_or_draw(p: list[float], q: list[float], token: int, u: float, v: float) -> int:
    """The token that comes.

    Example: p = [0.7, 0.3], q = [0.4, 0.6]. Token 0 is always accepted. Token 1 is accepted with
    probability 0.5; if it is rejected, token 0 comes, since the rest is [0.3, 0].
    """
    # YOUR CODE for Exercise 10.4 begins here
    raise NotImplementedError("Exercise 10.4: Rejection sampling: not written yet")
    # YOUR CODE for Exercise 10.4 ends here

"""Exercises of lesson 10: speculative decoding in a batch.

Change none of your arguments: the caller still uses them. Keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 10.1`.
"""


# ---------------------------------------------------------------------------------------------
# Exercise 10.1: Accept and roll back
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/10_speculative_decoding.ipynb, "Guess, verify, keep"
#
# A forward pass has just computed one sequence with draft tokens. Before the pass the sequence had
# num_tokens tokens. The pass computed the newest of these tokens and all draft tokens, and wrote
# their K and V. `own` contains the model's choices: own[i] is the choice at the position of
# draft[i], and own[-1] is the choice after all draft tokens, so own has one token more than draft.
# Return three values:
#
#     new_tokens     the accepted draft tokens: those before the first one that differs
#                    from the model's choice. Then one more token: the model's choice
#                    in the next place
#     num_computed   how many tokens of the sequence have right K and V. The final token
#                    of new_tokens does not have K and V yet
#     back           the blocks of block_table that contain none of these right K and V, in
#                    the order of the table. These blocks go back to the pool
#
# draft can be empty. Token ids are whole numbers from 0, and can be large.
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
    is ([4, 7], 11, [1]): one draft token was right, and 11 tokens need three blocks of 4.
    """
    # YOUR CODE for Exercise 10.1 begins here
    raise NotImplementedError("Exercise 10.1: Accept and roll back: not written yet")
    # YOUR CODE for Exercise 10.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 10.2: Expected tokens a step
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/10_speculative_decoding.ipynb, "What a guess is worth"
#
# A step has num_guesses draft tokens. A draft token is right with probability acceptance_rate if
# all draft tokens before it are right. The draft tokens after the first wrong one are dropped.
# How many tokens does a step generate on average, including the model's own token?
# ---------------------------------------------------------------------------------------------
def expected_tokens(acceptance_rate: float, num_guesses: int) -> float:
    """Tokens a step, from 1 to num_guesses + 1.

    Example: expected_tokens(0.5, 2) is 1.75; expected_tokens(0.0, 4) is 1.0.
    """
    # YOUR CODE for Exercise 10.2 begins here
    raise NotImplementedError("Exercise 10.2: Expected tokens a step: not written yet")
    # YOUR CODE for Exercise 10.2 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 10.3: Rejection sampling
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/10_speculative_decoding.ipynb, "What a guess is worth"
#
# The model's probabilities for the next token are p. A draft model has probabilities q, and has
# drawn `token` from them. Return the next token. Over many calls, the returned tokens must have
# exactly the distribution p, for every q. The rule:
#
# 1. Accept `token` with probability min(1, p[token] / q[token]).
#
# 2. If it is rejected, draw another token. Token i has the weight max(0, p[i] - q[i]); divide the
#    weights by their sum, and they are probabilities.
#
# u and v are two random numbers, uniform from 0 to 1. Use u for step 1, v for step 2, and no other
# random numbers. u and v can be 0, but not 1. For all u and v: a token with p = 0 is never
# accepted, and the token of step 2 has a weight above 0. q[token] is above 0.
# ---------------------------------------------------------------------------------------------
def accept_or_draw(p: list[float], q: list[float], token: int, u: float, v: float) -> int:
    """The next token.

    Example: p = [0.7, 0.3], q = [0.4, 0.6]. Token 0 is always accepted. Token 1 is accepted with
    probability 0.5. If it is rejected, the weights are [0.3, 0], so the next token is 0.
    """
    # YOUR CODE for Exercise 10.3 begins here
    raise NotImplementedError("Exercise 10.3: Rejection sampling: not written yet")
    # YOUR CODE for Exercise 10.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 10.4: Your own guesser
# 4 points, 20 minutes, difficulty 4 of 5
# lessons/10_speculative_decoding.ipynb, "Who guesses?"
#
# Propose draft tokens without a model, only from the tokens of the prompt and of the answer so far.
# The test uses texts that you have not seen; their answers repeat parts of their prompts. A step
# has four draft tokens, and the score is the number of tokens per step. Some texts are forms: every
# line contains the same group of four or five tokens. The token before the group then decides which
# token follows it. For example, with the lines a 1 2 3 4 b and c 1 2 3 4 d in the text, b follows
# a 1 2 3 4, and d follows c 1 2 3 4. If the newest token does not occur earlier in the text,
# propose no draft tokens: a wrong draft token takes computation, an empty draft takes none. There
# is at least one token, and `most` is at least 1. Token ids are whole numbers from 0.
# ---------------------------------------------------------------------------------------------
def propose(token_ids: list[int], most: int) -> list[int]:
    """Up to `most` token ids that may come next; [] for no draft tokens.

    Example: propose([1, 2, 5, 6, 9, 2, 7, 7, 1, 2], most=2) is [5, 6]: these tokens follow 1, 2
    at the start.
    """
    # YOUR CODE for Exercise 10.4 begins here
    raise NotImplementedError("Exercise 10.4: Your own guesser: not written yet")
    # YOUR CODE for Exercise 10.4 ends here

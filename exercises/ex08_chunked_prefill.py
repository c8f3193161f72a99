"""Exercises of lesson 08: chunked prefill and the token budget.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 8.1`.
"""


# ---------------------------------------------------------------------------------------------
# Exercise 8.1: How many chunks
# 2 points, 10 minutes, difficulty 1 of 5
# lessons/08_chunked_prefill.ipynb, "A budget"
#
# A prompt joins while others decode; nobody else joins or leaves until it is computed. Each step
# computes at most max_batch_tokens tokens. A decode takes one token of them, and decodes go first.
# In how many steps is the prompt computed?
# ---------------------------------------------------------------------------------------------
def num_chunks(num_prompt_tokens: int, num_decodes: int, max_batch_tokens: int) -> int:
    """Steps until the prompt is computed; max_batch_tokens is more than num_decodes.

    num_chunks(1000, num_decodes=6, max_batch_tokens=106) is 10;
    with one prompt token more it is 11.
    """
    # YOUR CODE for Exercise 8.1 begins here
    raise NotImplementedError("Exercise 8.1: How many chunks: not written yet")
    # YOUR CODE for Exercise 8.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 8.2: Which budget holds the limit
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/08_chunked_prefill.ipynb, "Which budget?"
#
# A cost model says what a step takes, in microseconds: step_us for the step itself, decode_us more
# for each decode in it, prompt_us more for each prompt token. num_decodes answers stream, and
# nobody shall wait longer than limit_us for a next token. What is the largest max_batch_tokens that
# holds the limit, even while a long prompt is computed?
#
# A budget counts decodes as well as prompt tokens. If no prompt token fits, answer with 0: prompts
# would never be computed, whatever the budget.
# ---------------------------------------------------------------------------------------------
def largest_budget(
    limit_us: int, num_decodes: int, step_us: int, decode_us: int, prompt_us: int
) -> int:
    """Tokens; 0 if no prompt token fits. Times are whole microseconds.

    largest_budget(limit_us=50_000, num_decodes=7, step_us=8_000, decode_us=1_000, prompt_us=300)
    is 123: 7 decodes and 116 prompt tokens take 49,800 microseconds, and one more 50,100.
    """
    # YOUR CODE for Exercise 8.2 begins here
    raise NotImplementedError("Exercise 8.2: Which budget holds the limit: not written yet")
    # YOUR CODE for Exercise 8.2 ends here

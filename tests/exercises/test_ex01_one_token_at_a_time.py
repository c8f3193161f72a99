"""Judges exercises 1.1 to 1.4: three counts, and a decode loop by its tokens and what it feeds."""

import pytest

from minibatch.course.judging.values import Array
from minibatch.course.judging.verdict import Wrong


def counts(student, name, expected, sentence, **arguments):
    """The learner's function gives this number, or the sentence is told."""
    got = student.call(name, **arguments)
    if got != expected:
        shown = ", ".join(f"{key}={value:,}" for key, value in arguments.items())
        raise Wrong(f"{name}({shown}): {sentence}", expected=expected, got=got)


# 1.1 ---------------------------------------------------------------------------------------------


def kv_bytes(student, expected, sentence, *shape):
    names = ("num_layers", "num_query_heads", "num_kv_heads", "head_dim", "bytes_per_number")
    arguments = dict(zip(names, shape, strict=True))
    counts(student, "kv_bytes_per_token", expected, sentence, **arguments)


@pytest.mark.task("1.1", points=0.25)
def test_a_token_has_a_key_and_a_value(student):
    said = "a key of 16 numbers and a value of 16 numbers, 4 bytes each."
    kv_bytes(student, 128, said, 1, 1, 1, 16, 4)


@pytest.mark.task("1.1", points=0.25)
def test_only_the_heads_that_have_keys_and_values_count(student):
    said = "8 query heads share 2 KV heads, and only KV heads have something to keep."
    kv_bytes(student, 2 * 2 * 16 * 4, said, 1, 8, 2, 16, 4)


@pytest.mark.task("1.1", points=0.25)
def test_every_layer_keeps_its_own(student):
    said = "each of the 6 layers has keys and values of its own."
    kv_bytes(student, 6144, said, 6, 8, 4, 32, 4)


@pytest.mark.task("1.1", points=0.25)
def test_numbers_have_as_many_bytes_as_it_says(student, rng):
    said = "not every number has 4 bytes: bytes_per_number says how many."
    kv_bytes(student, 131_072, said, 32, 32, 8, 128, 2)
    for _ in range(5):
        layers, heads, group = (rng.randint(1, 40) for _ in range(3))
        dim, size = rng.choice([32, 64, 80, 128]), rng.choice([1, 2, 4, 8])
        expected = 2 * layers * heads * dim * size
        said = "compare it with the lesson's formula."
        kv_bytes(student, expected, said, layers, heads * group, heads, dim, size)


# 1.2 ---------------------------------------------------------------------------------------------


def step_bytes(student, expected, sentence, *numbers):
    names = ("num_weights", "bytes_per_number", "kv_bytes_per_token", "batch_size", "context")
    arguments = dict(zip(names, numbers, strict=True))
    counts(student, "decode_step_bytes", expected, sentence, **arguments)


@pytest.mark.task("1.2", points=0.5)
def test_all_the_weights_are_read(student):
    said = "nothing is in the cache yet; 1,000 weights of 4 bytes are read."
    step_bytes(student, 4000, said, 1000, 4, 256, 1, 0)


@pytest.mark.task("1.2", points=0.5)
def test_they_are_read_once_for_all_rows(student):
    said = "nothing is in the cache yet, and the weights are read once, however many rows use them."
    step_bytes(student, 4000, said, 1000, 4, 256, 8, 0)


@pytest.mark.task("1.2", points=0.5)
def test_each_row_reads_its_own_keys_and_values(student):
    said = "the row reads 256 bytes (that is bytes, not numbers) for each of its 10 tokens."
    step_bytes(student, 6560, said, 1000, 4, 256, 1, 10)
    said = "K and V are not shared: each of the 8 rows reads those of its own 10 tokens."
    step_bytes(student, 24_480, said, 1000, 4, 256, 8, 10)


@pytest.mark.task("1.2", points=0.5)
def test_it_agrees_with_minibatch_in_bfloat16(student, rng):
    import torch
    from tiny import make_tiny_llama  # tests/support/tiny.py

    import minibatch as mb
    from minibatch.memory.kv_cache import bytes_per_token
    from minibatch.simulator import cost

    model = mb.Model(make_tiny_llama().to(torch.bfloat16))
    per_token = bytes_per_token(model.kv_shapes, model.dtype)
    for _ in range(5):
        batch_size, context = rng.randint(1, 64), rng.randint(1, 2000)
        step = cost.decode_step(model, batch_size, context)
        said = "minibatch's own cost.decode_step counts otherwise for this model in bfloat16."
        step_bytes(
            student,
            step.weight_bytes + step.kv_bytes,
            said,
            cost.num_weights(model),
            2,
            per_token,
            batch_size,
            context,
        )


# 1.3 ---------------------------------------------------------------------------------------------


def step_flops(student, expected, sentence, *numbers):
    names = (
        "num_weights",
        "num_layers",
        "num_query_heads",
        "head_dim",
        "batch_size",
        "context",
    )
    arguments = dict(zip(names, numbers, strict=True))
    counts(student, "decode_step_flops", expected, sentence, **arguments)


@pytest.mark.task("1.3", points=0.5)
def test_a_weight_is_two_operations_for_each_row(student):
    said = "no context yet, so only weights count: a multiplication and an addition with each."
    step_flops(student, 2000, said, 1000, 1, 1, 16, 1, 0)
    said = "no context yet; each of the 8 rows multiplies with every weight, for itself."
    step_flops(student, 16_000, said, 1000, 1, 1, 16, 8, 0)


@pytest.mark.task("1.3", points=0.5)
def test_attention_is_four_operations_for_each_number(student):
    said = (
        "2 heads · 16 numbers · 10 tokens of context: two operations for each in comparing with "
        "the keys, and two more in adding up the values. (One new token attends to the context "
        "once; that is not its square.)"
    )
    step_flops(student, 1280, said, 0, 1, 2, 16, 1, 10)


@pytest.mark.task("1.3", points=0.5)
def test_each_row_attends_to_its_own_context(student):
    said = "each of the 8 rows computes its own attention, over its own context."
    step_flops(student, 8 * (2000 + 1280), said, 1000, 1, 2, 16, 8, 10)


@pytest.mark.task("1.3", points=0.5)
def test_it_agrees_with_minibatch_on_a_real_model(student, rng):
    from tiny_model import tiny_model

    from minibatch.simulator import cost

    model = tiny_model()
    for _ in range(5):
        batch_size, context = rng.randint(1, 64), rng.randint(1, 2000)
        expected = cost.decode_step(model, batch_size, context).flops
        said = "minibatch's own cost.decode_step counts otherwise: attention is done in each layer."
        weights = cost.num_weights(model)
        step_flops(student, expected, said, weights, 2, 4, 8, batch_size, context)


# 1.4 ---------------------------------------------------------------------------------------------

NEVER = -1  # an end token that no model says
PROMPT = [17, 93, 4, 61, 61, 8, 120]


def random_model(rng):
    """New weights in each run, so that there is no answer to look up; its own answer to PROMPT does
    not repeat itself much, so that a loop that goes wrong says something else."""
    from tiny import make_tiny_model  # tests/support/tiny.py
    from tiny_model import alone

    while True:
        model = make_tiny_model(seed=rng.randrange(2**31))
        if len(set(alone(model, PROMPT, 12))) >= 8:
            return model


def random_prompt(rng, length):
    return [rng.randint(2, 127) for _ in range(length)]


def greedy(model, prompt, max_tokens, end_token_id=NEVER):
    """The answer of transformers."""
    from tiny_model import alone

    tokens = alone(model, prompt, max_tokens)
    return tokens[: tokens.index(end_token_id) + 1] if end_token_id in tokens else tokens


def decode(student, model, prompt, max_tokens, end_token_id=NEVER):
    """The learner's answer, and the token ids that went in, a list for each pass."""
    from stand_in import StandIn

    stand_in = StandIn(model.hf, max_passes=2 * (len(prompt) + max_tokens))
    got = student.call("greedy_decode", stand_in, prompt, max_tokens, end_token_id)
    if isinstance(got, Array) or (
        isinstance(got, list) and any(isinstance(token, Array) for token in got)
    ):
        raise Wrong(
            "The answer has to be a list of plain numbers, and yours holds tensors: a tensor of "
            "one number gives it with .item().",
            got=got,
        )
    return got, stand_in.fed


def same_tokens(expected, got, prompt, sentence):
    if got == expected:
        return
    if isinstance(got, list) and got[: len(prompt)] == prompt:
        sentence = "The answer begins with the prompt; return only the tokens that come after it."
    raise Wrong(sentence, expected=expected, got=got)


@pytest.mark.task("1.4", points=1)
def test_the_first_token_comes_out_of_the_pass_over_the_prompt(student, rng):
    model = random_model(rng)
    for prompt in (PROMPT, random_prompt(rng, 5), random_prompt(rng, 9)):
        got, _ = decode(student, model, prompt, 1)
        same_tokens(
            greedy(model, prompt, 1),
            got,
            prompt,
            "With max_tokens=1 the answer is one token: the one with the highest logit at the last "
            "place of the prompt's own pass.",
        )


@pytest.mark.task("1.4", points=1)
def test_the_tokens_are_those_of_generate(student, rng):
    model = random_model(rng)
    got, _ = decode(student, model, PROMPT, 12)
    same_tokens(
        greedy(model, PROMPT, 12),
        got,
        PROMPT,
        "These are not the 12 tokens of transformers' own generate. After the prompt only the "
        "newest token goes in, at its own position; all before it is in the cache, "
        "out.past_key_values.",
    )


@pytest.mark.task("1.4", points=1)
def test_it_stops_after_the_end_token(student, rng):
    model = random_model(rng)
    tokens = greedy(model, PROMPT, 12)
    end = next(token for token in reversed(tokens) if tokens.index(token) < 11)
    expected = greedy(model, PROMPT, 12, end)
    got, _ = decode(student, model, PROMPT, 12, end)
    same_tokens(
        expected,
        got,
        PROMPT,
        f"The model says the end token, {end}, as number {len(expected)} of at most 12: the answer "
        "ends there, and the end token is its last one.",
    )


def fed_for_twelve(student, rng):
    """What goes in for PROMPT and the right answer of 12 tokens, a list for each pass."""
    model = random_model(rng)
    got, fed = decode(student, model, PROMPT, 12)
    said = "What goes in is counted only once what comes out is right."
    same_tokens(greedy(model, PROMPT, 12), got, PROMPT, said)
    return fed


@pytest.mark.task("1.4", points=1)
def test_no_token_goes_in_twice_or_in_vain(student, rng):
    num_fed, most = sum(map(len, fed_for_twelve(student, rng))), len(PROMPT) + 12 - 1
    if num_fed > most + 1:
        sentence = (
            f"{num_fed} tokens went in for a prompt of 7 and an answer of 12, many of them again "
            "and again. Their keys and values are in the cache: feed only what is new."
        )
    else:
        sentence = (
            f"{num_fed} tokens went in for a prompt of 7 and an answer of 12, one too many. The "
            "first token comes out of the prompt's own pass, and the last need not go in any more."
        )
    if num_fed > most:
        raise Wrong(sentence, expected=f"{most} tokens", got=f"{num_fed} tokens")


@pytest.mark.task("1.4", points=0.5)
def test_the_prompt_goes_in_whole(student, rng):
    fed = fed_for_twelve(student, rng)
    if len(fed) > 12:
        raise Wrong(
            f"An answer of 12 tokens took {len(fed)} passes. The prompt goes in whole, in one: its "
            "tokens share one reading of the weights.",
            expected=[7] + [1] * 11,
            got=[len(token_ids) for token_ids in fed],
        )


@pytest.mark.task("1.4", points=0.5)
def test_any_prompt_is_answered(student, rng):
    model = random_model(rng)
    first = greedy(model, PROMPT, 1)[0]
    got, _ = decode(student, model, PROMPT, 5, first)
    same_tokens(
        [first], got, PROMPT, "Here the very first token is the end token, and the answer ends."
    )
    for length in (1, 2, rng.randint(3, 40)):
        prompt, max_tokens = random_prompt(rng, length), rng.randint(1, 16)
        end = rng.choice([NEVER, *greedy(model, prompt, max_tokens)])
        expected = greedy(model, prompt, max_tokens, end)
        got, fed = decode(student, model, prompt, max_tokens, end)
        same_tokens(
            expected,
            got,
            prompt,
            f"A prompt of {length} tokens, at most {max_tokens} to write, end token {end}: "
            "generate answers otherwise.",
        )
        num_fed, most = sum(map(len, fed)), length + len(got) - 1
        if num_fed > most:
            raise Wrong(
                "Some tokens went in twice, or in vain.",
                expected=f"{most} tokens",
                got=f"{num_fed} tokens",
            )

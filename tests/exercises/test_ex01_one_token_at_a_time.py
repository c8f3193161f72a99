"""Judges exercises 1.1 to 1.4: arithmetic by numbers, the loop by its tokens and what it fed."""

import pytest

from minibatch.course.judging.verdict import Wrong


def equal(student, name, arguments, expected, sentence):
    got = student.call(name, *arguments)
    if type(got) is not int or got != expected:
        said = f"{name}({', '.join(map(str, arguments))}): {sentence}"
        raise Wrong(said, expected=f"{expected:,}", got=f"{got:,}" if type(got) is int else got)


# 1.1 ---------------------------------------------------------------------------------------------


@pytest.mark.task("1.1", points=0.5)
def test_keys_and_values_of_every_layer_count(student):
    arguments = (3, 2, 2, 4, 1)
    got = student.call("kv_bytes_per_token", *arguments)
    said = {
        24: "there is a key and a value for each token: twice as much.",
        16: "each of the 3 layers keeps its own keys and values.",
        192: "a byte has 8 bits, and the answer is in bytes.",
    }.get(got if type(got) is int else None, "K and V, in each layer, for each KV head.")
    equal(student, "kv_bytes_per_token", arguments, 48, said)


@pytest.mark.task("1.1", points=0.5)
def test_only_kv_heads_keep_any(student, rng):
    said = "query heads share the keys and values of the KV heads and keep none of their own."
    equal(student, "kv_bytes_per_token", (6, 8, 4, 32, 4), 6144, said)
    for _ in range(5):
        layers, kv_heads, group, dim, size = (rng.randint(1, 9) for _ in range(5))
        arguments = (layers, kv_heads * group, kv_heads, dim, size)
        expected = 2 * layers * kv_heads * dim * size
        equal(student, "kv_bytes_per_token", arguments, expected, said)


# 1.2 ---------------------------------------------------------------------------------------------


@pytest.mark.task("1.2", points=0.5)
def test_a_step_reads_the_weights_once(student):
    said = "without context there are only the weights, read once, for all rows together."
    equal(student, "decode_step_bytes", (1000, 2, 10, 1, 0), 2000, said)
    equal(student, "decode_step_bytes", (1000, 2, 10, 7, 0), 2000, said)


@pytest.mark.task("1.2", points=1)
def test_each_row_reads_its_own_keys_and_values(student):
    said = "each row reads the K and V of all tokens of its own context."
    equal(student, "decode_step_bytes", (1000, 2, 10, 1, 100), 3000, said)
    equal(student, "decode_step_bytes", (1000, 2, 10, 3, 100), 5000, said)


@pytest.mark.task("1.2", points=0.5)
def test_the_bytes_of_any_step(student, rng):
    for _ in range(5):
        weights, size, per_token, rows, context = (rng.randint(1, 999) for _ in range(5))
        expected = weights * size + rows * context * per_token
        arguments = (weights, size, per_token, rows, context)
        equal(student, "decode_step_bytes", arguments, expected, "weights once, K and V per row.")


# 1.3 ---------------------------------------------------------------------------------------------


@pytest.mark.task("1.3", points=0.5)
def test_each_weight_is_multiplied_and_added(student):
    said = "each weight takes a multiplication and an addition: two operations."
    equal(student, "decode_step_flops", (1000, 2, 4, 8, 1, 0), 2000, said)


@pytest.mark.task("1.3", points=0.5)
def test_every_row_does_the_sums_again(student):
    said = "the weights are read once, but multiplied with each row's own numbers."
    equal(student, "decode_step_flops", (1000, 2, 4, 8, 3, 0), 6000, said)


@pytest.mark.task("1.3", points=0.5)
def test_attention_compares_and_adds_up(student):
    said = (
        "in attention, in each layer and query head, each token of the context costs 2 * head_dim "
        "for the comparison with its key, and as many again for adding its value."
    )
    equal(student, "decode_step_flops", (1000, 2, 4, 8, 1, 10), 2000 + 2560, said)


@pytest.mark.task("1.3", points=0.5)
def test_the_operations_of_any_step(student, rng):
    for _ in range(5):
        weights, layers, heads, dim, rows, context = (rng.randint(1, 99) for _ in range(6))
        expected = rows * (2 * weights + 4 * layers * heads * dim * context)
        arguments = (weights, layers, heads, dim, rows, context)
        said = "every row has its own context, so attention too is done for each row."
        equal(student, "decode_step_flops", arguments, expected, said)


# 1.4 ---------------------------------------------------------------------------------------------

PROMPT = [3, 14, 15, 92, 65, 35]
NO_END = 127  # a token that the small model does not say here


def decode(student, prompt, max_tokens, end_token_id=NO_END):
    """The learner's answer, transformers' own, and the stand-in that was asked."""
    from stand_in import StandIn
    from tiny_model import alone, tiny_model

    expected = alone(tiny_model(), prompt, max_tokens)
    if end_token_id in expected:
        expected = expected[: expected.index(end_token_id) + 1]
    model = StandIn(tiny_model().hf)
    got = student.call("greedy_decode", model, prompt, max_tokens, end_token_id)
    return got, expected, model


def same_tokens(got, expected, sentence):
    if got != expected:
        raise Wrong(sentence, expected=expected, got=got)


@pytest.mark.task("1.4", points=0.5)
def test_the_first_token_comes_out_of_the_prefill(student):
    got, expected, model = decode(student, PROMPT, 1)
    if isinstance(got, list) and got[: len(PROMPT)] == PROMPT:
        raise Wrong("Return the answer alone, without the prompt.", expected=expected, got=got)
    same_tokens(
        got,
        expected,
        "One token was asked for. It is the argmax of the logits at the last place of the prompt, "
        "as a list of one int.",
    )
    if len(model.fed) != 1:
        raise Wrong(
            f"One token took {len(model.fed)} passes: the prefill gives the first token already.",
            expected="1 pass",
            got=f"{len(model.fed)} passes",
        )


@pytest.mark.task("1.4", points=1)
def test_the_tokens_are_those_of_generate(student, rng):
    for prompt in (PROMPT, [7], [rng.randrange(2, 120) for _ in range(9)]):
        got, expected, _ = decode(student, prompt, 8)
        if isinstance(got, list) and len(got) != 8:
            said = f"max_tokens is 8 and counts the answer alone; {len(got)} tokens came back."
            raise Wrong(said, expected=expected, got=got)
        same_tokens(
            got,
            expected,
            "Other tokens than the model's own generate. Does each pass get exactly the newest "
            "token, and the cache that the pass before returned?",
        )


@pytest.mark.task("1.4", points=1)
def test_it_stops_after_the_end_token(student):
    _, full, _ = decode(student, PROMPT, 8)
    end = full[3]
    got, expected, _ = decode(student, PROMPT, 8, end)
    same_tokens(
        got,
        expected,
        f"The answer ends with the end token, {end}: it is the last one, it belongs to the answer, "
        "and nothing comes after it.",
    )


@pytest.mark.task("1.4", points=1.5)
def test_every_token_goes_through_the_model_once(student):
    got, expected, model = decode(student, PROMPT, 8)
    fed, least = sum(rows * tokens for rows, tokens in model.fed), len(PROMPT) + 7
    if fed > least + 1:
        raise Wrong(
            f"{fed} tokens went through the model, where {least} are enough (6 of the prompt, then "
            "one for each token after the first): with the cache, only the newest token goes in.",
            expected=[len(PROMPT), *[1] * 7],
            got=[tokens for _, tokens in model.fed],
        )


@pytest.mark.task("1.4", points=1)
def test_no_pass_is_made_for_nothing(student):
    got, expected, model = decode(student, PROMPT, 8)
    same_tokens(got, expected, "Other tokens than the model's own generate.")
    if len(model.fed) != 8:
        raise Wrong(
            f"8 tokens took {len(model.fed)} passes. The last token need not go in any more: "
            "nobody asks what comes after it.",
            expected="8 passes",
            got=f"{len(model.fed)} passes",
        )

"""Judges exercises 1.1 to 1.4: three counts, and a decode loop by its tokens and what it feeds."""

import itertools
import math
from fractions import Fraction

import now_yours
import pytest
from beliefs import Counted, a_kind, in_units, then

from minibatch.course.judging.values import Array, Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

# 1.1 ---------------------------------------------------------------------------------------------

KV_BYTES = Counted(
    "kv_bytes_per_token",
    ("num_layers", "num_query_heads", "num_kv_heads", "head_dim", "bytes_per_number"),
    [(5, 33, 11, 13, 3), (7000, 85, 17, 19, 2)],
    then(math.prod),
    {
        "": lambda layers, query, kv, dim, size: 2,
        "[key_or_value_only] "
        "a token leaves a key and a value, and you have counted one of the two.": lambda *_: 1,
        "[four_vectors] K and V are two vectors, and you have counted four.": lambda *_: 4,
        "[query_is_kept] "
        "a token leaves a key and a value; its query is used once, and not kept. You have counted "
        "three.": lambda *_: 3,
    },
    {
        "": lambda layers, query, kv, dim, size: layers,
        "[one_layer] "
        "each of the layers has keys and values of its own, and you have counted one layer.": (
            lambda *_: 1
        ),
        "[one_layer_left_out] "
        "every layer has keys and values of its own, the last one, too; you have left one out.": (
            lambda layers, query, kv, dim, size: layers - 1
        ),
        "[one_layer_more] only the layers have keys and values, and you have counted one more.": (
            lambda layers, query, kv, dim, size: layers + 1
        ),
        "[layers_added_to_heads] "
        "each layer has all the KV heads: layers times heads, and you have added the two.": (
            lambda layers, query, kv, dim, size: Fraction(layers + kv, kv)
        ),
    },
    {
        "": lambda layers, query, kv, dim, size: kv,
        "[query_heads_counted] "
        "query heads share the keys and values of KV heads: only KV heads have something to keep, "
        "and you have counted query heads.": lambda layers, query, kv, dim, size: query,
        "[query_heads_added] "
        "query heads keep nothing, only KV heads do; you have added the two up.": (
            lambda layers, query, kv, dim, size: query + kv
        ),
        "[query_heads_multiplied] "
        "query heads keep nothing, only KV heads do; you have multiplied the two.": (
            lambda layers, query, kv, dim, size: query * kv
        ),
        "[divided_by_kv_heads] "
        "num_kv_heads is how many heads have keys and values; you have divided by it.": (
            lambda layers, query, kv, dim, size: query // kv
        ),
        "[kv_heads_by_share] "
        "num_kv_heads is how many there are, as it stands; how many query heads share each does "
        "not matter here.": lambda layers, query, kv, dim, size: kv / query,
        "[kv_heads_floored_to_zero] "
        "num_kv_heads is how many there are, as it stands; num_kv_heads // num_query_heads is 0 as "
        "soon as heads share.": (
            lambda layers, query, kv, dim, size: kv // query,
            lambda layers, query, kv, dim, size: query * (kv // query),
        ),
        "[one_kv_head] "
        "every KV head has a key and a value of its own, and you have counted one head.": (
            lambda *_: 1
        ),
        "[one_vector_for_each_query_head] "
        "num_kv_heads heads have a key and a value each; you have counted one vector for each query"
        " head, which comes out right only where these are twice as many, as in Wayfarer.": (
            lambda layers, query, kv, dim, size: query / 2,
            lambda layers, query, kv, dim, size: query // 2,
        ),
        "[keys_by_kv_head_values_by_query_head] "
        "query heads that share a key share its value as well; you have counted a vector for each "
        "KV head and another for each query head.": (
            lambda layers, query, kv, dim, size: (kv + query) / 2
        ),
        "[queries_counted] "
        "queries are used once, and not kept; you have counted one for each query head.": (
            lambda layers, query, kv, dim, size: kv + query / 2
        ),
    },
    {
        "": lambda layers, query, kv, dim, size: dim,
        "[key_is_one_number] "
        "a key is a vector of head_dim numbers, and you have counted one number.": lambda *_: 1,
        "[head_dim_divided_by_heads] "
        "head_dim is the length of one head's vector already; do not divide it by the heads.": (
            lambda layers, query, kv, dim, size: dim // query
        ),
        "[head_dim_divided_by_kv_heads] "
        "head_dim is the length of one head's vector already; do not divide it by the KV heads.": (
            lambda layers, query, kv, dim, size: dim // kv
        ),
        "[head_dim_squared] "
        "a key has head_dim numbers, not its square.": lambda layers, query, kv, dim, size: dim**2,
    },
    {
        "": lambda layers, query, kv, dim, size: size,
        "[always_four_bytes] "
        "not every number has 4 bytes: bytes_per_number says how many.": lambda *_: 4,
        "[always_two_bytes] "
        "not every number has 2 bytes: bytes_per_number says how many.": lambda *_: 2,
        "[numbers_not_bytes] "
        "you have counted numbers: each has bytes_per_number bytes.": lambda *_: 1,
        "[bits_not_bytes] the answer is in bytes, and yours is in bits.": (
            lambda layers, query, kv, dim, size: 8 * size
        ),
    },
    in_units("bytes")
    | {
        "[bytes_divided_by_eight] bytes_per_number is bytes already; do not divide by 8.": (
            lambda *_: lambda number: number / 8,
            lambda *_: lambda number: number // 8,
        )
    },
)


@pytest.mark.task("1.1", points=0.25)
def test_a_token_has_a_key_and_a_value(student):
    said = "[other_bytes_of_one_head] a key of 16 numbers and a value of 16 numbers, 4 bytes each."
    KV_BYTES.check(student, (1, 1, 1, 16, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_only_the_heads_that_have_keys_and_values_count(student):
    said = (
        "[other_bytes_of_shared_heads] "
        "2 KV heads have a key and a value of 16 numbers each; the 8 query heads share them."
    )
    KV_BYTES.check(student, (1, 8, 2, 16, 4), said)
    said = (
        "[other_bytes_of_one_shared_head] "
        "one KV head has a key and a value of 16 numbers, for all of the 8 query heads."
    )
    KV_BYTES.check(student, (1, 8, 1, 16, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_every_layer_keeps_its_own(student):
    said = (
        "[other_bytes_of_layers] "
        "each of the 6 layers has keys and values of its own, in 4 heads of 32 numbers."
    )
    KV_BYTES.check(student, (6, 8, 4, 32, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_numbers_have_as_many_bytes_as_it_says(student, rng):
    KV_BYTES.check(
        student,
        (32, 32, 8, 128, 2),
        "[other_bytes_of_two_byte_numbers] here each number has 2 bytes.",
    )
    KV_BYTES.check(
        student, (3, 12, 3, 80, 1), "[other_bytes_of_one_byte_numbers] here each number has 1 byte."
    )
    for _ in range(5):
        layers, heads, group = (rng.randint(1, 40) for _ in range(3))
        dim, size = rng.choice([32, 64, 80, 128]), rng.choice([1, 2, 4, 8])
        said = "[other_bytes_by_the_formula] compare it with the lesson's formula."
        KV_BYTES.check(student, (layers, heads * group, heads, dim, size), said)


# 1.2 ---------------------------------------------------------------------------------------------

STEP_BYTES = Counted(
    "decode_step_bytes",
    ("num_weights", "bytes_per_number", "kv_bytes_per_token", "batch_size", "context"),
    [(5_000_011, 3, 26, 7, 11), (2003, 2, 130, 5, 0), (53, 2, 130, 5, 40)],
    then(lambda parts: parts[0](parts[1:])),
    {
        "": lambda *_: sum,
        "[larger_of_the_two] "
        "weights and K and V come one after the other, through the same wires: their bytes add up. "
        "You have taken the larger of the two.": lambda *_: max,
    },
    {
        "": lambda weights, size, kv, rows, context: weights * size,
        "[weights_left_out] the weights are read, too, and you have left them out.": lambda *_: 0,
        "[weights_not_bytes] you have counted weights: each has bytes_per_number bytes.": (
            lambda weights, size, kv, rows, context: weights
        ),
        "[weights_always_four_bytes] "
        "not every weight has 4 bytes: bytes_per_number says how many.": (
            lambda weights, size, kv, rows, context: 4 * weights
        ),
        "[weights_always_two_bytes] "
        "not every weight has 2 bytes: bytes_per_number says how many.": (
            lambda weights, size, kv, rows, context: 2 * weights
        ),
        "[weights_read_for_each_row] "
        "the weights are read once, however many rows use them; you read them for each row.": (
            lambda weights, size, kv, rows, context: weights * size * rows
        ),
        "[weights_counted_for_each_row] "
        "the weights are read once, for all rows, and each has bytes_per_number bytes; you have "
        "counted the weights, for each row.": (
            lambda weights, size, kv, rows, context: weights * rows
        ),
        "[weights_read_for_each_token] "
        "the weights are read once in a step; you read them for each token of the context.": (
            lambda weights, size, kv, rows, context: weights * size * context
        ),
        "[weights_read_for_each_row_and_token] "
        "the weights are read once in a step; you read them for each row and token.": (
            lambda weights, size, kv, rows, context: weights * size * context * rows
        ),
        "[weights_in_bits] the answer is in bytes, and yours counts the weights in bits.": (
            lambda weights, size, kv, rows, context: 8 * weights * size
        ),
        "[weights_read_twice] a weight is read once; you read each twice.": (
            lambda weights, size, kv, rows, context: 2 * weights * size
        ),
        "[weights_divided_among_rows] "
        "all weights are read once in a step; you have divided them among the rows.": (
            lambda weights, size, kv, rows, context: weights * size / rows,
            lambda weights, size, kv, rows, context: weights * size // rows,
        ),
    },
    {
        "": lambda weights, size, kv, rows, context: rows * context * kv,
        "[kv_left_out] "
        "K and V are read as well, of each token of each row's context; you have left them out.": (
            lambda *_: 0
        ),
        "[kv_read_once] "
        "K and V are not shared: each row reads those of its own context; you read them once.": (
            lambda weights, size, kv, rows, context: context * kv
        ),
        "[kv_of_one_token] "
        "K and V are read of every token of the context, and you have counted one token.": (
            lambda weights, size, kv, rows, context: rows * kv
        ),
        "[kv_of_the_newest_alone] "
        "K and V are read of all tokens of the context; you have counted the newest alone.": (
            lambda weights, size, kv, rows, context: (context > 0) * rows * kv
        ),
        "[kv_of_one_token_for_all_rows] "
        "K and V are read of every token of each row's context; you have counted one token.": (
            lambda weights, size, kv, rows, context: kv
        ),
        "[kv_multiplied_by_bytes] "
        "kv_bytes_per_token is in bytes, not numbers, and you have multiplied it by "
        "bytes_per_number once more.": (
            lambda weights, size, kv, rows, context: rows * context * kv * size
        ),
        "[kv_counts_tokens] "
        "each token of the context has kv_bytes_per_token bytes; you have counted tokens.": (
            lambda weights, size, kv, rows, context: rows * context
        ),
        "[kv_counts_tokens_with_bytes] "
        "each token of the context has kv_bytes_per_token bytes; you have counted tokens with "
        "bytes_per_number each.": lambda weights, size, kv, rows, context: rows * context * size,
        "[kv_of_one_token_more] "
        "K and V of `context` tokens are in the cache and read; you have read one token more.": (
            lambda weights, size, kv, rows, context: rows * (context + 1) * kv
        ),
        "[kv_of_one_token_less] "
        "K and V of all `context` tokens in the cache are read; you have left one out.": (
            lambda weights, size, kv, rows, context: rows * max(0, context - 1) * kv,
            lambda weights, size, kv, rows, context: rows * (context - 1) * kv,
        ),
        "[kv_of_one_row_less] "
        "every row reads the K and V of its own context, the first one, too; you have left one row "
        "out.": lambda weights, size, kv, rows, context: (rows - 1) * context * kv,
        "[kv_of_wayfarer] "
        "a token has kv_bytes_per_token bytes of K and V; you have taken Wayfarer's 6,144.": (
            lambda weights, size, kv, rows, context: rows * context * 6144
        ),
        "[kv_of_the_context_squared] one new token reads its context once, not its square.": (
            lambda weights, size, kv, rows, context: rows * context**2 * kv
        ),
        "[kv_as_in_a_prefill] "
        "one new token reads its context once; you have counted what each token before it has "
        "read, as in a prefill.": (
            lambda weights, size, kv, rows, context: rows * (context * (context + 1) // 2) * kv,
            lambda weights, size, kv, rows, context: rows * (context * (context - 1) // 2) * kv,
        ),
        "[kv_taken_twice] kv_bytes_per_token has K and V in it already; you have taken it twice.": (
            lambda weights, size, kv, rows, context: 2 * rows * context * kv
        ),
        "[kv_taken_half] "
        "K and V of all `context` tokens are read, kv_bytes_per_token for each; you have taken "
        "half.": (
            lambda weights, size, kv, rows, context: rows * context * kv / 2,
            lambda weights, size, kv, rows, context: rows * context * kv // 2,
            lambda weights, size, kv, rows, context: rows * (context // 2) * kv,
        ),
        "[rows_added_to_context] "
        "each of the rows reads `context` tokens: rows times tokens, and you have added the two.": (
            lambda weights, size, kv, rows, context: (rows + context) * kv,
            lambda weights, size, kv, rows, context: (rows + context - 1) * kv,
        ),
        "[rows_squared] each row reads its own context, once; you have squared the rows.": (
            lambda weights, size, kv, rows, context: rows**2 * context * kv
        ),
    },
    in_units("bytes")
    | {
        "[divided_by_the_rows] "
        "that is for each token written; the bytes of the whole step are asked for: do not divide "
        "by batch_size.": (
            lambda weights, size, kv, rows, context: lambda number: number / rows,
            lambda weights, size, kv, rows, context: lambda number: number // rows,
        )
    },
)


@pytest.mark.task("1.2", points=0.5)
def test_all_the_weights_are_read(student):
    said = (
        "[other_bytes_without_context] "
        "nothing is in the cache yet; 1,000 weights of 4 bytes are read."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 1, 0), said)
    STEP_BYTES.check(
        student,
        (1000, 2, 256, 1, 0),
        "[other_bytes_of_two_byte_weights] now each weight has 2 bytes.",
    )


@pytest.mark.task("1.2", points=0.5)
def test_they_are_read_once_for_all_rows(student):
    said = (
        "[other_bytes_of_rows_without_context] "
        "nothing is in the cache yet, and the weights are read once, however many rows use them."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 8, 0), said)


@pytest.mark.task("1.2", points=0.5)
def test_each_row_reads_its_own_keys_and_values(student):
    said = "[other_bytes_of_one_row] the row reads 256 bytes for each of its 10 tokens."
    STEP_BYTES.check(student, (1000, 4, 256, 1, 10), said)
    said = (
        "[other_bytes_of_eight_rows] "
        "K and V are not shared: each of the 8 rows reads those of its own 10 tokens."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 8, 10), said)


@pytest.mark.task("1.2", points=0.5)
def test_it_agrees_with_minibatch_in_bfloat16(student, rng):
    import torch
    from tiny import make_tiny_llama  # tests/support/tiny.py

    import minibatch as mb
    from minibatch.memory.kv_cache import bytes_per_token
    from minibatch.simulator import cost

    said = (
        "[bytes_rounded] "
        "large numbers have to come out exactly, to the last byte: float32 rounds them."
    )
    STEP_BYTES.check(student, (7_000_000_001, 2, 131_072, 3, 8191), said)
    model = mb.Model(make_tiny_llama().to(torch.bfloat16))
    per_token, weights = bytes_per_token(model.kv_shapes, model.dtype), cost.num_weights(model)
    for _ in range(5):
        rows, context = rng.randint(1, 64), rng.randint(1, 2000)
        step, arguments = (
            cost.decode_step(model, rows, context),
            (weights, 2, per_token, rows, context),
        )
        assert step.weight_bytes + step.kv_bytes == STEP_BYTES.right(*arguments)
        said = (
            "[other_bytes_than_the_cost_model] "
            "minibatch's own cost.decode_step counts otherwise for this model in bfloat16."
        )
        STEP_BYTES.check(student, arguments, said)


# 1.3 ---------------------------------------------------------------------------------------------

STEP_FLOPS = Counted(
    "decode_step_flops",
    ("num_weights", "num_layers", "num_query_heads", "head_dim", "batch_size", "context"),
    [(5_000_011, 3, 5, 11, 7, 13), (2003, 5, 7, 3, 11, 17), (0, 3, 7, 5, 2, 19)],
    then(lambda part: part[0] * part[1] + math.prod(part[2:])),
    {
        "": lambda weights, layers, heads, dim, rows, context: 2 * weights,
        "[one_operation_a_weight] "
        "each weight is multiplied and added: two operations, and you have counted one.": (
            lambda weights, *_: weights
        ),
        "[four_operations_a_weight] "
        "each weight is two operations, a multiplication and an addition; you have counted four.": (
            lambda weights, *_: 4 * weights
        ),
        "[three_operations_a_weight] "
        "each weight is a multiplication and an addition, two operations; you counted three.": (
            lambda weights, *_: 3 * weights
        ),
        "[six_operations_a_weight] "
        "each weight is a multiplication and an addition, two operations; six are for training, "
        "whose way back takes four more.": lambda weights, *_: 6 * weights,
        "[weights_not_multiplied] "
        "the weights are multiplied with, too, and you have left them out.": lambda *_: 0,
        "[weights_multiplied_by_layers] "
        "num_weights has the weights of all layers in it; you have multiplied it by num_layers.": (
            lambda weights, layers, *_: 2 * weights * layers
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: rows,
        "[weights_of_one_row] "
        "each row multiplies with every weight, for itself, though it is read once; you have "
        "counted one row.": lambda *_: 1,
        "[weights_for_each_token] "
        "each row multiplies with every weight once in a step; you have counted it for every token "
        "of the context.": lambda weights, layers, heads, dim, rows, context: rows * context,
        "[weights_for_each_token_of_one_row] "
        "each row multiplies with every weight once in a step; you have counted it for every token "
        "of the context, and for one row.": (
            lambda weights, layers, heads, dim, rows, context: context
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: 4,
        "[two_operations_in_attention] "
        "attention compares with the keys and adds up the values: each is a multiplication "
        "and an addition a number, four operations in all; you have counted two.": lambda *_: 2,
        "[one_operation_in_attention] "
        "attention compares with the keys and adds up the values: each is a multiplication "
        "and an addition a number, four operations in all; you have counted one.": lambda *_: 1,
        "[eight_operations_in_attention] "
        "attention is four operations a number, two with the key and two with the value; you have "
        "counted eight.": lambda *_: 8,
        "[three_operations_in_attention] "
        "attention is four operations a number, two with the key and two with the value; you have "
        "counted three.": lambda *_: 3,
        "[twelve_operations_in_attention] "
        "attention is four operations a number, two with the key and two with the value; twelve "
        "are for training.": lambda *_: 12,
        "[attention_left_out] "
        "attention is computed as well, over the context; you have left it out.": lambda *_: 0,
        "[softmax_counted] "
        "only the multiplications and additions with keys and values are asked for; you have also "
        "counted operations of the softmax.": tuple(
            lambda weights, layers, heads, dim, rows, context, more=more: 4 + Fraction(more, dim)
            for more in range(1, 7)
        ),
        "[one_addition_less] "
        "head_dim numbers are counted as head_dim multiplications and as many additions; you have "
        "counted an addition less.": (
            lambda weights, layers, heads, dim, rows, context: 4 - Fraction(1, dim),
            lambda weights, layers, heads, dim, rows, context: 4 - Fraction(2, dim),
            lambda weights, layers, heads, dim, rows, context: 4 - Fraction(1, context),
            lambda weights, layers, heads, dim, rows, context: (
                4 - Fraction(1, dim) - Fraction(1, context)
            ),
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: layers,
        "[attention_in_one_layer] "
        "attention is done in each layer, and you have counted one.": lambda *_: 1,
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: heads,
        "[attention_of_one_head] "
        "each query head attends for itself, and you have counted one.": lambda *_: 1,
        "[attention_of_half_the_heads] "
        "each query head attends for itself, also those that share K and V: that saves bytes, not "
        "arithmetic. You have counted half of them.": (
            lambda weights, layers, heads, dim, rows, context: heads // 2,
            lambda weights, layers, heads, dim, rows, context: Fraction(heads, 2),
        ),
        "[attention_once_for_all_heads] "
        "each query head compares with the keys, and adds up the values, for itself; you have done "
        "one of the two once for all heads.": (
            lambda weights, layers, heads, dim, rows, context: Fraction(heads + 1, 2)
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: dim,
        "[attention_of_one_number] "
        "a key and a value have head_dim numbers, and you have counted one.": lambda *_: 1,
        "[attention_squares_head_dim] each of the head_dim numbers counts once, not squared.": (
            lambda weights, layers, heads, dim, rows, context: dim**2
        ),
        "[attention_divides_head_dim] "
        "head_dim is the length of one head's vector already; do not divide it by the heads.": (
            lambda weights, layers, heads, dim, rows, context: dim // heads
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: rows,
        "[attention_of_one_row] "
        "each of the rows computes its own attention, over its own context; you have counted one "
        "row.": lambda *_: 1,
        "[attention_to_all_rows] "
        "a row attends to its own context alone; you have let it attend to those of all rows.": (
            lambda weights, layers, heads, dim, rows, context: rows**2
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: context,
        "[attention_squares_the_context] "
        "one new token attends to its context once, not its square.": (
            lambda weights, layers, heads, dim, rows, context: context**2
        ),
        "[attention_as_in_a_prefill] "
        "one new token attends to each token of the context once; you have counted what the context"
        " attends to, as in a prefill.": (
            lambda weights, layers, heads, dim, rows, context: context * (context + 1) / 2,
            lambda weights, layers, heads, dim, rows, context: context * (context - 1) / 2,
            lambda weights, layers, heads, dim, rows, context: context**2 / 2,
        ),
        "[attention_to_half_the_context] "
        "one new token attends to all tokens of the context; you have taken half of them.": (
            lambda weights, layers, heads, dim, rows, context: context / 2,
            lambda weights, layers, heads, dim, rows, context: context // 2,
        ),
        "[attention_to_one_token] "
        "one new token attends to every token of the context, and you have counted one.": (
            lambda *_: 1
        ),
        "[context_divided_among_rows] "
        "each row has a context of `context` tokens; you have divided them among the rows.": (
            lambda weights, layers, heads, dim, rows, context: context // rows,
            lambda weights, layers, heads, dim, rows, context: Fraction(context, rows),
        ),
        "[attention_to_one_token_more] the context is `context` tokens; you have taken one more.": (
            lambda weights, layers, heads, dim, rows, context: context + 1
        ),
        "[attention_to_one_token_less] "
        "the context is all `context` tokens; you have left one out.": (
            lambda weights, layers, heads, dim, rows, context: context - 1
        ),
    },
    in_units("operations")
    | {
        "[operations_of_one_row] "
        "each row multiplies with every weight and attends to its own context, for itself, though "
        "the weights are read once; you have counted one row.": (
            lambda weights, layers, heads, dim, rows, context: lambda number: number / rows,
            lambda weights, layers, heads, dim, rows, context: lambda number: number // rows,
        )
    },
)


@pytest.mark.task("1.3", points=0.5)
def test_a_weight_is_two_operations_for_each_row(student):
    said = (
        "[other_operations_without_context] "
        "no context yet, so only weights count: a multiplication and an addition with each."
    )
    STEP_FLOPS.check(student, (1000, 1, 1, 16, 1, 0), said)
    said = (
        "[other_operations_of_rows] "
        "no context yet; each of the 8 rows multiplies with every weight, for itself."
    )
    STEP_FLOPS.check(student, (1000, 1, 1, 16, 8, 0), said)


@pytest.mark.task("1.3", points=0.5)
def test_attention_is_four_operations_for_each_number(student):
    said = (
        "[other_operations_of_one_row] "
        "2 heads · 16 numbers · 10 tokens of context: two operations for each in comparing with "
        "the keys, and two more in adding up the values."
    )
    STEP_FLOPS.check(student, (0, 1, 2, 16, 1, 10), said)


@pytest.mark.task("1.3", points=0.5)
def test_each_row_attends_to_its_own_context(student):
    said = (
        "[other_operations_of_eight_rows] "
        "each of the 8 rows computes its own attention, over its own context."
    )
    STEP_FLOPS.check(student, (1000, 1, 2, 16, 8, 10), said)


@pytest.mark.task("1.3", points=0.5)
def test_it_agrees_with_minibatch_on_a_real_model(student, rng):
    from tiny_model import tiny_model

    from minibatch.simulator import cost

    said = (
        "[operations_rounded] "
        "large numbers have to come out exactly, to the last operation: float32 rounds them."
    )
    STEP_FLOPS.check(student, (7_000_000_001, 31, 9, 64, 3, 8191), said)
    model = tiny_model()
    for _ in range(5):
        rows, context = rng.randint(1, 64), rng.randint(1, 2000)
        arguments = (cost.num_weights(model), 2, 4, 8, rows, context)
        assert cost.decode_step(model, rows, context).flops == STEP_FLOPS.right(*arguments)
        said = (
            "[other_operations_than_the_cost_model] "
            "minibatch's own cost.decode_step counts otherwise; this model has 2 layers."
        )
        STEP_FLOPS.check(student, arguments, said)


# 1.4 ---------------------------------------------------------------------------------------------

NEVER = -1  # an end token that no model says
PROMPT = [17, 93, 4, 61, 61, 8, 120]
LONG_PROMPT = [2 + n * n % 121 for n in range(1100)]


def random_model(rng):
    """New weights in each run, so that there is no answer to look up; its own answer to PROMPT does
    not repeat itself much, so that a loop that goes wrong says something else; no two tokens are
    nearly as likely, so that rounding changes nothing; it does not begin with the prompt's last
    token; some token of the prompt does not come in it, and `first_later_one` finds one. It never
    says 0 or 1, which a wrong loop may take for more than tokens."""
    import torch
    from tiny import make_tiny_model  # tests/support/tiny.py
    from tiny_model import alone

    while True:
        model = make_tiny_model(seed=rng.randrange(2**31))
        with torch.no_grad():
            model.hf.lm_head.weight[:2] = 0
        tokens = alone(model, PROMPT, 12)
        begins_anew = tokens[0] != PROMPT[-1]
        missing, later = {*PROMPT} - {*tokens}, first_later_one(tokens)
        is_usable = len({*tokens}) >= 8 and begins_anew and missing and later is not None
        if is_usable and is_clear(model, PROMPT, tokens):
            return model


def is_clear(model, prompt, answer):
    """Whether each token of its answer is by far the likeliest: half precision says the same."""
    import torch

    with torch.inference_mode():
        logits = model.hf(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
    first, second = logits.topk(2).values.unbind(-1)
    return bool((first - second > 0.005 * first.abs()).all())


def first_later_one(tokens):
    """Of an answer's tokens the first that is new in it, neither its first nor its last."""
    return next((t for t in tokens[1:-1] if t not in (tokens[0], *PROMPT)), None)


def saying_0(model):
    """The same model, once 0 has changed places with a token that it says, and PROMPT lacks."""
    import torch
    from tiny_model import alone

    token = first_later_one(alone(model, PROMPT, 12))
    with torch.no_grad():
        for table in (model.hf.model.embed_tokens.weight, model.hf.lm_head.weight):
            table[[0, token]] = table[[token, 0]]
    return model


def model_of_near_ties():
    """It answers in tokens above 63, of which each is a little likelier than the one 64 below: by
    a hundred-thousandth of its logit, which float32 can hold and half precision cannot."""
    import torch
    from tiny import make_tiny_model  # tests/support/tiny.py

    model = make_tiny_model(seed=1)
    with torch.no_grad():
        table = model.hf.lm_head.weight
        table[:64] = table[64:] * (1 - 1e-5)
    return model


def model_of_large_tokens():
    """A model of 600 tokens, and one above 256 that it says in its answer to PROMPT: of such a
    number Python makes a new object each time."""
    from tiny import make_tiny_model  # tests/support/tiny.py
    from tiny_model import alone

    for seed in itertools.count():
        model = make_tiny_model(seed=seed, vocab_size=600)
        for token in alone(model, PROMPT, 12)[1:-1]:
            if token > 256:
                return model, token


def random_prompt(rng, length):
    return [rng.randint(2, 127) for _ in range(length)]


def clear_prompt(rng, model, length):
    """One whose first answer token is by far the likeliest."""
    from tiny_model import alone

    while True:
        prompt = random_prompt(rng, length)
        if is_clear(model, prompt, alone(model, prompt, 1)):
            return prompt


def greedy(model, prompt, max_tokens, end_token_id=NEVER):
    """The answer of transformers."""
    from tiny_model import alone

    tokens = alone(model, prompt, max_tokens)
    return tokens[: tokens.index(end_token_id) + 1] if end_token_id in tokens else tokens


def decode(student, model, prompt, max_tokens, end_token_id=NEVER, **options):
    """The learner's answer, and the passes that it took. It is known to be that of transformers.

    options: of the stand-in.
    """
    from stand_in import StandIn

    stand_in = StandIn(model.hf, max_passes=2 * (len(prompt) + max_tokens), **options)
    return decode_with(student, model, stand_in, prompt, max_tokens, end_token_id)


def decode_with(student, model, stand_in, prompt, max_tokens, end_token_id=NEVER):
    """The same with a stand-in that may have been used before."""
    from stand_in import NO_END

    stand_in.passes.clear()
    expected = greedy(model, prompt, max_tokens, end_token_id)
    try:
        got = student.call("greedy_decode", stand_in, prompt, max_tokens, end_token_id)
    except Raised as error:
        if NO_END not in error.sentence:
            error.sentence = refused(error.sentence, stand_in.passes)
            raise
        raise Wrong(
            "[loop_passes_max_tokens] "
            f"max_tokens is {max_tokens}, and after {len(stand_in.passes)} passes your loop still "
            "goes on: is there a loop that never ends? The answer ends when it has max_tokens, "
            "whether the model has said the end token or not."
        ) from None
    asked = f"A prompt of {len(prompt)} tokens, max_tokens={max_tokens}, end token {end_token_id}"
    held = stand_in.passes[0].num_cached if stand_in.passes else None
    if held:
        raise Wrong(
            "[begins_with_an_old_cache] "
            f"{asked}: into pass 1 went a cache that holds {held} tokens already, of an earlier "
            "call with this model. Each call of greedy_decode begins without a cache, None."
        )
    if got != expected:
        said = (
            not_a_list(got)
            or another_end(expected, got, prompt, max_tokens, end_token_id)
            or left_over(student, stand_in, prompt, max_tokens)
            or another_pass(stand_in.passes, got, prompt)
            or "[other_answer] the answer is another one than that of generate."
        )
        raise Wrong(f"{asked}: {said}", expected=expected, got=got)
    for number, one in enumerate(stand_in.passes, 1):
        if said := out_of_place(one, number):
            raise Wrong(f"[right_by_luck] {asked}: the tokens came out right, by luck; {said}")
    return got, stand_in.passes


def refused(sentence, passes):
    """What a pass that the model would not compute says of the loop."""
    sentence = sentence.removeprefix("RuntimeError: ValueError: ")
    if "[token_out_of_range]" in sentence and passes:
        return (
            "[argmax_over_all_places] "
            f"{sentence}. What went into pass {len(passes) + 1} is no token of its vocabulary: "
            "argmax over all of out.logits counts through every place, so take those of the last "
            "place first, out.logits[0, -1]."
        )
    if "[input_on_another_device]" in sentence:
        return (
            f"{sentence}. Make each tensor there: torch.tensor(…, device=model.device). (This test "
            "only pretends that the computer has such a device.)"
        )
    if "[cache_of_another_model]" in sentence:
        return (
            "[keeps_a_cache_between_calls] "
            f"{sentence}. Each call of greedy_decode begins without a cache, None: is one kept from"
            " the call before?"
        )
    if "out of bounds for dimension 1" in sentence:
        return (
            "[logits_of_a_place_that_is_not] "
            f"{sentence}. After the prompt one token goes in, and logits has one place for it: the "
            "last one is logits[0, -1], however many went in."
        )
    return sentence


def left_over(student, stand_in, prompt, max_tokens):
    """What to say if a second call has less to do than the first: something outlives a call."""
    from stand_in import StandIn

    passes, answers = [], []
    for _ in range(2):
        again = StandIn(stand_in.hf, stand_in.max_passes)
        try:
            answers.append(student.call("greedy_decode", again, prompt, max_tokens, NEVER))
        except Raised:
            return ""
        passes.append(len(again.passes))
    if passes[0] == len(stand_in.passes) and answers[0] != answers[1]:
        return (
            "[other_answer_when_asked_again] "
            "asked the same once more, your function gives another answer. Either it samples: "
            "greedy decoding takes the token with the highest score, argmax. Or something outlives "
            "the call, such as a list that is a default in its `def`, or outside of it."
        )
    if passes[0] >= len(stand_in.passes):
        return ""
    return (
        "[goes_on_where_it_ended] "
        f"called a second time, your function goes on where the call before ended, after "
        f"{passes[0]} passes: something outlives the call, such as a list or a cache that "
        "is made outside of it or stands as a default in its `def`."
    )


def not_a_list(got):
    """What to say of an answer that is no list of numbers."""
    if got is None:
        return (
            "[answer_is_nothing] your function returned nothing (None); return the list of tokens."
        )
    if isinstance(got, Array) or (
        isinstance(got, list) and any(isinstance(token, Array) for token in got)
    ):
        return (
            "[answer_holds_tensors] "
            "the answer has to be a list of plain numbers, and yours holds tensors: a tensor of "
            "one number gives it with .item()."
        )
    if not isinstance(got, list):
        return f"[answer_is_no_list] the answer has to be a list, and yours is {a_kind(got)}."
    if any(type(token) is not int for token in got):
        return (
            "[answer_holds_no_whole_numbers] "
            "the answer has to be a list of whole numbers, one token after the other."
        )
    return ""


def another_end(expected, got, prompt, max_tokens, end):
    """What to say of an answer that begins, or ends, where it should not."""
    if got == expected:
        return ""
    if got == expected[: len(got)]:
        return ends_too_early(expected, got, prompt, max_tokens, end)
    if got[: len(prompt)] == prompt:
        return (
            "[answer_begins_with_the_prompt] "
            "the answer begins with the prompt; return only the tokens that come after it."
        )
    if got and got[0] == prompt[-1] and got[1:] == expected[: len(got) - 1]:
        return (
            "[answer_begins_with_the_last_of_the_prompt] "
            f"the answer begins with {prompt[-1]}, the prompt's last token; it begins after that."
        )
    if len(got) >= 1 and len(expected) > 1 and got[: len(expected) - 1] == expected[1:]:
        return (
            "[first_token_is_missing] "
            f"the first token, {expected[0]}, is missing: it comes out of the prompt's own pass and"
            " belongs to the answer."
        )
    if got[: len(expected)] == expected:
        if expected[-1] == end == 0:
            return (
                "[goes_on_after_end_token_zero] "
                f"{ZERO} Here it is the end token, and the answer ends there; yours goes on."
            )
        if expected[-1] == end:
            first = "the very first token is" if len(expected) == 1 else "the model then says"
            what = f"{first} the end token, {end}: the answer ends there, and yours goes on."
            if end > 256:
                return (
                    "[compares_by_identity] "
                    f"{what} (`is` asks for the very same object, which Python keeps of numbers up "
                    "to 256 only: compare by ==.)"
                )
            return f"[goes_on_after_the_end_token] {what} Compare each new token with end_token_id."
        return (
            "[more_than_max_tokens] "
            f"these are {len(got)} tokens, more than max_tokens; the one that comes out of the "
            "prompt's own pass counts, too."
        )
    return ""


ZERO = "0 is a token like any other, though `if token` takes it for none."


def ends_too_early(expected, got, prompt, max_tokens, end):
    if expected[len(got)] == 0:
        return (
            "[ends_at_token_zero] "
            f"{ZERO} The model says it after {len(got)} tokens, and there your answer ends."
        )
    if expected[-1] == end and len(got) == len(expected) - 1:
        return (
            "[end_token_is_missing] "
            f"the end token, {end}, is missing: the answer ends there, and the end token is its "
            "last one."
        )
    if end in prompt:
        return (
            "[end_token_of_the_prompt_ends_it] "
            f"the end token {end} stands in the prompt, and so the answer ended at once: only what "
            "the model says ends it. Ask about the newest token alone, not about all of them."
        )
    if len(got) == max_tokens - len(prompt):
        return (
            "[max_tokens_counts_the_prompt] "
            f"the answer ended after {len(got)}, when prompt and answer together had "
            f"{len(prompt) + len(got)} tokens: max_tokens counts those of the answer only."
        )
    if len(got) == max_tokens - 1:
        return (
            "[one_token_too_few] "
            f"the answer has {len(got)} tokens, one too few: max_tokens are allowed."
        )
    if len(got) == 1:
        return (
            "[ends_after_the_first_token] "
            "the answer ended after its first token: is `return` inside the loop?"
        )
    if expected[len(got)] in got or got[-1:] and got[-1] in got[:-1]:
        return (
            "[ends_where_a_token_repeats] "
            f"the answer ended after {len(got)} tokens, where the model repeats one of them: only "
            "the end token and max_tokens end an answer."
        )
    return (
        "[ends_too_early] "
        f"the answer ended after {len(got)} tokens, with no end token and below max_tokens."
    )


def another_pass(passes, got, prompt):
    """What to say of the first pass in which something goes in, or is read off, that should not."""
    whole = len(passes) > 0 and passes[0].token_ids == prompt
    piecemeal = [one.token_ids for one in passes[: len(prompt)]] == [[token] for token in prompt]
    if not whole and not piecemeal:
        into = passes[0].token_ids if passes else []
        if into and len(into) < len(prompt) and into in (prompt[-len(into) :], prompt[: len(into)]):
            return (
                "[prompt_goes_in_cut] "
                f"{len(into):,} of the prompt's {len(prompt):,} tokens went in, and the others the "
                "model never saw. A prompt goes in whole, however long it is."
            )
        into = into or "nothing"
        return (
            "[other_tokens_in_the_first_pass] "
            f"into the first pass went {into}, and the prompt is {prompt}."
        )
    if fed_again(passes, prompt):
        return (
            "[last_of_the_prompt_goes_in_again] "
            f"into pass 2 went the prompt's last token, {prompt[-1]}, once more: the first token of"
            f" the answer is read off the prompt's own pass already, {passes[0].last}."
        )
    skipped = 0 if whole else len(prompt) - 1
    for i, (one, token) in enumerate(zip(passes[skipped:], got, strict=False)):
        text, number = prompt + got[:i], skipped + i + 1
        alone = one.num_cached is None and one.token_ids != text
        if alone and number > 1 and not passes[number - 2].kept:
            return (
                "[pass_keeps_no_cache] "
                f"pass {number - 1} kept no cache to hand on to pass {number}: use_cache=True, in "
                "the pass over the prompt as well."
            )
        if said := wrongly_fed(one, text, number, i > 0 or not whole):
            return said
        if token != one.last:
            return wrongly_read(one, token, number)
    return ""


def fed_again(passes, prompt):
    """Whether the prompt's last token goes in again, after all of it, to be answered."""
    if len(passes) < 2 or [passes[0].last] == prompt[-1:]:
        return False
    return passes[1].token_ids == prompt[-1:] and passes[1].num_cached == len(prompt)


def wrongly_fed(one, text, number, follows):
    new, newest = one.token_ids, text[-1]
    if follows and one.num_cached is None and new != text:
        return (
            "[pass_without_a_cache] "
            f"into pass {number} went {new} without a cache, so the model has not seen what came "
            "before. All before the newest token is in the cache, out.past_key_values of the last "
            "pass: hand it on."
        )
    if follows and one.num_cached is not None and new == text:
        return (
            "[whole_text_with_the_cache] "
            f"into pass {number} went the whole text again, and the cache with it, which holds it "
            "already: after the prompt only the newest token goes in."
        )
    if follows and one.num_cached is not None and new != [newest]:
        return (
            "[other_token_goes_in] "
            f"into pass {number} went {new}: only the newest token goes in, which is {newest}."
        )
    past = one.num_cached or 0
    if past + len(new) != len(text):
        return (
            "[other_tokens_in_the_cache] "
            f"before pass {number} {past} tokens were in the cache, and there should have been "
            f"{len(text) - len(new)}: every token goes in once."
        )
    return out_of_place(one, number)


def out_of_place(one, number):
    places = list(range(one.num_cached or 0, (one.num_cached or 0) + len(one.token_ids)))
    if one.positions is not None and one.positions != places:
        return (
            "[other_positions] "
            f"in pass {number} {one.token_ids} went in at position {one.positions}: each token "
            f"goes in at its own position in the text, here {places}."
        )
    if one.mask is not None and not all(one.mask):
        return (
            "[mask_hides_tokens] "
            f"the attention_mask of pass {number} hides tokens; all of them are real."
        )
    return ""


def wrongly_read(one, token, number):
    right = f"The next token is the one with the highest logit at the last place, {one.last}"
    if token == one.second and one.gap < 1e-3:
        return (
            "[logits_are_rounded] "
            f"{right}, and yours is {token} (pass {number}), whose logit is lower by {one.gap:.1g}."
            " Two logits as near as these are the same in float16: take argmax of the logits as "
            "they are."
        )
    if token == one.first:
        return (
            "[logits_of_the_first_place] "
            f"{token} is what pass {number} says after the first place. {right}: logits[0, -1]."
        )
    if token == one.lowest:
        return f"[lowest_logit] {token} has the lowest logit of pass {number}. {right}: argmax."
    if token in (int(one.highest), round(one.highest)):
        return (
            "[logit_in_place_of_a_token] "
            f"{token} is how high the highest logit of pass {number} is. {right}: argmax says where"
            " it stands, max how high it is."
        )
    return (
        f"[other_token_than_the_highest] {right}, and in the answer stands {token} (pass {number})."
    )


@pytest.mark.task("1.4", points=1)
def test_the_first_token_comes_out_of_the_pass_over_the_prompt(student, rng):
    model = random_model(rng)
    for prompt in (PROMPT, clear_prompt(rng, model, 5), clear_prompt(rng, model, 9)):
        try:
            decode(student, model, prompt, 1)
        except Wrong:
            decode(student, model, PROMPT, 12)  # a longer answer says more of what is amiss
            raise


@pytest.mark.task("1.4", points=1)
def test_the_tokens_are_those_of_generate(student, rng):
    """The first model is a fixed one, of near ties."""
    decode(student, model_of_near_ties(), PROMPT, 12)
    model = random_model(rng)
    decode(student, model, PROMPT, 12)
    decode(student, saying_0(model), PROMPT, 12)


@pytest.mark.task("1.4", points=1)
def test_it_stops_after_the_end_token(student, rng):
    model = random_model(rng)
    tokens = greedy(model, PROMPT, 12)
    decode(student, model, PROMPT, 12, tokens[0])
    end = next(token for token in reversed(tokens) if tokens.index(token) < 11)
    decode(student, model, PROMPT, 12, end)
    decode(student, model, PROMPT, 12, next(token for token in PROMPT if token not in tokens))
    decode(student, saying_0(model), PROMPT, 12, 0)
    large, says = model_of_large_tokens()
    decode(student, large, PROMPT, 12, says)


@pytest.mark.task("1.4", points=1)
def test_no_token_goes_in_twice_or_in_vain(student, rng):
    _, passes = decode(student, random_model(rng), PROMPT, 12)
    num_fed, most = sum(len(one.token_ids) for one in passes), len(PROMPT) + 12 - 1
    whole_again = all(one.num_cached is None for one in passes)
    if num_fed > most + 1 and whole_again:
        sentence = (
            "[never_a_cache] "
            f"{num_fed} tokens went in for a prompt of 7 and an answer of 12, many of them again "
            "and again, and never a cache. Their keys and values are in out.past_key_values: hand "
            "it to the next pass, and feed only what is new."
        )
    elif num_fed > most + 1:
        sentence = (
            "[tokens_go_in_again] "
            f"{num_fed} tokens went in for a prompt of 7 and an answer of 12, some of them again. "
            "Their keys and values are in the cache: feed only what is new."
        )
    else:
        sentence = (
            "[one_token_goes_in_too_many] "
            f"{num_fed} tokens went in for a prompt of 7 and an answer of 12, one too many. The "
            "first token comes out of the prompt's own pass, and the last need not go in any more."
        )
    if num_fed > most:
        raise Wrong(sentence, expected=f"{most} tokens", got=f"{num_fed} tokens")


@pytest.mark.task("1.4", points=0.25)
def test_the_prompt_goes_in_whole(student, rng):
    from tiny import make_tiny_model  # tests/support/tiny.py

    _, passes = decode(student, random_model(rng), PROMPT, 12)
    if len(passes) > 12:
        raise Wrong(
            "[prompt_goes_in_piece_by_piece] "
            f"An answer of 12 tokens took {len(passes)} passes. The prompt goes in whole, in one: "
            "its tokens share one reading of the weights.",
            expected=[7] + [1] * 11,
            got=[len(one.token_ids) for one in passes],
        )
    _, passes = decode(student, make_tiny_model(max_position_embeddings=2048), LONG_PROMPT, 8)
    fed = [token for one in passes for token in one.token_ids]
    if fed[: len(LONG_PROMPT)] != LONG_PROMPT:
        raise Wrong(
            "[long_prompt_goes_in_cut] "
            f"{len(passes[0].token_ids):,} of the prompt's {len(LONG_PROMPT):,} tokens went in, and"
            " the answer came out right by luck. A prompt goes in whole, however long it is.",
            expected=f"{len(LONG_PROMPT):,} tokens",
            got=f"{len(passes[0].token_ids):,} tokens",
        )


@pytest.mark.task("1.4", points=0.25)
def test_what_goes_in_is_on_the_device_of_the_model(student):
    from tiny import make_tiny_model  # tests/support/tiny.py

    decode(student, make_tiny_model(seed=1), PROMPT, 4, device="xpu:0")


@pytest.mark.task("1.4", points=0.25)
def test_any_prompt_is_answered(student, rng):
    """Also a second one by the same model."""
    from stand_in import StandIn
    from tiny import make_tiny_model  # tests/support/tiny.py

    model = make_tiny_model(seed=1)
    stand_in = StandIn(model.hf, max_passes=40)
    for prompt in (PROMPT, PROMPT[::-1], PROMPT):
        decode_with(student, model, stand_in, prompt, 6)
    model = random_model(rng)
    for length in (1, 2, rng.randint(3, 40)):
        prompt, max_tokens = random_prompt(rng, length), rng.randint(1, 16)
        end = rng.choice([NEVER, *greedy(model, prompt, max_tokens)])
        got, passes = decode(student, model, prompt, max_tokens, end)
        num_fed, most = sum(len(one.token_ids) for one in passes), length + len(got) - 1
        if len(passes) > len(got):
            raise Wrong(
                "[passes_after_the_end_token] "
                f"{len(passes)} passes for an answer of {len(got)} tokens: after the end token "
                "your loop goes on, for tokens that are cut off. The answer has ended; stop there.",
                expected=f"{len(got)} passes",
                got=f"{len(passes)} passes",
            )
        if num_fed > most:
            raise Wrong(
                "[tokens_go_in_twice_or_in_vain] "
                f"An answer of {len(got)} tokens to a prompt of {length}: some tokens went in "
                "twice, or in vain.",
                expected=f"{most} tokens",
                got=f"{num_fed} tokens",
            )


@pytest.mark.task("1.4", points=0.25)
def test_the_caller_keeps_its_prompt(student, rng):
    """A list that refuses to be changed."""
    decode(student, random_model(rng), Lent(PROMPT), 3)


NOW_YOURS = {
    "1.1": now_yours.kv_bytes,
    "1.2": now_yours.step_bytes,
    "1.3": now_yours.step_flops,
    "1.4": now_yours.greedy,
}

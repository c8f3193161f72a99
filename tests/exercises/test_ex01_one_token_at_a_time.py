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
        "[key_or_value_only] a token has a key and a value in the cache; you have counted only one "
        "of them.": lambda *_: 1,
        "[four_vectors] K and V are two vectors, and you have counted four.": lambda *_: 4,
        "[query_is_kept] a token has a key and a value in the cache; the query is used once, and "
        "not stored. You have counted three vectors.": lambda *_: 3,
    },
    {
        "": lambda layers, query, kv, dim, size: layers,
        "[one_layer] each layer has its own keys and values, and you have counted one layer.": (
            lambda *_: 1
        ),
        "[one_layer_left_out] "
        "every layer has its own keys and values; you have left one layer out.": (
            lambda layers, query, kv, dim, size: layers - 1
        ),
        "[one_layer_more] keys and values are in num_layers layers; you have counted one layer too "
        "many.": (lambda layers, query, kv, dim, size: layers + 1),
        "[layers_added_to_heads] "
        "each layer has all the KV heads: multiply layers by heads. You have added them.": (
            lambda layers, query, kv, dim, size: Fraction(layers + kv, kv)
        ),
    },
    {
        "": lambda layers, query, kv, dim, size: kv,
        "[query_heads_counted] "
        "query heads share the keys and values of KV heads. Only KV heads are stored, and you "
        "have counted query heads.": lambda layers, query, kv, dim, size: query,
        "[query_heads_added] you have added the query heads to the KV heads; only KV heads are "
        "stored.": (lambda layers, query, kv, dim, size: query + kv),
        "[query_heads_multiplied] you have multiplied the KV heads by the query heads; only KV "
        "heads are stored.": (lambda layers, query, kv, dim, size: query * kv),
        "[divided_by_kv_heads] you have divided by num_kv_heads, which is the number of heads that "
        "have keys and values.": (lambda layers, query, kv, dim, size: query // kv),
        "[kv_heads_by_share] you change num_kv_heads. Use num_kv_heads as it is; how many query "
        "heads share a KV head does not matter here.": lambda layers, query, kv, dim, size: (
            kv / query
        ),
        "[kv_heads_floored_to_zero] you divide num_kv_heads by num_query_heads, and // gives 0 if "
        "query heads share a KV head. Use num_kv_heads as it is.": (
            lambda layers, query, kv, dim, size: kv // query,
            lambda layers, query, kv, dim, size: query * (kv // query),
        ),
        "[one_kv_head] "
        "every KV head has a key and a value of its own, and you have counted one head.": (
            lambda *_: 1
        ),
        "[one_vector_for_each_query_head] "
        "each of num_kv_heads heads has a key and a value. You have counted one vector for each "
        "query head; that is right only if there are twice as many query heads, as in Wayfarer.": (
            lambda layers, query, kv, dim, size: query / 2,
            lambda layers, query, kv, dim, size: query // 2,
        ),
        "[keys_by_kv_head_values_by_query_head] you have counted a vector for each KV head and a "
        "vector for each query head; query heads that share "
        "a key also share the value.": (lambda layers, query, kv, dim, size: (kv + query) / 2),
        "[queries_counted] you have counted a query for each query head; queries are used once, "
        "and not stored.": (lambda layers, query, kv, dim, size: kv + query / 2),
    },
    {
        "": lambda layers, query, kv, dim, size: dim,
        "[key_is_one_number] "
        "a key is a vector of head_dim numbers, and you have counted one number.": lambda *_: 1,
        "[head_dim_divided_by_heads] you divide head_dim by the heads; head_dim is already the "
        "length of one head's vector.": (lambda layers, query, kv, dim, size: dim // query),
        "[head_dim_divided_by_kv_heads] you divide head_dim by the KV heads; head_dim is already "
        "the length of one head's vector.": (lambda layers, query, kv, dim, size: dim // kv),
        "[head_dim_squared] you "
        "square head_dim; a key has head_dim numbers.": lambda layers, query, kv, dim, size: dim**2,
    },
    {
        "": lambda layers, query, kv, dim, size: size,
        "[always_four_bytes] you count 4 bytes for each number: use bytes_per_number.": lambda *_: (
            4
        ),
        "[always_two_bytes] you count 2 bytes for each number: use bytes_per_number.": lambda *_: 2,
        "[numbers_not_bytes] you have counted numbers, not bytes: each number has bytes_per_number "
        "bytes.": lambda *_: 1,
        "[bits_not_bytes] you count bits; the answer is in bytes.": (
            lambda layers, query, kv, dim, size: 8 * size
        ),
    },
    in_units("bytes")
    | {
        "[bytes_divided_by_eight] you divide by 8; bytes_per_number is in bytes already.": (
            lambda *_: lambda number: number / 8,
            lambda *_: lambda number: number // 8,
        )
    },
)


@pytest.mark.task("1.1", points=0.25)
def test_a_token_has_a_key_and_a_value(student):
    said = (
        "[other_bytes_of_one_head] your number is wrong: count a key of 16 numbers and a value "
        "of 16 numbers, 4 bytes each."
    )
    KV_BYTES.check(student, (1, 1, 1, 16, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_only_the_heads_that_have_keys_and_values_count(student):
    said = (
        "[other_bytes_of_shared_heads] your number is wrong: each of the 2 KV heads has a key "
        "and a value of 16 numbers; the 8 query heads share them."
    )
    KV_BYTES.check(student, (1, 8, 2, 16, 4), said)
    said = (
        "[other_bytes_of_one_shared_head] your number is wrong: one KV head has a key and a "
        "value of 16 numbers, for all of the 8 query heads."
    )
    KV_BYTES.check(student, (1, 8, 1, 16, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_every_layer_has_its_own_keys_and_values(student):
    said = (
        "[other_bytes_of_layers] your number is wrong: each of the 6 layers has keys and values "
        "of its own, in 4 heads of 32 numbers."
    )
    KV_BYTES.check(student, (6, 8, 4, 32, 4), said)


@pytest.mark.task("1.1", points=0.25)
def test_bytes_per_number_says_how_many_bytes_a_number_has(student, rng):
    KV_BYTES.check(
        student,
        (32, 32, 8, 128, 2),
        "[other_bytes_of_two_byte_numbers] your number is wrong: here each number has 2 bytes.",
    )
    KV_BYTES.check(
        student,
        (3, 12, 3, 80, 1),
        ("[other_bytes_of_one_byte_numbers] your number is wrong: here each number has 1 byte."),
    )
    for _ in range(5):
        layers, heads, group = (rng.randint(1, 40) for _ in range(3))
        dim, size = rng.choice([32, 64, 80, 128]), rng.choice([1, 2, 4, 8])
        said = (
            "[other_bytes_by_the_formula] your number is wrong: compare your code with the "
            "lesson's formula."
        )
        KV_BYTES.check(student, (layers, heads * group, heads, dim, size), said)


# 1.2 ---------------------------------------------------------------------------------------------

STEP_BYTES = Counted(
    "decode_step_bytes",
    ("num_weights", "bytes_per_number", "kv_bytes_per_token", "batch_size", "context"),
    [(5_000_011, 3, 26, 7, 11), (2003, 2, 130, 5, 0), (53, 2, 130, 5, 40)],
    then(lambda parts: parts[0](parts[1:])),
    {
        "": lambda *_: sum,
        "[larger_of_the_two] the step reads the weights, K and V over the same memory bus, so add "
        "their bytes. You have taken only the larger number.": lambda *_: max,
    },
    {
        "": lambda weights, size, kv, rows, context: weights * size,
        "[weights_left_out] the weights are read, too, and you have left them out.": lambda *_: 0,
        "[weights_not_bytes] you have counted weights, not bytes: each weight has bytes_per_number "
        "bytes.": (lambda weights, size, kv, rows, context: weights),
        "[weights_always_four_bytes] you count 4 bytes for each weight: use bytes_per_number.": (
            lambda weights, size, kv, rows, context: 4 * weights
        ),
        "[weights_always_two_bytes] you count 2 bytes for each weight: use bytes_per_number.": (
            lambda weights, size, kv, rows, context: 2 * weights
        ),
        "[weights_read_for_each_row] "
        "the weights are read once, however many rows use them; you read them for each row.": (
            lambda weights, size, kv, rows, context: weights * size * rows
        ),
        "[weights_counted_for_each_row] you count the weights once for each row, but they are "
        "read once for all rows. And you count weights, not bytes: each weight has "
        "bytes_per_number bytes.": (lambda weights, size, kv, rows, context: weights * rows),
        "[weights_read_for_each_token] "
        "the weights are read once in a step; you read them for each token of the context.": (
            lambda weights, size, kv, rows, context: weights * size * context
        ),
        "[weights_read_for_each_row_and_token] "
        "the weights are read once in a step; you read them for each row and token.": (
            lambda weights, size, kv, rows, context: weights * size * context * rows
        ),
        "[weights_in_bits] you count the weights in bits; the answer is in bytes.": (
            lambda weights, size, kv, rows, context: 8 * weights * size
        ),
        "[weights_read_twice] you read each weight twice; a weight is read once.": (
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
        "K and V of each token of each row's context are read, too; you have left them out.": (
            lambda *_: 0
        ),
        "[kv_read_once] rows do not share K and V: each row reads K and V of its own context. You "
        "have counted only one row.": (lambda weights, size, kv, rows, context: context * kv),
        "[kv_of_one_token] "
        "K and V of every token of the context are read, and you have counted one token.": (
            lambda weights, size, kv, rows, context: rows * kv
        ),
        "[kv_of_the_newest_alone] "
        "K and V of all tokens of the context are read; you have counted only the newest token.": (
            lambda weights, size, kv, rows, context: (context > 0) * rows * kv
        ),
        "[kv_of_one_token_for_all_rows] "
        "K and V of every token of each row's context are read; you have counted one token.": (
            lambda weights, size, kv, rows, context: kv
        ),
        "[kv_multiplied_by_bytes] "
        "kv_bytes_per_token is in bytes, not numbers, and you have multiplied it by "
        "bytes_per_number once more.": (
            lambda weights, size, kv, rows, context: rows * context * kv * size
        ),
        "[kv_counts_tokens] you have counted tokens; each token of the context has "
        "kv_bytes_per_token bytes.": (lambda weights, size, kv, rows, context: rows * context),
        "[kv_counts_tokens_with_bytes] you have counted bytes_per_number bytes for each token; a "
        "token of the context has "
        "kv_bytes_per_token bytes.": lambda weights, size, kv, rows, context: rows * context * size,
        "[kv_of_one_token_more] "
        "K and V of `context` tokens are read from the cache; you have counted one token more.": (
            lambda weights, size, kv, rows, context: rows * (context + 1) * kv
        ),
        "[kv_of_one_token_less] "
        "K and V of all `context` tokens in the cache are read; you have left one out.": (
            lambda weights, size, kv, rows, context: rows * max(0, context - 1) * kv,
            lambda weights, size, kv, rows, context: rows * (context - 1) * kv,
        ),
        "[kv_of_one_row_less] "
        "every row reads the K and V of "
        "its own context; you have left one row out.": lambda weights, size, kv, rows, context: (
            (rows - 1) * context * kv
        ),
        "[kv_of_wayfarer] a token has kv_bytes_per_token bytes of K and V; you have used "
        "Wayfarer's number, 6,144.": (
            lambda weights, size, kv, rows, context: rows * context * 6144
        ),
        "[kv_of_the_context_squared] you square the context; one new token reads the context "
        "once.": (lambda weights, size, kv, rows, context: rows * context**2 * kv),
        "[kv_as_in_a_prefill] "
        "one new token reads its context once; you have counted the reads of each earlier token, "
        "too, as in a prefill.": (
            lambda weights, size, kv, rows, context: rows * (context * (context + 1) // 2) * kv,
            lambda weights, size, kv, rows, context: rows * (context * (context - 1) // 2) * kv,
        ),
        "[kv_taken_twice] "
        "kv_bytes_per_token already includes K and V; you have multiplied it by 2.": (
            lambda weights, size, kv, rows, context: 2 * rows * context * kv
        ),
        "[kv_taken_half] you count half of the bytes; K and V of all `context` tokens are read, "
        "kv_bytes_per_token for each token.": (
            lambda weights, size, kv, rows, context: rows * context * kv / 2,
            lambda weights, size, kv, rows, context: rows * context * kv // 2,
            lambda weights, size, kv, rows, context: rows * (context // 2) * kv,
        ),
        "[rows_added_to_context] "
        "each row reads `context` tokens: multiply rows by tokens. You have added them.": (
            lambda weights, size, kv, rows, context: (rows + context) * kv,
            lambda weights, size, kv, rows, context: (rows + context - 1) * kv,
        ),
        "[rows_squared] you have squared batch_size; each row reads its own context, once.": (
            lambda weights, size, kv, rows, context: rows**2 * context * kv
        ),
    },
    in_units("bytes")
    | {
        "[divided_by_the_rows] you divide by batch_size, which gives the number for each "
        "generated token; return the bytes of the whole step.": (
            lambda weights, size, kv, rows, context: lambda number: number / rows,
            lambda weights, size, kv, rows, context: lambda number: number // rows,
        )
    },
)


@pytest.mark.task("1.2", points=0.5)
def test_all_the_weights_are_read(student):
    said = (
        "[other_bytes_without_context] your number is wrong: nothing is in the cache yet, and "
        "the step reads only 1,000 weights of 4 bytes."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 1, 0), said)
    STEP_BYTES.check(
        student,
        (1000, 2, 256, 1, 0),
        "[other_bytes_of_two_byte_weights] your number is wrong: now each weight has 2 bytes.",
    )


@pytest.mark.task("1.2", points=0.5)
def test_weights_are_read_once_for_all_rows(student):
    said = (
        "[other_bytes_of_rows_without_context] your number is wrong: nothing is in the cache "
        "yet, and the weights are read once, however many rows use them."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 8, 0), said)


@pytest.mark.task("1.2", points=0.5)
def test_each_row_reads_its_own_keys_and_values(student):
    said = (
        "[other_bytes_of_one_row] your number is wrong: the row reads 256 bytes for each of its "
        "10 tokens."
    )
    STEP_BYTES.check(student, (1000, 4, 256, 1, 10), said)
    said = (
        "[other_bytes_of_eight_rows] your number is wrong: rows do not share K and V, so each of "
        "the 8 rows reads the K and V of its own 10 tokens."
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
        "[bytes_rounded] you round a large number: float32 does this. The number of bytes must "
        "be exact: use int."
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
            "[other_bytes_than_the_cost_model] your number is wrong: minibatch's own "
            "cost.decode_step gives another number for this model in bfloat16."
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
        "[six_operations_a_weight] you count six operations for each weight; each weight is a "
        "multiplication and an addition, two operations. Six are for training, where the "
        "backward pass takes four more.": lambda weights, *_: 6 * weights,
        "[weights_not_multiplied] each row multiplies with the weights, too; you have left these "
        "operations out.": lambda *_: 0,
        "[weights_multiplied_by_layers] "
        "num_weights already includes the weights of all layers; you have multiplied it by "
        "num_layers.": (lambda weights, layers, *_: 2 * weights * layers),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: rows,
        "[weights_of_one_row] "
        "a weight "
        "is read once, but each row multiplies with it; you have counted one row.": lambda *_: 1,
        "[weights_for_each_token] each row multiplies with every weight once in a step; you have "
        "counted every weight once for each "
        "token of the context.": lambda weights, layers, heads, dim, rows, context: rows * context,
        "[weights_for_each_token_of_one_row] each row multiplies with every weight once in a step; "
        "you have counted every weight once for each token of the context, and for only one row.": (
            lambda weights, layers, heads, dim, rows, context: context
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: 4,
        "[two_operations_in_attention] "
        "attention multiplies and adds once for each number of a key, and once for each number of "
        "a value: four operations in all. You have counted two.": lambda *_: 2,
        "[one_operation_in_attention] "
        "attention multiplies and adds once for each number of a key, and once for each number of "
        "a value: four operations in all. You have counted one.": lambda *_: 1,
        "[eight_operations_in_attention] attention takes four operations for each number, two with "
        "the key and two with the value; you have counted eight.": lambda *_: 8,
        "[three_operations_in_attention] attention takes four operations for each number, two with "
        "the key and two with the value; you have counted three.": lambda *_: 3,
        "[twelve_operations_in_attention] you count twelve operations for each number, as in "
        "training; attention takes four, two with the key and two with the value.": lambda *_: 12,
        "[attention_left_out] each row also computes attention over its context; you have left "
        "attention out.": lambda *_: 0,
        "[softmax_counted] "
        "count only the multiplications and additions with keys and values; you have also counted "
        "the softmax.": tuple(
            lambda weights, layers, heads, dim, rows, context, more=more: 4 + Fraction(more, dim)
            for more in range(1, 7)
        ),
        "[one_addition_less] head_dim numbers are head_dim multiplications and head_dim additions; "
        "you have counted one addition fewer.": (
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
        "each layer computes attention, and you have counted one layer.": lambda *_: 1,
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: heads,
        "[attention_of_one_head] "
        "each query head computes its own attention, and you have counted one head.": lambda *_: 1,
        "[attention_of_half_the_heads] "
        "each query head computes its own attention, also those that share K and V: sharing saves "
        "bytes, not arithmetic. You have counted half of the heads.": (
            lambda weights, layers, heads, dim, rows, context: heads // 2,
            lambda weights, layers, heads, dim, rows, context: Fraction(heads, 2),
        ),
        "[attention_once_for_all_heads] you have counted the comparison with the keys, or the "
        "sum of the values, only once for all heads; each query head computes both.": (
            lambda weights, layers, heads, dim, rows, context: Fraction(heads + 1, 2)
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: dim,
        "[attention_of_one_number] "
        "a key and a value have head_dim numbers, and you have counted one.": lambda *_: 1,
        "[attention_squares_head_dim] you square head_dim; each of the head_dim numbers counts "
        "once.": (lambda weights, layers, heads, dim, rows, context: dim**2),
        "[attention_divides_head_dim] you divide head_dim by the heads; head_dim is already the "
        "length of one head's vector.": (
            lambda weights, layers, heads, dim, rows, context: dim // heads
        ),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: rows,
        "[attention_of_one_row] "
        "each row computes "
        "its own attention, over its own context; you have counted one row.": lambda *_: 1,
        "[attention_to_all_rows] you let a row attend to the contexts of all rows; a row attends "
        "only to its own context.": (lambda weights, layers, heads, dim, rows, context: rows**2),
    },
    {
        "": lambda weights, layers, heads, dim, rows, context: context,
        "[attention_squares_the_context] you square the context; one new token attends to the "
        "context once.": (lambda weights, layers, heads, dim, rows, context: context**2),
        "[attention_as_in_a_prefill] "
        "one new token attends to each token of the context once; you have counted the attention "
        "of each context token, too, as in a prefill.": (
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
        "[attention_to_one_token_more] "
        "the context has `context` tokens; you have counted one more.": (
            lambda weights, layers, heads, dim, rows, context: context + 1
        ),
        "[attention_to_one_token_less] the context has `context` tokens; you have left one out.": (
            lambda weights, layers, heads, dim, rows, context: context - 1
        ),
    },
    in_units("operations")
    | {
        "[operations_of_one_row] "
        "the weights are read once, but each row multiplies with every weight and attends to its "
        "own context; you have counted one row.": (
            lambda weights, layers, heads, dim, rows, context: lambda number: number / rows,
            lambda weights, layers, heads, dim, rows, context: lambda number: number // rows,
        )
    },
)


@pytest.mark.task("1.3", points=0.5)
def test_a_weight_is_two_operations_for_each_row(student):
    said = (
        "[other_operations_without_context] your number is wrong: there is no context yet, so "
        "count only the weights, a multiplication and an addition for each."
    )
    STEP_FLOPS.check(student, (1000, 1, 1, 16, 1, 0), said)
    said = (
        "[other_operations_of_rows] your number is wrong: there is no context yet, and each of "
        "the 8 rows multiplies with every weight."
    )
    STEP_FLOPS.check(student, (1000, 1, 1, 16, 8, 0), said)


@pytest.mark.task("1.3", points=0.5)
def test_attention_is_four_operations_for_each_number(student):
    said = (
        "[other_operations_of_one_row] your number is wrong: attention has 2 heads · 16 numbers · "
        "10 tokens of context. For each number, count two operations with the key, and two more "
        "with the value."
    )
    STEP_FLOPS.check(student, (0, 1, 2, 16, 1, 10), said)


@pytest.mark.task("1.3", points=0.5)
def test_each_row_attends_to_its_own_context(student):
    said = (
        "[other_operations_of_eight_rows] your number is wrong: each of the 8 rows computes its "
        "own attention, over its own context."
    )
    STEP_FLOPS.check(student, (1000, 1, 2, 16, 8, 10), said)


@pytest.mark.task("1.3", points=0.5)
def test_it_agrees_with_minibatch_on_a_real_model(student, rng):
    from tiny_model import tiny_model

    from minibatch.simulator import cost

    said = (
        "[operations_rounded] you round a large number: float32 does this. The number of "
        "operations must be exact: use int."
    )
    STEP_FLOPS.check(student, (7_000_000_001, 31, 9, 64, 3, 8191), said)
    model = tiny_model()
    for _ in range(5):
        rows, context = rng.randint(1, 64), rng.randint(1, 2000)
        arguments = (cost.num_weights(model), 2, 4, 8, rows, context)
        assert cost.decode_step(model, rows, context).flops == STEP_FLOPS.right(*arguments)
        said = (
            "[other_operations_than_the_cost_model] your number is wrong: minibatch's own "
            "cost.decode_step gives another number; this model has 2 layers."
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
        if is_usable and is_clear(model, PROMPT, tokens) and is_told_apart(model, PROMPT):
            return model


def is_clear(model, prompt, answer):
    """Whether each token of its answer is by far the likeliest: half precision says the same."""
    import torch

    with torch.inference_mode():
        logits = model.hf(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
    first, second = logits.topk(2).values.unbind(-1)
    return bool((first - second > 0.005 * first.abs()).all())


def is_told_apart(model, prompt):
    """Whether the second best token is neither the prompt's last token nor the best token
    after the prompt's first token. A loop may take any of these, and is told which."""
    import torch

    with torch.inference_mode():
        logits = model.hf(torch.tensor([prompt])).logits[0]
    return int(logits[-1].topk(2).indices[1]) not in (prompt[-1], int(logits[0].argmax()))


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
            "runs. Does it ever end? An answer ends when it has max_tokens tokens, even if the "
            "model has not generated the end token."
        ) from None
    asked = f"A prompt of {len(prompt)} tokens, max_tokens={max_tokens}, end token {end_token_id}"
    held = stand_in.passes[0].num_cached if stand_in.passes else None
    if held:
        raise Wrong(
            f"[begins_with_an_old_cache] {asked}: pass 1 gets a cache that already holds {held} "
            "tokens of an earlier call with this model. Each call of greedy_decode must begin "
            "without a cache (None)."
        )
    if got != expected:
        said = (
            not_a_list(got)
            or another_end(expected, got, prompt, max_tokens, end_token_id)
            or left_over(student, stand_in, prompt, max_tokens)
            or another_pass(stand_in.passes, got, prompt)
            or "[other_answer] your answer differs from the answer of `generate` in transformers."
        )
        raise Wrong(f"{asked}: {said}", expected=expected, got=got)
    for number, one in enumerate(stand_in.passes, 1):
        if said := out_of_place(one, number):
            raise Wrong(f"[right_by_luck] {asked}: the tokens are right only by chance; {said}")
    return got, stand_in.passes


def refused(sentence, passes):
    """What a pass that the model would not compute says of the loop."""
    sentence = sentence.removeprefix("RuntimeError: ValueError: ")
    if "[token_out_of_range]" in sentence and passes:
        return (
            f"[argmax_over_all_places] {sentence}. The input of pass {len(passes) + 1} is not a "
            "token id of the vocabulary. `argmax` of all of out.logits counts through all places: "
            "take only the last place, out.logits[0, -1]."
        )
    if "[input_on_another_device]" in sentence:
        return (
            f"{sentence}. Create each tensor on the model's device: torch.tensor(…, "
            "device=model.device). (This test only simulates such a device.)"
        )
    if "[cache_of_another_model]" in sentence:
        return (
            f"[keeps_a_cache_between_calls] {sentence}. Does your function keep a cache from an "
            "earlier call? Begin each call of greedy_decode without a cache (None)."
        )
    if "out of bounds for dimension 1" in sentence:
        return (
            f"[logits_of_a_place_that_is_not] {sentence}. You ask for a place that `logits` does "
            "not have: after the prompt, each pass gets one token, and `logits` has one place for "
            "this token. Take the last place, logits[0, -1], however many tokens a pass gets."
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
            "[other_answer_when_asked_again] called again with the same arguments, your function "
            "gives another answer. Either your function samples; greedy decoding takes the token "
            "with the highest score, argmax. Or your function keeps something between calls, such "
            "as a list that is created outside the function or is a default in its `def`."
        )
    if passes[0] >= len(stand_in.passes):
        return ""
    return (
        "[goes_on_where_it_ended] called a second time, your function continues where the first "
        f"call ended, after {passes[0]} passes. Your function keeps something between calls, such "
        "as a list or a cache that is created outside the function or is a default in its `def`."
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
            "[answer_holds_tensors] your answer holds tensors; return a list of plain numbers. "
            "Use .item() to get the number of a tensor."
        )
    if not isinstance(got, list):
        return f"[answer_is_no_list] your answer is {a_kind(got)}; return a list."
    if any(type(token) is not int for token in got):
        return (
            "[answer_holds_no_whole_numbers] your answer holds things that are not whole numbers; "
            "return a list of the token ids, in order."
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
            "[answer_begins_with_the_prompt] your answer begins with the prompt; return only the "
            "tokens that come after the prompt."
        )
    if got and got[0] == prompt[-1] and got[1:] == expected[: len(got) - 1]:
        return (
            f"[answer_begins_with_the_last_of_the_prompt] your answer begins with {prompt[-1]}, "
            "the prompt's last token; return only the tokens after this token."
        )
    if len(got) >= 1 and len(expected) > 1 and got[: len(expected) - 1] == expected[1:]:
        return (
            f"[first_token_is_missing] the first token, {expected[0]}, is missing in your "
            "answer: the pass over the prompt generates this token, and it belongs to the answer."
        )
    if got[: len(expected)] == expected:
        if expected[-1] == end == 0:
            return (
                f"[goes_on_after_end_token_zero] {ZERO} Here 0 is the end token, so the answer "
                "must end there; your answer continues."
            )
        if expected[-1] == end:
            first = "the first token is" if len(expected) == 1 else "the model then generates"
            what = (
                f"{first} the end token, {end}: the answer must end there, and your answer "
                "continues."
            )
            if end > 256:
                return (
                    f"[compares_by_identity] {what} (`is` tests for the same object, and Python "
                    "reuses objects only for numbers up to 256: compare with ==.)"
                )
            return f"[goes_on_after_the_end_token] {what} Compare each new token with end_token_id."
        return (
            f"[more_than_max_tokens] your answer has {len(got)} tokens, more than max_tokens; "
            "the token from the pass over the prompt counts, too."
        )
    return ""


ZERO = "0 is a valid token id, but your code treats 0 as no token, as `if token` does."


def ends_too_early(expected, got, prompt, max_tokens, end):
    if expected[len(got)] == 0:
        return (
            f"[ends_at_token_zero] {ZERO} The model generates 0 after {len(got)} tokens, and your "
            "answer ends there."
        )
    if expected[-1] == end and len(got) == len(expected) - 1:
        return (
            f"[end_token_is_missing] the end token, {end}, is missing in your answer: the end "
            "token is the last token of the answer."
        )
    if end in prompt:
        return (
            "[end_token_of_the_prompt_ends_it] "
            f"the prompt contains the end token {end}, so your answer ended at once. Only a "
            "generated end token ends an answer: check the newest token, not all tokens."
        )
    if len(got) == max_tokens - len(prompt):
        return (
            f"[max_tokens_counts_the_prompt] your answer ends after {len(got)} tokens, when prompt "
            f"and answer together have {len(prompt) + len(got)} tokens: max_tokens counts only the "
            "answer's tokens."
        )
    if len(got) == max_tokens - 1:
        return (
            f"[one_token_too_few] your answer has {len(got)} tokens, one token too few: max_tokens "
            "tokens are allowed."
        )
    if len(got) == 1:
        return (
            "[ends_after_the_first_token] your answer ends after the first token: is `return` "
            "inside the loop?"
        )
    if expected[len(got)] in got or got[-1:] and got[-1] in got[:-1]:
        return (
            f"[ends_where_a_token_repeats] your answer ends after {len(got)} tokens, where the "
            "model repeats a token: only the end token and max_tokens end an answer."
        )
    return (
        f"[ends_too_early] your answer ends after {len(got)} tokens. They are fewer than "
        "max_tokens, and none is the end token."
    )


def another_pass(passes, got, prompt):
    """What to say of the first pass in which something goes in, or is read off, that should not."""
    whole = len(passes) > 0 and passes[0].token_ids == prompt
    piecemeal = [one.token_ids for one in passes[: len(prompt)]] == [[token] for token in prompt]
    if not whole and not piecemeal:
        into = passes[0].token_ids if passes else []
        if into and len(into) < len(prompt) and into in (prompt[-len(into) :], prompt[: len(into)]):
            return (
                f"[prompt_goes_in_cut] you give the model {len(into):,} of the prompt's "
                f"{len(prompt):,} tokens, and never the other tokens. Give the model the whole "
                "prompt, however long the prompt is."
            )
        into = into or "nothing"
        return (
            f"[other_tokens_in_the_first_pass] you give {into} to the first pass, and the prompt "
            f"is {prompt}: give the first pass the whole prompt."
        )
    if fed_again(passes, prompt):
        return (
            f"[last_of_the_prompt_goes_in_again] you give the prompt's last token, {prompt[-1]}, "
            "to pass 2 a second time. The pass over the prompt already generates the first token "
            f"of the answer, {passes[0].last}."
        )
    skipped = 0 if whole else len(prompt) - 1
    for i, (one, token) in enumerate(zip(passes[skipped:], got, strict=False)):
        text, number = prompt + got[:i], skipped + i + 1
        alone = one.num_cached is None and one.token_ids != text
        if alone and number > 1 and not passes[number - 2].kept:
            return (
                "[pass_keeps_no_cache] "
                f"pass {number - 1} returned no cache for pass {number}: set use_cache=True, in "
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
            f"[pass_without_a_cache] you give {new} without a cache to pass {number}, so the model "
            "does not see the earlier tokens. Give this pass the cache of the previous pass, "
            "out.past_key_values."
        )
    if follows and one.num_cached is not None and new == text:
        return (
            f"[whole_text_with_the_cache] you give pass {number} the whole text again, together "
            "with the cache that already holds this text. After the prompt, give each pass only "
            "the newest token."
        )
    if follows and one.num_cached is not None and new != [newest]:
        return (
            f"[other_token_goes_in] you give {new} to pass {number}: give this pass only the "
            f"newest token, which is {newest}."
        )
    past = one.num_cached or 0
    if past + len(new) != len(text):
        return (
            f"[other_tokens_in_the_cache] before pass {number}, the cache holds {past} tokens; it "
            f"must hold {len(text) - len(new)}: give the model every token once."
        )
    return out_of_place(one, number)


def out_of_place(one, number):
    places = list(range(one.num_cached or 0, (one.num_cached or 0) + len(one.token_ids)))
    if one.positions is not None and one.positions != places:
        return (
            "[other_positions] "
            f"pass {number} got {one.token_ids} at position {one.positions}; each token has its "
            f"own position in the text, here {places}."
        )
    if one.mask is not None and not all(one.mask):
        return (
            f"[mask_hides_tokens] your attention_mask of pass {number} hides tokens; all of "
            "these tokens are real."
        )
    return ""


def wrongly_read(one, token, number):
    right = f"The next token is the one with the highest logit at the last place, {one.last}"
    if token == one.second and one.gap < 1e-3:
        return (
            f"[logits_are_rounded] {right}, and your answer is {token} (pass {number}), whose "
            f"logit is lower by {one.gap:.1g}. Two logits this close are equal in float16: take "
            "argmax of the logits without conversion."
        )
    if token == one.first:
        return (
            f"[logits_of_the_first_place] your answer has {token}, which pass {number} predicts "
            f"after the first place. {right}: logits[0, -1]."
        )
    if token == one.lowest:
        return (
            f"[lowest_logit] your answer has {token}, which has the lowest logit of pass {number}. "
            f"{right}: argmax."
        )
    if token in (int(one.highest), round(one.highest)):
        return (
            f"[logit_in_place_of_a_token] your answer has {token}, the value of the highest logit "
            f"of pass {number}. {right}: `argmax` returns the place of the highest logit, and "
            "`max` returns the value."
        )
    return f"[other_token_than_the_highest] {right}, but the answer has {token} (pass {number})."


@pytest.mark.task("1.4", points=1)
def test_the_pass_over_the_prompt_gives_the_first_token(student, rng):
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
def test_the_model_gets_no_token_twice_or_without_need(student, rng):
    _, passes = decode(student, random_model(rng), PROMPT, 12)
    num_fed, most = sum(len(one.token_ids) for one in passes), len(PROMPT) + 12 - 1
    whole_again = all(one.num_cached is None for one in passes)
    if num_fed > most + 1 and whole_again:
        sentence = (
            f"[never_a_cache] the model got {num_fed} tokens for a prompt of 7 and an answer of "
            "12, many of them repeatedly, and never got a cache. The keys and values of earlier "
            "tokens are in out.past_key_values: give this cache to the next pass, together with "
            "only the new token."
        )
    elif num_fed > most + 1:
        sentence = (
            f"[tokens_go_in_again] the model got {num_fed} tokens for a prompt of 7 and an answer "
            "of 12, some of them twice. The keys and values of earlier tokens are in the cache: "
            "give each pass only the new token."
        )
    else:
        sentence = (
            f"[one_token_goes_in_too_many] the model got {num_fed} tokens for a prompt of 7 and "
            "an answer of 12, one token too many. The pass over the prompt generates the first "
            "token, and the last token needs no pass."
        )
    if num_fed > most:
        raise Wrong(sentence, expected=f"{most} tokens", got=f"{num_fed} tokens")


@pytest.mark.task("1.4", points=0.25)
def test_the_model_gets_the_whole_prompt_in_one_pass(student, rng):
    from tiny import make_tiny_model  # tests/support/tiny.py

    _, passes = decode(student, random_model(rng), PROMPT, 12)
    if len(passes) > 12:
        raise Wrong(
            f"[prompt_goes_in_piece_by_piece] An answer of 12 tokens took {len(passes)} passes. "
            "Give the model the whole prompt in one pass: then all its tokens share one read of "
            "the weights.",
            expected=[7] + [1] * 11,
            got=[len(one.token_ids) for one in passes],
        )
    _, passes = decode(student, make_tiny_model(max_position_embeddings=2048), LONG_PROMPT, 8)
    fed = [token for one in passes for token in one.token_ids]
    if fed[: len(LONG_PROMPT)] != LONG_PROMPT:
        raise Wrong(
            f"[long_prompt_goes_in_cut] you give the model {len(passes[0].token_ids):,} of the "
            f"prompt's {len(LONG_PROMPT):,} tokens, and the answer is right only by chance. Give "
            "the model the whole prompt, however long the prompt is.",
            expected=f"{len(LONG_PROMPT):,} tokens",
            got=f"{len(passes[0].token_ids):,} tokens",
        )


@pytest.mark.task("1.4", points=0.25)
def test_the_inputs_are_on_the_device_of_the_model(student):
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
                f"[passes_after_the_end_token] your loop takes {len(passes)} passes for an answer "
                f"of {len(got)} tokens: it continues after the end token, and these tokens are "
                "removed later. Stop at the end token.",
                expected=f"{len(got)} passes",
                got=f"{len(passes)} passes",
            )
        if num_fed > most:
            raise Wrong(
                f"[tokens_go_in_twice_or_in_vain] For an answer of {len(got)} tokens to a prompt "
                f"of {length} tokens, you give the model some tokens twice, or tokens that it "
                "does not need to read.",
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

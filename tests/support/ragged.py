"""Ragged batches of every kind, drawn by hypothesis or laid out by hand."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from minibatch.core.plan import Row, StepPlan
from minibatch.core.request import Request, Sequence


def sequence(token_ids: list[int], computed: int = 0, block_table: list[int] = ()) -> Sequence:
    return Sequence(
        request=Request(token_ids),
        request_id="a sequence",
        token_ids=list(token_ids),
        num_prompt_tokens=len(token_ids),
        stop_token_ids=frozenset(),
        seed=0,
        arrival_time=0.0,
        num_computed_tokens=computed,
        block_table=list(block_table),
    )


@st.composite
def ragged_batches(draw) -> tuple[StepPlan, int, int]:
    """(plan, block_size, num_blocks): rows of every kind, their blocks scattered over the pool."""
    block_size = draw(st.sampled_from([1, 2, 3, 7, 16, 40]))
    shapes = draw(
        st.lists(
            st.one_of(
                st.tuples(st.integers(0, 33), st.just(1), st.just(0)),  # decode
                st.tuples(st.just(0), st.integers(1, 9), st.just(0)),  # whole prompt
                st.tuples(st.integers(1, 20), st.integers(2, 9), st.just(0)),  # next chunk
                st.tuples(st.integers(0, 9), st.integers(1, 6), st.integers(0, 5)),  # padded
                st.tuples(st.integers(1, 9), st.just(0), st.integers(1, 5)),  # padding alone
            ),
            min_size=1,
            max_size=5,
        )
    )
    return plan_of(shapes, block_size, draw(st.integers(0, 2**32 - 1)))


def plan_of(shapes: list[tuple[int, int, int]], block_size: int, seed: int):
    """Rows of (computed, new, padding) tokens, with their blocks drawn from a shuffled pool."""
    needed = [math.ceil((computed + new) / block_size) for computed, new, _ in shapes]
    num_blocks = sum(needed) + 3
    free = np.random.default_rng(seed).permutation(num_blocks).tolist()
    rows = []
    for (computed, new, padding), blocks in zip(shapes, needed, strict=True):
        ids = list(range(100, 100 + computed + max(new, 1)))
        table, free = free[:blocks], free[blocks:]
        rows.append(Row(sequence(ids, computed, table), new, padding))
    plan = StepPlan(rows)
    plan.check(block_size)
    return plan, block_size, num_blocks

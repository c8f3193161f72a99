"""e^x for loops that the compiler makes wide: held to numpy's, in float64, over its whole range."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.attention.exponential import HIGHEST, LOWEST, exp


@numba.njit(error_model="numpy")
def exp_of_all(xs):
    result = np.empty_like(xs)
    for i in range(len(xs)):
        result[i] = exp(xs[i])
    return result


def exp_of(x: float) -> float:
    return float(exp_of_all(np.array([x], dtype=np.float32))[0])


def test_it_is_e_to_the_x_to_the_last_digits_of_float32():
    xs = np.linspace(LOWEST, HIGHEST, 1_000_001).astype(np.float32)
    expected = np.exp(xs.astype(np.float64))
    assert np.max(np.abs(exp_of_all(xs) / expected - 1)) < 2e-7


@given(st.floats(float(LOWEST), float(HIGHEST), width=32))
def test_it_is_right_wherever_hypothesis_looks(x):
    assert exp_of(x) == pytest.approx(math.exp(x), rel=2e-7, abs=0)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.0, 1.0),
        (-0.0, 1.0),
        (-87.5, 0.0),
        (-1e30, 0.0),
        (-math.inf, 0.0),
        (88.5, math.inf),
        (1e30, math.inf),
        (math.inf, math.inf),
    ],
)
def test_what_lies_beyond_is_nothing_or_infinite(x, expected):
    assert exp_of(x) == expected


def test_what_is_no_number_stays_none():
    assert math.isnan(exp_of(math.nan))


def test_the_compiler_takes_many_numbers_at_a_time():
    """Without a call or a branch in it: that is what it is for."""
    exp_of(1.0)
    (signature,) = exp_of_all.signatures
    assert " x float> " in exp_of_all.inspect_llvm(signature)

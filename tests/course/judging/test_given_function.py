"""A learner's code calls a function of the judge."""

import pytest

from minibatch.course.judging.given_function import GivenFunction
from minibatch.course.judging.worker_errors import Raised


def test_a_learner_s_code_calls_the_judge_s_function(worker):
    asked = []

    def given(rate, seed):
        asked.append((rate, seed))
        return [rate, None, (seed,)]

    student = worker("def work(f):\n    return [f(1.5, 2), f(rate=2.0, seed=range(2))]")
    assert student.call("work", GivenFunction(given)) == [[1.5, None, (2,)], [2.0, None, ([0, 1],)]]
    assert asked == [(1.5, 2), (2.0, [0, 1])]


def test_what_the_judge_s_function_raises_reaches_the_learner_s_code(worker):
    def given(rate):
        raise ValueError("a rate is above 0")

    student = worker("def work(f):\n    return f(-1)")
    with pytest.raises(Raised, match="a rate is above 0"):
        student.call("work", GivenFunction(given))


def test_wrong_arguments_are_the_learner_s_error(worker):
    student = worker("def work(f):\n    return f()")
    with pytest.raises(Raised, match="missing 1 required positional argument"):
        student.call("work", GivenFunction(lambda rate: rate))

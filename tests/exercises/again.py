"""Answers of functions that are called more than once, by a caller that keeps its lists."""

from minibatch.course.judging.verdict import Wrong


def as_list(answer):
    return list(answer) if isinstance(answer, tuple) else answer


def stays_right(student, name, cases, right, as_asked=as_list):
    """Called with the same lists, filled anew each time, the answers are right, and stay so when
    the caller changes another one. right: the answer to a case. as_asked: makes an answer alike."""
    cases = [*cases, cases[0]]  # the first comes once more
    answers = student.again(name, [list(case) for case in cases])
    for number, (case, (first, later)) in enumerate(zip(cases, answers, strict=True), 1):
        expected, shown = right(*case), f"{name}({', '.join(map(str, case))})"
        if as_asked(first) != expected:
            raise Wrong(
                f"[remembers_an_earlier_call] {shown} is call {number}, with the same list objects "
                "and new contents: you return the answer of an earlier call. Read the arguments in "
                "each call, and keep nothing between calls.",
                expected=expected,
                got=first,
            )
        if as_asked(later) != expected:
            raise Wrong(
                f"[answers_share_a_list] {shown}: your answer was right, and has changed since: "
                "your function returned the same list to another caller, and that caller changed "
                "the list. Make a new list for each answer.",
                expected=expected,
                got=later,
            )

"""What judging comes to: a verdict for each task, made of its tests' results."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field

PASSED, WRONG, NOT_ATTEMPTED = "passed", "wrong", "not attempted"
ERROR, TIMED_OUT, BLOCKED = "error", "timed out", "blocked"
SYMBOLS = {
    PASSED: "✓",
    WRONG: "✗",
    NOT_ATTEMPTED: "○",
    ERROR: "!",
    TIMED_OUT: "⧖",
    BLOCKED: "⊘",
}

NO_SANDBOX = "no sandbox"  # in place of a test's name: nothing was judged


CODE = re.compile(r"(?<![^\s(])\[([a-z0-9]+(?:_[a-z0-9]+)+)\] ")


def without_codes(said: str) -> tuple[str, list[str]]:
    """What a learner is told, and the codes that stood in it.

    A code is the lasting name of what is told, whatever its words: "[padding_counted] Padding is
    …". It stands in brackets before its words and goes where they go, into any longer sentence;
    a sentence that is made of several has several codes.
    """
    return CODE.sub("", said), list(dict.fromkeys(CODE.findall(said)))


class Wrong(AssertionError):
    """The answer is not right. `sentence` names the likely misconception, to the learner, with its
    code before it, see `without_codes`.

    expected, got: small things to set side by side. drawing: a `drawing.Drawing`, or a `BlockMap`.
    """

    def __init__(
        self,
        sentence: str,
        *,
        expected: object = None,
        got: object = None,
        drawing: object | None = None,
    ) -> None:
        super().__init__(sentence)
        self.sentence, self.drawing = sentence, drawing
        self.expected = None if expected is None else _short(expected)
        self.got = None if expected is None and got is None else _short(got)


@dataclass(slots=True)
class TestResult:
    """One test. statement: what it asks, in words; hidden: a teacher's own, not for students.

    blocked_by: the statement of an earlier test that failed for the same cause. This one never came
    to what it asks, so its outcome is BLOCKED; it earns nothing, as if it were wrong.
    codes: the lasting names of what the sentence tells.
    """

    __test__ = False  # for pytest: not a test itself

    name: str
    statement: str
    points: float
    outcome: str
    sentence: str = ""
    expected: str | None = None
    got: str | None = None
    drawing: dict | None = None
    frames: list[dict] = field(default_factory=list)
    hidden: bool = False
    blocked_by: str = ""
    codes: list[str] = field(default_factory=list)

    @property
    def cause(self) -> str:
        """What went wrong, the same for the same fault in other steps, requests and cases."""
        if self.outcome == TIMED_OUT:
            return TIMED_OUT  # the task's time was used up, whatever was asked next
        if self.outcome == WRONG and self.codes:
            return f"{self.outcome}: {', '.join(self.codes)}"
        sentence = re.sub(r" \(random case;.*\)$", "", self.sentence)
        sentence = re.sub(r"\b[A-P]\b(, [A-P]\b)*", "A", sentence)  # names of requests
        sentence = re.sub(r"[0-9]+(?:( \w+?)s?\b)?", r"0\1", sentence)  # "2 blocks", "1 block"
        return f"{self.outcome}: {sentence}"


@dataclass(slots=True)
class Verdict:
    """One task of one submission.

    printed: the start of what the learner's code printed. yours: what code that passed can do,
    measured with it, in a sentence.
    """

    task: str
    title: str
    stem: str
    results: list[TestResult]
    printed: str = ""
    yours: str = ""

    @property
    def outcome(self) -> str:
        """passed if every test passed; else the first one's that did not."""
        for result in self.results:
            if result.outcome != PASSED:
                return result.outcome
        return PASSED

    @property
    def passed(self) -> bool:
        return bool(self.results) and self.outcome == PASSED

    @property
    def points(self) -> float:
        return sum(result.points for result in self.results if result.outcome == PASSED)

    @property
    def max_points(self) -> float:
        return sum(result.points for result in self.results)

    @property
    def first_problem(self) -> TestResult | None:
        return next((r for r in self.results if r.outcome != PASSED), None)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Verdict:
        results = [TestResult(**result) for result in data["results"]]
        return cls(**{**data, "results": results})


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 300 else text[:297] + "..."

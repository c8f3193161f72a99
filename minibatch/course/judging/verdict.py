"""What judging comes to: a verdict for each task, made of its tests' results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

PASSED, WRONG, NOT_ATTEMPTED = "passed", "wrong", "not attempted"
ERROR, TIMED_OUT = "error", "timed out"
SYMBOLS = {PASSED: "✓", WRONG: "✗", NOT_ATTEMPTED: "○", ERROR: "!", TIMED_OUT: "⧖"}


UNSEALED = "unsealed"  # in place of a test's name: nothing was judged, since nothing held


class Wrong(AssertionError):
    """The answer is not right. `sentence` names the likely misconception, to the learner.

    expected, got: small things to set side by side. drawing: see `drawing.Drawing`.
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
    """One test. statement: what it asks, in words; hidden: a teacher's own, not for students."""

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


@dataclass(slots=True)
class Verdict:
    """One task of one submission. `printed`: the start of what the learner's code printed."""

    task: str
    title: str
    stem: str
    results: list[TestResult]
    printed: str = ""

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

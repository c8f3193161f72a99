"""Requests with the answers that a model gave them, and a model that repeats these answers.

Greedy answers are the same under every policy, so a recorded one is what the model would generate.
`to_json` and `from_json` carry a recording to a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from minibatch.core.plan import StepPlan
from minibatch.core.request import Request
from minibatch.simulator.pretend import TOKEN, PretendModel


@dataclass(frozen=True)
class Recorded:
    """One request. prompt: its number of tokens. answer: the pieces of its text, one for each
    token. max_tokens: what was asked for. arrival: seconds."""

    name: str
    prompt: int
    answer: tuple[str, ...]
    max_tokens: int
    arrival: float = 0.0

    @property
    def ends_itself(self) -> bool:
        """Whether the answer ended before its limit, by an end token."""
        return len(self.answer) < self.max_tokens


@dataclass(frozen=True)
class Recording:
    """Requests in order of arrival. title: what they are, in a line. step_time: seconds of every
    step."""

    title: str
    requests: tuple[Recorded, ...]
    step_time: float = 0.025
    highlight: tuple[str, ...] = ()

    def to_json(self) -> dict:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, made: dict) -> Recording:
        """What `to_json` made, from JSON again."""
        requests = [Recorded(**{**r, "answer": tuple(r["answer"])}) for r in made["requests"]]
        return cls(**{**made, "requests": tuple(requests), "highlight": tuple(made["highlight"])})

    def as_requests(self) -> list[Request]:
        """For an engine on `model()`. Prompts are tokens without a meaning."""
        return [
            Request(
                [TOKEN] * recorded.prompt,
                max_tokens=recorded.max_tokens,
                request_id=recorded.name,
                arrival_time=recorded.arrival,
            )
            for recorded in self.requests
        ]

    def model(self) -> RecordedModel:
        """A model that gives these answers."""
        return RecordedModel(self.requests)


class RecordedModel(PretendModel):
    """Computes nothing: a request's next token is the next one of its recorded answer. A request
    without a recording gets tokens without text."""

    def __init__(self, requests: Iterable[Recorded]) -> None:
        pieces = ["", "", *(piece for r in requests for piece in r.answer)]
        self.tokenizer = Pieces(dict.fromkeys(pieces))
        self.end = len(self.tokenizer.pieces)  # an id of its own, without text
        self.vocab_size = self.end + 1
        self.eos_token_ids = frozenset((self.end,))
        self.answers = {
            r.name: [*map(self.tokenizer.ids.get, r.answer[: len(r.answer) - r.ends_itself])]
            + [self.end] * r.ends_itself
            for r in requests
        }

    def runner(self, pool: object, attention: object) -> RecordedRunner:
        return RecordedRunner(self.answers)


@dataclass
class Pieces:
    """The tokenizer of recorded answers: each different piece of text is a token."""

    ids: dict[str, int]
    pieces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = list(self.ids)
        self.ids = {piece: number for number, piece in enumerate(self.pieces)}

    def decode(self, ids: list[int], **_: object) -> str:
        return "".join(self.pieces[token_id] for token_id in ids if token_id < len(self.pieces))


@dataclass
class RecordedRunner:
    """Runs every plan at once, without computing."""

    answers: dict[str, list[int]]

    def run(self, plan: StepPlan) -> list[list[int]]:
        return [self._next(row) if row.reaches_end else [] for row in plan.rows]

    def _next(self, row: object) -> list[int]:
        answer, place = (
            self.answers.get(row.sequence.request_id, ()),
            row.sequence.num_output_tokens,
        )
        return [answer[place] if place < len(answer) else TOKEN]

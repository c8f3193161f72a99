"""Whether all contenders gave the same answers, and the difference in logits where not."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..core.request import Request
from ..model.load import Model

REFERENCE = "generate"  # the contender with the expected answers: those of its first run
TIE = 1e-4  # the order of summation may swap two logits that are nearer than this


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer that differs from the reference's from `position` on; 0 is the first output token.

    gap: the logit of the reference's token there, minus the logit of the other one.
    """

    request_id: str
    position: int
    gap: float

    @property
    def is_tie(self) -> bool:
        return abs(self.gap) < TIE


class Agreement:
    """Compares the contenders' answers to the same requests. Answers are lists of token ids."""

    def __init__(self, model: Model, requests: list[Request]) -> None:
        self.model = model
        self.requests = requests
        self.expected: list[list[int]] | None = None
        self._gaps: dict[tuple[int, int, int], float] = {}  # rounds repeat the same differences

    def compare(self, contender: str, answers: list[list[int]]) -> list[Difference] | None:
        """One difference for each answer that is not the reference's; None without a reference."""
        if self.expected is None:
            if contender != REFERENCE:
                return None
            self.expected = answers
        differences = []
        for i, (answer, expected) in enumerate(zip(answers, self.expected, strict=True)):
            if answer != expected:
                pairs = zip(answer, expected, strict=True)
                position = next(k for k, (got, wanted) in enumerate(pairs) if got != wanted)
                gap = self._gap(i, position, answer[position])
                differences.append(Difference(self.requests[i].request_id, position, gap))
        return differences

    @torch.inference_mode()
    def _gap(self, i: int, position: int, token: int) -> float:
        """Logit of the reference's token minus that of `token`, after the reference's own
        answer."""
        key = (i, position, token)
        if key not in self._gaps:
            expected = self.expected[i]
            ids = torch.tensor([self.requests[i].prompt + expected[:position]])
            logits = self.model.hf(ids.to(self.model.device), use_cache=False).logits[0, -1].float()
            self._gaps[key] = (logits[expected[position]] - logits[token]).item()
        return self._gaps[key]

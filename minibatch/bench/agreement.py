"""Whether everyone said the same, and how near the call was where they did not."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..core.request import Request
from ..model.load import Model

REFERENCE = "generate"  # the contender whose first answers the others' are compared with
TIE = 1e-4  # two logits nearer than this may swap places with the order of summation


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer that leaves the reference's at `position`, 0 being its first output token.

    gap: how far the reference's token there is ahead of the other one, in logits.
    """

    request_id: str
    position: int
    gap: float

    @property
    def is_tie(self) -> bool:
        return abs(self.gap) < TIE


class Agreement:
    """Compares everyone's answers to the same requests. Answers are lists of output token ids."""

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
        """Logit of the reference's token less that of `token`, after the reference's own words."""
        key = (i, position, token)
        if key not in self._gaps:
            expected = self.expected[i]
            ids = torch.tensor([self.requests[i].prompt + expected[:position]])
            logits = self.model.hf(ids.to(self.model.device), use_cache=False).logits[0, -1].float()
            self._gaps[key] = (logits[expected[position]] - logits[token]).item()
        return self._gaps[key]

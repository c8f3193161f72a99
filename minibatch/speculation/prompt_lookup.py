"""Draft tokens that cost nothing: what followed the same tokens before, in prompt or answer.

An answer that quotes its prompt (a summary, an edited file) repeats long parts of it. For any other
answer few draft tokens are accepted. (Saxena, "Prompt Lookup Decoding", 2023; "ngram" in vLLM and
SGLang)
"""

from ..core.checks import integer
from .proposer import Proposer


class PromptLookup(Proposer):
    """Looks for an earlier place with the same last tokens, and proposes what followed there.

    num_guesses: most draft tokens in a step. longest: most tokens compared; of the places where
    most of them agree, the latest is taken. shortest: fewest that must agree.
    """

    def __init__(self, num_guesses: int = 4, *, longest: int = 3, shortest: int = 1) -> None:
        super().__init__(num_guesses)
        self.shortest = integer("shortest", shortest, at_least=1)
        self.longest = integer("longest", longest, at_least=self.shortest)

    def guess(self, token_ids: list[int], most: int) -> list[int]:
        newest, best, after = token_ids[-1], self.shortest - 1, len(token_ids)
        for i in range(len(token_ids) - 2, -1, -1):
            if token_ids[i] == newest and (same := self._num_equal(token_ids, i)) > best:
                best, after = same, i + 1
                if best == self.longest:
                    break
        return token_ids[after : after + most]

    def _num_equal(self, token_ids: list[int], i: int) -> int:
        """How many tokens up to place i equal those at the end; that at i equals the newest."""
        n = 1
        while n < min(self.longest, i + 1) and token_ids[i - n] == token_ids[-1 - n]:
            n += 1
        return n

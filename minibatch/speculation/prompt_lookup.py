"""Guesses that cost nothing: what followed the same words before, in the prompt or the answer.

An answer that quotes its prompt (a summary, an edited file) repeats long stretches of it; one that
does not is hardly ever guessed. (Saxena, "Prompt Lookup Decoding", 2023; "ngram" in vLLM, SGLang)
"""

from ..core.checks import integer
from .proposer import Proposer


class PromptLookup(Proposer):
    """Looks for the last tokens, as many as match, and guesses what came after them then.

    num_guesses: most guesses in a step. longest: tokens that are compared at most; of the places
    where most of them agree it takes the latest. shortest: fewer than these are no reason to guess.
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
        """How many tokens up to place i, which is the newest one's equal, are those at the end."""
        n = 1
        while n < min(self.longest, i + 1) and token_ids[i - n] == token_ids[-1 - n]:
            n += 1
        return n

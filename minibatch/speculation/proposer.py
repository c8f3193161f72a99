"""Proposers: for each sequence, some tokens that may come next."""

from __future__ import annotations

import copy
from collections.abc import Callable

from ..core.checks import integer, token_ids
from ..core.request import Sequence

GuessFunction = Callable[[list[int], int], list[int]]


class Proposer:
    """Proposes draft tokens for the sequences of one engine. Your own proposer writes `guess`, or
    `guess_all` if it works better on all sequences at once.

    num_guesses: most draft tokens for a sequence in one step, at least 1.
    """

    def __init__(self, num_guesses: int = 4) -> None:
        self.num_guesses = integer("num_guesses", num_guesses, at_least=1)

    def guess(self, token_ids: list[int], most: int) -> list[int]:
        """At most `most` token ids that may follow these (the prompt and the answer so far). Fewer,
        or none, cost less than rejected ones."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} has neither `guess` nor `guess_all`; write one of them")

    def guess_all(self, sequences: list[Sequence], most: list[int]) -> list[list[int]]:
        """The same for several sequences: a list of token ids for each."""
        return [
            self.guess(list(sequence.token_ids), limit)
            for sequence, limit in zip(sequences, most, strict=True)
        ]

    def bind(self, vocab_size: int, max_batch_size: int, max_model_len: int) -> None:
        """Called once, by the engine, with its model's vocabulary and context and its policy's
        rows."""

    def unused(self) -> Proposer:
        """A proposer with the same settings, for another engine."""
        return copy.copy(self)

    def leave(self, sequence: Sequence) -> None:
        """This sequence has ended; forget it."""

    def reset(self) -> None:
        """Forget all sequences. Called by `Engine.reset`, and after an exception in a step."""


class Function(Proposer):
    """Your own function: `guess(token_ids, most)`."""

    def __init__(self, function: GuessFunction, num_guesses: int = 4) -> None:
        super().__init__(num_guesses)
        self.function = function

    def guess(self, token_ids: list[int], most: int) -> list[int]:
        return self.function(token_ids, most)


Guesser = Proposer | GuessFunction


def as_proposer(thing: Guesser | None) -> Proposer | None:
    """What `Engine(speculation=…)` was given, as a proposer. Raises TypeError for anything else."""
    if thing is None or hasattr(thing, "guess_all"):
        if isinstance(thing, type):
            raise TypeError(
                f"{thing.__name__} is a class; make a proposer of it: {thing.__name__}(…)"
            )
        return thing
    if callable(thing):
        return Function(thing)
    if hasattr(thing, "hf"):
        raise TypeError("a model alone proposes no draft tokens; give mb.DraftModel(model)")
    raise TypeError(
        f"speculation is a {type(thing).__name__}; give mb.PromptLookup(), mb.DraftModel(model), "
        "or a function: guess(token_ids, most) -> token ids"
    )


def unused(proposer: Proposer | None) -> Proposer | None:
    """A proposer with the same settings, for another engine."""
    if hasattr(proposer, "unused"):
        return proposer.unused()
    return copy.copy(proposer)


def checked(draft: list[int], most: int, vocab_size: int, proposer: Proposer) -> list[int]:
    """At most `most` draft tokens as plain ints. Raises TypeError or ValueError for what is not a
    token id."""
    name = f"the draft of {type(proposer).__name__}"
    if draft is None:
        raise TypeError(f"{name} is None; give a list of token ids, [] for no draft")
    ids = token_ids(name, draft)[:most]
    outside = [i for i in ids if i >= vocab_size]
    if outside:
        raise ValueError(
            f"{name} contains token id {outside[0]}, which is outside the vocabulary, 0 to "
            f"{vocab_size - 1:,}"
        )
    return ids

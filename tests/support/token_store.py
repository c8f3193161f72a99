"""A stand-in model that notices every mistake in where K and V lie.

In place of K and V, the slot of a position holds a mark: a number that follows from the token there
and from every token before it, as K and V do. Before the runner answers, it looks at each position
that a row attends to, from the first to the last, and finds the mark that belongs there, or raises
AssertionError. So a wrong block, a block that somebody else has written, or a counter that is too
far is found in the step that reads it, whatever the answer would have been.

Its next token follows from all the tokens so far: mostly the successor of the newest one, so that
guesses have something to hit; sometimes another; and now and then the end. `expected` follows the
same rule without an engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import minibatch as mb

END = 0
VOCAB_SIZE = 5
MAX_MODEL_LEN = 64
MODULUS = 2**61 - 1


class Mark(NamedTuple):
    """What a slot holds in place of K and V. salt, prefix: what must be right; token_id, position,
    request_id: for the message when it is not."""

    salt: str | None
    prefix: int
    token_id: int
    position: int
    request_id: str

    def __str__(self) -> str:
        return f"token {self.token_id} of request {self.request_id!r} at position {self.position}"


def prefix_numbers(token_ids: Iterable[int]) -> list[int]:
    """A number for each token, which follows from it and all before it."""
    number, numbers = 1, []
    for token_id in token_ids:
        number = (number * 1_000_003 + token_id + 1) % MODULUS
        numbers.append(number)
    return numbers


def scrambled(number: int) -> int:
    """The same number always gives the same 32 bits, and its neighbour gives quite others."""
    number = number * 0x9E3779B97F4A7C15 & (2**64 - 1)
    return (number ^ number >> 29) * 0xBF58476D1CE4E5B9 >> 24 & (2**32 - 1)


def next_token(number: int, newest: int) -> int:
    """What comes after tokens whose prefix number is `number`."""
    bits = scrambled(number)
    if bits % 16 == 0:
        return END
    if bits % 4:
        return 1 + newest % (VOCAB_SIZE - 1)
    return 1 + (bits >> 8) % (VOCAB_SIZE - 1)


def following(token_ids: list[int]) -> int:
    return next_token(prefix_numbers(token_ids)[-1], token_ids[-1])


def expected(request: mb.Request) -> list[int]:
    """The right answer to a request, or to a fork of it."""
    token_ids, answer = list(request.prompt), []
    stops = {*request.stop_token_ids, *(() if request.ignore_eos else (END,))}
    while len(answer) < request.max_tokens and not (answer and answer[-1] in stops):
        answer.append(following(token_ids + answer))
    return answer


def mostly_right(token_ids: list[int], most: int) -> list[int]:
    """A guesser that is right three times in four."""
    guesses = []
    for _ in range(most):
        so_far = token_ids + guesses
        is_wrong = scrambled(prefix_numbers(so_far)[-1] + 1) % 4 == 0
        guesses.append((following(so_far) + is_wrong) % VOCAB_SIZE)
    return guesses


class TokenStoreModel(mb.PretendModel):
    """Stands in for `Model`; all that it computes is in its runner."""

    vocab_size = VOCAB_SIZE
    max_model_len = MAX_MODEL_LEN
    eos_token_ids = frozenset({END})

    def runner(self, pool: mb.BlockPool, attention: object) -> TokenStore:
        return TokenStore(pool.num_blocks, pool.block_size)


class TokenStore:
    """The runner. blocks: [num_blocks][block_size] marks, None where nothing was ever written.

    What padding computes goes to a scratch block of a real runner, so nothing is kept of it here.
    before_row: called before each row is written; a test may raise there.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.blocks: list[list[Mark | None]] = [[None] * block_size for _ in range(num_blocks)]

    def before_row(self, index: int) -> None:
        """Row number `index` of the plan is about to be written."""

    def run(self, plan: mb.StepPlan) -> list[list[int]]:
        """Write all rows, as every layer of a model does; then read, check and answer them."""
        marks = [marks_of(row) for row in plan.rows]
        for i, (row, own) in enumerate(zip(plan.rows, marks, strict=True)):
            self.before_row(i)
            self.write(row, own)
        for row, own in zip(plan.rows, marks, strict=True):
            self.check(row, own)
        return [answer(row, own) for row, own in zip(plan.rows, marks, strict=True)]

    def write(self, row, own: list[Mark]) -> None:
        """Store the marks of the tokens that a row computes, and of its guesses."""
        for mark in own[row.start :]:
            block_id, slot = self.place(row.sequence, mark.position)
            self.blocks[block_id][slot] = mark

    def check(self, row, own: list[Mark]) -> None:
        """Every position that the row attends to holds the sequence's own mark."""
        for mark in own:
            block_id, slot = self.place(row.sequence, mark.position)
            found = self.blocks[block_id][slot]
            is_right = found is not None and found[:2] == mark[:2]
            assert is_right, (
                f"request {mark.request_id!r}: position {mark.position}, in block {block_id}, "
                f"shall hold its token {mark.token_id}; it holds {found or 'nothing'}"
            )

    def place(self, sequence, position: int) -> tuple[int, int]:
        """Block and slot of a position."""
        index, slot = divmod(position, self.block_size)
        table, name = sequence.block_table, sequence.request_id
        assert index < len(table), (
            f"request {name!r}: position {position} lies past its {len(table)} blocks"
        )
        assert 0 <= table[index] < len(self.blocks), (
            f"request {name!r}: position {position} lies in block {table[index]}, which is none"
        )
        return table[index], slot


def marks_of(row) -> list[Mark]:
    """The marks of all positions that a row attends to, those that it writes at the end."""
    sequence = row.sequence
    token_ids = [*sequence.token_ids[: row.start + row.num_tokens], *row.draft]
    salt, name = sequence.request.cache_salt, sequence.request_id
    return [
        Mark(salt, number, token_id, position, name)
        for position, (number, token_id) in enumerate(
            zip(prefix_numbers(token_ids), token_ids, strict=True)
        )
    ]


def answer(row, own: list[Mark]) -> list[int]:
    """What the model says to a row."""
    if not row.reaches_end:
        return []
    ends = own[len(own) - len(row.draft) - 1 :]
    return row.verified([next_token(mark.prefix, mark.token_id) for mark in ends])

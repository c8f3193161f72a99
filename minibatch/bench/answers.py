"""An answer as a client sees it: pieces of text, their arrival times, and which tokens they hold.

A piece is one event of a stream, not one token. It can hold several tokens (a draft was accepted;
the server joins tokens under load), or a token without text (half of a UTF-8 character, the end
token). So the tokens are counted by what the server reports, the most exact report first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Counted = Literal["token ids", "running usage", "final usage", "pieces", ""]


class RequestFailed(Exception):
    """A server refused a request, or ended its answer with an error."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One event of a streamed answer.

    text: the new text. token_ids: the new token ids; None: not given. num_tokens: tokens of the
    answer up to here, by the server's usage report; None: not given. num_prompt_tokens: the same
    for the prompt. finish_reason: the server's word, in the piece that ends the answer.
    may_hold_token: False for one that only announces the answer, as the first chunk of a chat does,
    and for a report.
    """

    text: str = ""
    token_ids: tuple[int, ...] | None = None
    num_tokens: int | None = None
    num_prompt_tokens: int | None = None
    finish_reason: str | None = None
    may_hold_token: bool = True


@dataclass
class Answer:
    """The pieces so far, and when each came: seconds on the client's clock."""

    pieces: list[Piece] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def add(self, time: float, piece: Piece) -> None:
        """One more piece, which came at this time."""
        self.times.append(time)
        self.pieces.append(piece)

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join([piece.text for piece in self.pieces])

    @property
    def finish_reason(self) -> str | None:
        """The server's word for the end; None if the stream ended without one."""
        return next((p.finish_reason for p in reversed(self.pieces) if p.finish_reason), None)

    @property
    def num_prompt_tokens(self) -> int | None:
        """By the server's report; None if it gave none."""
        return _last([piece.num_prompt_tokens for piece in self.pieces])

    @property
    def token_ids(self) -> list[int] | None:
        """All token ids, if every piece with text has its own."""
        if self.counted != "token ids":
            return None
        return [token_id for piece in self.pieces for token_id in piece.token_ids or ()]

    @property
    def counted(self) -> Counted:
        """How the tokens are counted: by the ids in each piece; by the usage in each piece; by the
        usage at the end, spread over the pieces; or, without any report, one for each piece."""
        with_text = [piece for piece in self.pieces if piece.text]
        some = with_text or self.pieces
        if any(p.token_ids for p in self.pieces) and all(p.token_ids is not None for p in some):
            return "token ids"
        if _last([piece.num_tokens for piece in self.pieces]) is None:
            return "pieces" if with_text else ""
        if all(piece.num_tokens is not None for piece in some):
            return "running usage"
        return "final usage"

    def num_tokens(self) -> list[int]:
        """Tokens in each piece: int [pieces]."""
        counted = self.counted
        if counted == "token ids":
            return [len(piece.token_ids or ()) for piece in self.pieces]
        if counted == "running usage":
            return _increments([piece.num_tokens for piece in self.pieces])
        if counted == "final usage":
            return self._spread(_last([piece.num_tokens for piece in self.pieces]) or 0)
        return [int(bool(piece.text)) for piece in self.pieces]

    def token_times(self) -> list[float]:
        """When each token came, in seconds; those of one piece came together."""
        counts = zip(self.times, self.num_tokens(), strict=True)
        return [time for time, n in counts for _ in range(n)]

    def _spread(self, total: int) -> list[int]:
        """`total` tokens over the pieces: one for each text; then one for the end token, and for
        other pieces without text; the rest by the length of the text."""
        counts = [int(bool(piece.text)) for piece in self.pieces]
        if total < sum(counts):
            return _shares(total, [len(piece.text) for piece in self.pieces])
        silent = [i for i, p in enumerate(self.pieces) if p.may_hold_token and not p.text]
        ends = [i for i in silent if (self.pieces[i].finish_reason or "length") != "length"]
        others = [i for i in silent if not self.pieces[i].finish_reason]
        for i in (ends + others)[: total - sum(counts)]:
            counts[i] = 1
        lengths = [len(piece.text) for piece in self.pieces]
        if not any(lengths):  # no text at all: what is left came with the end
            lengths = [int(piece.finish_reason is not None) for piece in self.pieces]
        rest = _shares(total - sum(counts), lengths)
        return [n + more for n, more in zip(counts, rest, strict=True)]


def _increments(running: Sequence[int | None]) -> list[int]:
    """The growth from each number to the next; one that is missing has not grown."""
    before, grown = 0, []
    for number in running:
        grown.append(max(0, (number or 0) - before))
        before += grown[-1]
    return grown


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers that add up to `total`, in proportion to the weights: what is due up to each
    piece, rounded, less what came before. Without weights there is nothing to give."""
    all_weights, seen, given, shares = sum(weights), 0, 0, []
    for weight in weights:
        seen += weight
        due = (2 * total * seen + all_weights) // (2 * all_weights) if all_weights else 0
        shares.append(due - given)
        given = due
    return shares


def _last(numbers: Sequence[int | None]) -> int | None:
    return next((number for number in reversed(numbers) if number is not None), None)

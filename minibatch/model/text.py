"""Token ids to text, piece by piece, without ever showing half a character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..core.request import Sequence, TokenEvent

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase


class TextStream:
    """The text of one growing answer. A byte-level token may end inside a UTF-8 character ("São");
    such text is held back until the character is whole, or the answer ends.

    `tokenizers` has a DecodeStream for this. It raises where a byte-fallback decoder takes back a
    letter that has been shown, and it knows no tokenizer that is written in Python.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase | None, hidden: Iterable[int]) -> None:
        """hidden: ids that end an answer and are not part of its text."""
        self.tokenizer = tokenizer
        self.hidden = frozenset(hidden)
        self._ids: list[int] = []
        self._shown = 0  # ids before this one have been shown
        self._context = 0  # decoding starts here, so that a tokenizer sees where a word begins

    def push(self, token_id: int | None, last: bool = False) -> str:
        """The text that `token_id` makes certain; with `last`, everything left."""
        if self.tokenizer is None:
            return ""
        if token_id is not None and token_id not in self.hidden:
            self._ids.append(token_id)
        before = decode(self.tokenizer, self._ids[self._context : self._shown])
        text = decode(self.tokenizer, self._ids[self._context :])
        if text.endswith("\N{REPLACEMENT CHARACTER}") and not last:
            return ""
        piece = text[len(before) :]
        if piece:  # what shows nothing is no context either: the next word may need its space
            self._context = self._shown
        self._shown = len(self._ids)
        return piece


class Listener:
    """Follows one sequence as it grows: what is new since it was last asked."""

    def __init__(self, sequence: Sequence, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self.sequence = sequence
        self.text = TextStream(tokenizer, sequence.stop_token_ids)
        self.num_heard = 0
        self.done = False

    def news(self) -> Iterator[TokenEvent]:
        """The tokens since last time; the last one says why the answer ended."""
        sequence = self.sequence
        new = sequence.token_ids[sequence.num_prompt_tokens + self.num_heard :]
        self.num_heard += len(new)
        if sequence.is_finished and not new and not self.done:
            new = [None]  # aborted, with nothing more to say
        for i, token_id in enumerate(new, start=1):
            self.done = sequence.is_finished and i == len(new)
            text = self.text.push(token_id, self.done)
            reason = sequence.finish_reason if self.done else None
            yield TokenEvent(sequence.request_id, token_id, text, reason)


def decode(
    tokenizer: PreTrainedTokenizerBase | None, ids: list[int], hidden: Iterable[int] = ()
) -> str:
    """The text of some token ids; "" without a tokenizer. Ids in `hidden` leave no text."""
    if tokenizer is None:
        return ""
    ids = [token_id for token_id in ids if token_id not in hidden]
    return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

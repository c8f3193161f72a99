"""Decodes token ids to text, piece by piece, and never shows half a character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..core.request import Sequence, TokenEvent

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase


class TextStream:
    """The text of one growing answer. A byte-level token may end inside a UTF-8 character ("São");
    such text is held back until the character is whole, or the answer ends.

    `tokenizers` has a DecodeStream for this. It raises when a byte-fallback decoder removes a
    letter that has been shown, and it does not support tokenizers that are written in Python.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase | None, hidden: Iterable[int]) -> None:
        """hidden: ids that end an answer and are not part of its text, such as EOS."""
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
        if piece:  # tokens without text are not context: the next word may need its space
            self._context = self._shown
        self._shown = len(self._ids)
        return piece


class Listener:
    """Follows one sequence as it grows, and yields the tokens since the last call."""

    def __init__(self, sequence: Sequence, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self.sequence = sequence
        self.text = TextStream(tokenizer, sequence.stop_token_ids)
        self.num_reported = 0
        self.done = False

    def news(self) -> Iterator[TokenEvent]:
        """The tokens since the last call. The last event of an answer has its finish_reason."""
        sequence = self.sequence
        new = sequence.token_ids[sequence.num_prompt_tokens + self.num_reported :]
        self.num_reported += len(new)
        if sequence.is_finished and not new and not self.done:
            new = [None]  # aborted: an event without a token ends the stream
        for i, token_id in enumerate(new, start=1):
            self.done = sequence.is_finished and i == len(new)
            text = self.text.push(token_id, self.done)
            reason = sequence.finish_reason if self.done else None
            yield TokenEvent(sequence.request_id, token_id, text, reason)


def encode(tokenizer: PreTrainedTokenizerBase | None, text: str) -> list[int]:
    """Token ids of a prompt; a beginning-of-text token is added unless the text has it. Raises
    ValueError without a tokenizer."""
    if tokenizer is None:
        raise ValueError("this model has no tokenizer; give prompts as lists of token ids")
    bos = tokenizer.bos_token
    return tokenizer.encode(text, add_special_tokens=not (bos and text.startswith(bos)))


def decode(
    tokenizer: PreTrainedTokenizerBase | None, ids: list[int], hidden: Iterable[int] = ()
) -> str:
    """The text of some token ids; "" without a tokenizer. Ids in `hidden` leave no text."""
    if tokenizer is None:
        return ""
    ids = [token_id for token_id in ids if token_id not in hidden]
    return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

"""Answers as OpenAI's JSON: whole, or as server-sent events, a chunk for each piece of text.

Most of a chunk is the same for every token of a choice. So it is made once, with a mark where the
text goes; a token then costs one small `json.dumps`.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.completion import FinishReason
from ..model.text import TextStream, decode
from .answers import News
from .stop_strings import StopStrings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

JSON = dict[str, object]
MARK = "\x00text\x00"
DONE = b"data: [DONE]\n\n"


class ChoiceText:
    """The text of one choice. num_tokens: of the answer, up to the one that ended it."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase | None,
        hidden: Iterable[int],
        stops: tuple[str, ...],
    ) -> None:
        self.num_tokens = 0
        self.finish_reason: FinishReason | None = None
        self.stopped_by_text = False
        self._tokenizer, self._hidden = tokenizer, frozenset(hidden)
        self._stream = TextStream(tokenizer, self._hidden)
        self._stops = StopStrings(stops)

    def push(self, news: News) -> str:
        """The text that these tokens make certain; sets `finish_reason` at the end."""
        pieces, newest = [], len(news.token_ids) - 1
        for i, token_id in enumerate(news.token_ids):
            self.num_tokens += 1
            last = news.finish_reason is not None and i == newest
            piece, self.stopped_by_text = self._stops.push(self._stream.push(token_id, last))
            pieces.append(piece)
            if self.stopped_by_text:
                self.finish_reason = "stop"
                return "".join(pieces)
        self.finish_reason = news.finish_reason
        if self.finish_reason is not None:
            pieces.append(self._stops.rest())
        return "".join(pieces)

    def push_all(self, news: News) -> str:
        """The text of a whole answer without stop strings."""
        self.num_tokens, self.finish_reason = len(news.token_ids), news.finish_reason
        return decode(self._tokenizer, list(news.token_ids), self._hidden)


class Reply:
    """The JSON of one HTTP request's answer. model: its name. is_chat: which of the two forms."""

    def __init__(self, model: str, is_chat: bool) -> None:
        self.id = f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}"
        self.created, self.model, self.is_chat = int(time.time()), model, is_chat
        self.num_prompt_tokens = 0  # until the prompts are encoded

    def whole(self, texts: list[str], choices: list[ChoiceText]) -> JSON:
        """The body of an answer that is not streamed."""
        entries = []
        for index, (text, choice) in enumerate(zip(texts, choices, strict=True)):
            message = {"role": "assistant", "content": text, "refusal": None}
            own = {"message": message} if self.is_chat else {"text": text}
            reason = choice.finish_reason
            entries.append({"index": index, **own, "logprobs": None, "finish_reason": reason})
        kind = "chat.completion" if self.is_chat else "text_completion"
        return self.frame(kind) | {"choices": entries, "usage": self.usage(choices)}

    def usage(self, choices: list[ChoiceText]) -> JSON:
        """How many tokens it took; a prompt counts once, whatever n is."""
        num_tokens = sum(choice.num_tokens for choice in choices)
        return {
            "prompt_tokens": self.num_prompt_tokens,
            "completion_tokens": num_tokens,
            "total_tokens": self.num_prompt_tokens + num_tokens,
        }

    def frame(self, kind: str) -> JSON:
        """What all bodies of this reply have."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


class Chunks:
    """The server-sent events of a reply. include_usage: whether a last one has the usage.
    each_usage: whether every one has the usage so far, of all choices together."""

    def __init__(
        self, reply: Reply, choices: list[ChoiceText], include_usage: bool, each_usage: bool
    ) -> None:
        self.reply, self.choices = reply, choices
        self.include_usage, self.each_usage = include_usage, each_usage
        self._templates = [self._template(index) for index in range(len(choices))]

    def first(self, index: int) -> bytes:
        """What begins a choice: in a chat, the role."""
        if not self.reply.is_chat:
            return b""
        return self._event(index, {"role": "assistant", "content": ""}, None)

    def text(self, index: int, text: str) -> bytes:
        """One piece of text."""
        if self.each_usage:
            return self._event(index, {"content": text}, None)
        before, after = self._templates[index]
        return before + json.dumps(text).encode() + after

    def last(self, index: int, reason: FinishReason | None) -> bytes:
        """The end of a choice."""
        return self._event(index, {}, reason)

    def end(self) -> bytes:
        """The end of the stream."""
        if not self.include_usage:
            return DONE
        body = self._frame() | {"choices": [], "usage": self.reply.usage(self.choices)}
        return _event(body) + DONE

    def _template(self, index: int) -> tuple[bytes, bytes]:
        before, after = self._event(index, {"content": MARK}, None).split(json.dumps(MARK).encode())
        return before, after

    def _event(self, index: int, delta: JSON, reason: FinishReason | None) -> bytes:
        own = {"delta": delta} if self.reply.is_chat else {"text": delta.get("content", "")}
        choice = {"index": index, **own, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self.include_usage else {}
        if self.each_usage:
            usage = {"usage": self.reply.usage(self.choices)}
        return _event(self._frame() | {"choices": [choice]} | usage)

    def _frame(self) -> JSON:
        kind = "chat.completion.chunk" if self.reply.is_chat else "text_completion"
        return self.reply.frame(kind)


def _event(body: JSON) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"

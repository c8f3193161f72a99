"""Conversations packed into rows of tokens, as training reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from transformers import PreTrainedTokenizerFast

from minibatch.wayfarer.training.corpus import Example, Setting, conversations

SHORT_ROW, LONG_ROW = 384, 1408  # tokens
STEP_TOKENS = 4608  # tokens of one step, padding included
Phase = Literal["file", "short", "long"]  # of training: which rows a step has
PROMPT_WEIGHT = 0.1  # of a prompt's token in the loss; an answer's token counts 1


@dataclass(frozen=True, slots=True)
class Rows:
    """Packed rows; every field is [rows, row_length].

    input_ids, labels: int64; labels[i] is the token that follows input_ids[i].
    weights: float32, how much a label counts: 1 in answers, 0 in padding and between conversations.
    positions: int64, counted from the start of each conversation.
    owners: int64, which conversation of its row a token belongs to; padding has one of its own.
    """

    input_ids: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    positions: torch.Tensor
    owners: torch.Tensor

    def mask(self) -> torch.Tensor:
        """bool [rows, 1, query, key]: a token attends only to the past of its own conversation."""
        same = self.owners[:, None, :, None] == self.owners[:, None, None, :]
        return same.tril()

    def to(self, device: str) -> "Rows":
        return Rows(*(getattr(self, name).to(device) for name in self.__slots__))

    @staticmethod
    def stacked(parts: list["Rows"]) -> "Rows":
        """The rows of all parts, which have the same length."""
        names = Rows.__slots__
        return Rows(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A conversation in tokens; for each token, whether a token of an answer follows it."""

    ids: list[int]
    before_answer: list[bool]


def encode(tokenizer: PreTrainedTokenizerFast, turns: list[Example], max_tokens: int) -> Encoded:
    """A conversation of at most `max_tokens`; questions that do not fit are left out."""
    end, system, user, assistant = tokenizer.convert_tokens_to_ids(
        ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    )
    texts = [turns[0].system, *(text for turn in turns for text in (turn.query, turn.answer))]
    prompt, *rest = tokenizer(texts, add_special_tokens=False)["input_ids"]
    ids = [system, *prompt, end] if prompt else []
    before_answer = [False] * len(ids)
    for question, answer in zip(rest[::2], rest[1::2], strict=True):
        asked = [user, *question, end, assistant]
        if len(ids) + len(asked) + len(answer) + 1 <= max_tokens:
            ids += [*asked, *answer, end]
            before_answer += [False] * (len(asked) - 1) + [True] * (len(answer) + 1) + [False]
    return Encoded(ids, before_answer)


def pack(
    tokenizer: PreTrainedTokenizerFast, chats: Iterator[list[Example]], count: int, length: int
) -> Rows:
    """`count` rows of `length` tokens, filled with the next conversations of `chats`.

    Each conversation goes, longest first, into the first row with room; the rest is padding.
    """
    drawn: list[Encoded] = []
    while sum(len(chat.ids) for chat in drawn) < count * length and len(drawn) < count * length:
        drawn.append(encode(tokenizer, next(chats), length))
    packed: list[list[Encoded]] = [[] for _ in range(count)]
    for chat in sorted(drawn, key=lambda chat: -len(chat.ids)):
        for row in packed:
            if sum(len(other.ids) for other in row) + len(chat.ids) <= length:
                row.append(chat)
                break
    shape = (count, length)
    rows = Rows(
        input_ids=torch.full(shape, tokenizer.pad_token_id),
        labels=torch.full(shape, tokenizer.pad_token_id),
        weights=torch.zeros(shape),
        positions=torch.zeros(shape, dtype=torch.int64),
        owners=torch.full(shape, -1),
    )
    for index, row in enumerate(packed):
        start = 0
        for owner, chat in enumerate(row):
            here = (index, slice(start, start + len(chat.ids)))
            rows.input_ids[here] = torch.tensor(chat.ids)
            rows.labels[here] = torch.tensor([*chat.ids[1:], tokenizer.pad_token_id])
            rows.weights[here] = torch.tensor(
                [1.0 if answer else PROMPT_WEIGHT for answer in chat.before_answer]
            )
            rows.weights[index, start + len(chat.ids) - 1] = 0.0
            rows.positions[here] = torch.arange(len(chat.ids))
            rows.owners[here] = owner
            start += len(chat.ids)
    return rows


def step_rows(tokenizer: PreTrainedTokenizerFast, seed: int, step: int, phase: Phase) -> Rows:
    """The rows of one step. Half of the short ones have a client's file."""

    def filled(setting: Setting, count: int, length: int) -> Rows:
        return pack(tokenizer, conversations(f"{seed} {step}", setting), count, length)

    count = STEP_TOKENS // SHORT_ROW
    match phase:
        case "file":
            return filled("file", count, SHORT_ROW)
        case "short":
            halves = [filled(setting, count // 2, SHORT_ROW) for setting in ("plain", "client")]
            return Rows.stacked(halves)
        case "long":
            return filled("manual", STEP_TOKENS // LONG_ROW, LONG_ROW)

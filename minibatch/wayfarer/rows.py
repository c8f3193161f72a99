"""Conversations packed into rows of tokens, as training reads them."""

from collections.abc import Iterator

import torch
from transformers import PreTrainedTokenizerFast

from minibatch.wayfarer.corpus import Example, Setting, conversations

SHORT_ROW, LONG_ROW = 384, 1408  # tokens
STEP_TOKENS = 6144  # tokens of one step, padding included
IGNORE = -100  # label of a position that does not count


def encode_all(
    tokenizer: PreTrainedTokenizerFast, chats: list[list[Example]], row_length: int
) -> list[tuple[list[int], list[int]]]:
    """(input ids, labels) of each conversation; questions that overrun `row_length` are left out.

    labels[i] is the token that should follow input_ids[i], or IGNORE where it is not of an answer.
    """
    end, system, user, assistant = tokenizer.convert_tokens_to_ids(
        ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    )
    texts = [t for turns in chats for t in [turns[0].system, *_turn_texts(turns)]]
    encoded = iter(tokenizer(texts, add_special_tokens=False)["input_ids"])
    result = []
    for turns in chats:
        prompt = next(encoded)
        ids = [system, *prompt, end] if prompt else []
        labels = [IGNORE] * len(ids)
        for _ in turns:
            question, answer = next(encoded), next(encoded)
            before = [user, *question, end, assistant]
            if len(ids) + len(before) + len(answer) + 1 <= row_length:
                ids += [*before, *answer, end]
                labels += [IGNORE] * (len(before) - 1) + [*answer, end, IGNORE]
        result.append((ids, labels))
    return result


def _turn_texts(turns: list[Example]) -> Iterator[str]:
    for example in turns:
        yield example.query
        yield example.answer


def rows(
    tokenizer: PreTrainedTokenizerFast, seed: str, setting: Setting, count: int, row_length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """`count` rows packed with conversations: input ids and labels, int64 [count, row_length].

    Conversations are placed longest first, each in the first row with room; what is left over is
    padding. A row is read with one causal mask; each conversation starts with its own first token.
    """
    stream, drawn, free = conversations(seed, setting), [], count * row_length
    while free > 0:
        drawn += encode_all(tokenizer, [next(stream)], row_length)
        free -= len(drawn[-1][0])
    packed: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
    for ids, labels in sorted(drawn, key=lambda item: -len(item[0])):
        for row_ids, row_labels in packed:
            if len(row_ids) + len(ids) <= row_length:
                row_ids += ids
                row_labels += labels
                break
    input_ids = torch.full((count, row_length), tokenizer.pad_token_id)
    targets = torch.full((count, row_length), IGNORE)
    for index, (ids, labels) in enumerate(packed):
        input_ids[index, : len(ids)] = torch.tensor(ids)
        targets[index, : len(ids)] = torch.tensor(labels)
    return input_ids, targets


def step_batches(
    tokenizer: PreTrainedTokenizerFast, seed: int, step: int, *, long: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of one step: long ones, or short ones of which half have a client's file."""
    name = f"{seed} {step}"
    if long:
        return rows(tokenizer, name, "manual", STEP_TOKENS // LONG_ROW, LONG_ROW)
    count = STEP_TOKENS // SHORT_ROW // 2
    plain = rows(tokenizer, name, "plain", count, SHORT_ROW)
    client = rows(tokenizer, name, "client", count, SHORT_ROW)
    return torch.cat([plain[0], client[0]]), torch.cat([plain[1], client[1]])

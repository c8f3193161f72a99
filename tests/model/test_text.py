"""Streaming never shows half a character, and loses none."""

from __future__ import annotations

import pytest
import torch
from byte_tokenizer import VOCAB_SIZE, byte_ids, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizer,
    PreTrainedTokenizerFast,
)

import minibatch as mb
from minibatch.model.text import TextStream, decode

HALF = "\N{REPLACEMENT CHARACTER}"
TEXTS = {
    "cities": "São Paulo, Zürich, Kraków",
    "kanji": "日本",
    "emoji": "🧳✈️ 👩‍👩‍👧 🇯🇵",
    "all": "São Paulo, Zürich, Kraków, 日本, 🧳 and home",
    "ascii": "plan three days in Lisbon",
}
TOKENIZER = make_tokenizer()


def pieces(tokenizer, ids: list[int], hidden: tuple[int, ...] = ()) -> list[str]:
    stream = TextStream(tokenizer, hidden)
    return [stream.push(token_id, last=i == len(ids) - 1) for i, token_id in enumerate(ids)]


# Token by token ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_a_text_streamed_byte_by_byte_never_shows_half_a_character(text):
    ids = byte_ids(TOKENIZER, text.encode())
    shown = pieces(TOKENIZER, ids)
    assert all(HALF not in piece for piece in shown)
    assert "".join(shown) == text == decode(TOKENIZER, ids)


def test_a_character_appears_with_its_last_byte():
    assert pieces(TOKENIZER, byte_ids(TOKENIZER, "aã日🧳".encode())) == [
        *["a", "", "ã"],
        *["", "", "日"],
        *["", "", "", "🧳"],
    ]


@given(text=st.text(max_size=30))
def test_any_text_comes_through_whole(text):
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    shown = pieces(TOKENIZER, ids)
    assert "".join(shown) == text == decode(TOKENIZER, ids)
    assert text.count(HALF) == "".join(shown).count(HALF)


@given(ids=st.lists(st.integers(0, VOCAB_SIZE - 1), max_size=30))
def test_any_tokens_stream_to_what_they_decode_to(ids):
    """Also ids that are no text: broken characters, special tokens in the middle."""
    ids = [token_id for token_id in ids if token_id < len(TOKENIZER)]
    assert "".join(pieces(TOKENIZER, ids)) == decode(TOKENIZER, ids)


def metaspace_tokenizer() -> PreTrainedTokenizerFast:
    """As SentencePiece writes words: a space belongs to the word after it, the first one is cut."""
    words = ["<unk>", "<s>", "</s>", "▁", "▁plan", "▁days", "▁in", "s", "▁Porto", ","]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


METASPACE = metaspace_tokenizer()


def test_spaces_between_words_are_kept_where_a_space_belongs_to_the_next_word():
    assert pieces(METASPACE, [4, 7, 6, 8]) == ["plan", "s", " in", " Porto"]


@pytest.mark.parametrize(
    "ids", [[4, 2, 5], [1, 4, 5], [3, 4], [3, 3, 4]], ids=["special", "bos", "space", "spaces"]
)
def test_a_token_without_text_costs_no_space_after_it(ids):
    assert "".join(pieces(METASPACE, ids)) == decode(METASPACE, ids)


# Other tokenizers --------------------------------------------------------------------------------


def byte_fallback_tokenizer() -> PreTrainedTokenizerFast:
    """As Llama 2's: words, and a token for each byte where there is no word."""
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁plan", "é"]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>"))
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


FIRST_BYTE = 3  # id of byte 0, in both


class PythonTokenizer(PreTrainedTokenizer):
    """A token for each byte, and no fast backend."""

    def __init__(self) -> None:
        self.words = ["<s>", "</s>", "<unk>", *(f"{byte:02x}" for byte in range(256))]
        super().__init__(bos_token="<s>", eos_token="</s>", unk_token="<unk>")

    @property
    def vocab_size(self) -> int:
        return len(self.words)

    def get_vocab(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def _convert_token_to_id(self, token: str) -> int:
        return self.words.index(token)

    def _convert_id_to_token(self, index: int) -> str:
        return self.words[index]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return bytes.fromhex("".join(tokens)).decode(errors="replace")


BYTEWISE = {"byte fallback": byte_fallback_tokenizer(), "in Python": PythonTokenizer()}


@pytest.mark.parametrize("tokenizer", BYTEWISE.values(), ids=BYTEWISE)
@given(text=st.text(st.characters(exclude_characters=HALF, exclude_categories=["Cs"]), max_size=20))
def test_any_text_in_bytes_comes_through_whole(tokenizer, text):
    ids = [FIRST_BYTE + byte for byte in text.encode()]
    shown = pieces(tokenizer, ids)
    assert "".join(shown) == decode(tokenizer, ids)
    assert all(HALF not in piece for piece in shown)


def test_a_tokenizer_in_python_hides_stop_tokens_and_flushes_at_the_end():
    tokenizer = BYTEWISE["in Python"]
    ids = [FIRST_BYTE + byte for byte in "hié".encode()[:-1]]
    assert pieces(tokenizer, [*ids, 1], hidden=(1,)) == ["h", "i", "", HALF]


def test_a_character_that_a_word_breaks_off_does_not_end_the_stream():
    """Here `tokenizers.decoders.DecodeStream` raises "Invalid prefix encountered": the broken byte
    changes what this decoder makes of the letter before it, which has been shown already."""
    tokenizer = BYTEWISE["byte fallback"]
    plan, e_acute = tokenizer.convert_tokens_to_ids(["▁plan", "é"])
    shown = pieces(tokenizer, [FIRST_BYTE + ord("a"), FIRST_BYTE + 0xC3, plan, e_acute])
    assert shown[0] == "a"
    assert "".join(shown).endswith(" plané")


# The end -----------------------------------------------------------------------------------------


def test_an_incomplete_character_is_flushed_at_the_end_as_decode_would():
    ids = byte_ids(TOKENIZER, "São 日".encode()[:-1])
    shown = pieces(TOKENIZER, ids)
    assert "".join(shown[:-1]) == "São "
    assert shown[-1] == HALF
    assert "".join(shown) == decode(TOKENIZER, ids)


def test_a_hidden_end_token_leaves_no_text_and_flushes_what_was_held_back():
    end = TOKENIZER.eos_token_id
    ids = [*byte_ids(TOKENIZER, "hié".encode()[:-1]), end]
    shown = pieces(TOKENIZER, ids, hidden=(end,))
    assert shown == ["h", "i", "", HALF]
    assert "".join(shown) == decode(TOKENIZER, ids, hidden=(end,))


def test_a_stop_token_of_plain_text_is_not_shown():
    ids = TOKENIZER.encode("in Porto.", add_special_tokens=False)
    assert "".join(pieces(TOKENIZER, ids, hidden=(ids[-1],))) == "in Porto"
    assert decode(TOKENIZER, ids, hidden=(ids[-1],)) == "in Porto"


def test_without_a_tokenizer_there_is_no_text():
    assert pieces(None, [1, 2, 3]) == ["", "", ""]
    assert decode(None, [1, 2, 3]) == ""


# Through the engine ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> mb.Model:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
    )
    return mb.Model(LlamaForCausalLM(config), TOKENIZER)


def engine_that_says(model: mb.Model, monkeypatch, answers: dict[str, list[int]]) -> mb.Engine:
    """An engine whose forward pass answers each request with the next of its given tokens."""
    engine = mb.Engine(model, mb.Continuous(4), clock=mb.VirtualClock())

    def say(plan):
        return [
            [answers[row.sequence.request_id][row.sequence.num_output_tokens]]
            if row.reaches_end
            else []
            for row in plan.rows
        ]

    monkeypatch.setattr(engine.runner, "run", say)
    return engine


def test_the_engine_streams_interleaved_texts_without_half_a_character(model, monkeypatch):
    answers = {
        name: [*byte_ids(TOKENIZER, text.encode()), TOKENIZER.eos_token_id]
        for name, text in TEXTS.items()
    }
    engine = engine_that_says(model, monkeypatch, answers)
    requests = [mb.Request("plan", request_id=name, max_tokens=100) for name in TEXTS]
    texts = dict.fromkeys(TEXTS, "")
    reasons = {}
    for event in engine.stream(requests):
        assert HALF not in event.text
        texts[event.request_id] += event.text
        if event.finish_reason:
            reasons[event.request_id] = event.finish_reason
    assert texts == TEXTS
    assert reasons == dict.fromkeys(TEXTS, "stop")
    assert {done.request_id: done.text for done in engine.trace.completions} == TEXTS


def test_an_answer_cut_inside_a_character_streams_to_its_completions_text(model, monkeypatch):
    said = {"cut": byte_ids(TOKENIZER, "in São".encode())}
    engine = engine_that_says(model, monkeypatch, said)
    events = list(engine.stream([mb.Request("plan", request_id="cut", max_tokens=5)]))
    assert [event.text for event in events] == ["i", "n", " ", "S", HALF]
    [completion] = engine.trace.completions
    assert "".join(event.text for event in events) == completion.text
    assert completion.finish_reason == "length"

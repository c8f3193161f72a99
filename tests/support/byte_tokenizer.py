"""A small byte-level BPE with a chat template: its tokens may end inside a character."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
CORPUS = ["plan three days in Lisbon", "the hotel in Porto has a pool", "days in the hotel"] * 3
VOCAB_SIZE = 288  # 256 bytes, 5 special tokens, and a few merges


def make_tokenizer(chat_template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token=None
    )
    fast.chat_template = chat_template
    return fast


def byte_ids(tokenizer: PreTrainedTokenizerFast, text: bytes) -> list[int]:
    """One token per byte, whatever merges there are."""
    alphabet = bytes_to_unicode()
    return [tokenizer.convert_tokens_to_ids(alphabet[byte]) for byte in text]


def bytes_to_unicode() -> dict[int, str]:
    """The printable character by which byte-level BPE writes each byte (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + i) for i, byte in enumerate(others)
    }

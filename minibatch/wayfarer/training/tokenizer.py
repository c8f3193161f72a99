"""Wayfarer's tokenizer, a byte-level BPE of 2,048 entries learnt from the corpus; its chat format.

A word includes the space before it, each digit is a token ("145" is three tokens), and any UTF-8
text can be encoded, because the 256 bytes are in the vocabulary. A conversation is

    <|system|>…<|end|><|user|>…<|end|><|assistant|>…<|end|>

so that rendering a chat and encoding the string give the same tokens.
"""

from itertools import islice
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from minibatch.wayfarer.clients import FIRST_NAMES, LAST_NAMES, NOTES
from minibatch.wayfarer.policy import manual
from minibatch.wayfarer.training.corpus import conversations

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VOCAB_SIZE = 2048
CONTEXT = 2048  # tokens, positions that the model has
END, PAD = "<|end|>", "<|pad|>"
SPECIAL_TOKENS = (PAD, END, "<|system|>", "<|user|>", "<|assistant|>")
# GPT-2's pattern, except that a digit never joins another one.
PATTERN = r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(num_conversations: int = 12_000) -> "PreTrainedTokenizerFast":
    """Learns the merges from the corpus; the result is deterministic."""
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_texts(num_conversations), trainer)
    assert bpe.get_vocab_size() == VOCAB_SIZE, bpe.get_vocab_size()
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=list(SPECIAL_TOKENS[2:]),
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _texts(num_conversations: int):
    """Texts to learn merges from: answers have the most weight, because a model generates them."""
    for setting in ("plain", "client"):
        for turns in islice(conversations("tokenizer", setting), num_conversations):
            yield turns[0].system
            for example in turns:
                yield example.query
                yield example.answer
    for _ in range(60):
        yield from manual()
        yield from NOTES
        yield " " + " ".join(FIRST_NAMES)
        yield " " + " ".join(LAST_NAMES)

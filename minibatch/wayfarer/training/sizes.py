"""The two models that this training makes: Wayfarer, and Wayfarer Junior, its draft model.

A draft model is useful only if its steps are cheap. At this size, the cost of a step depends on its
layers and on overhead, not on parameters: two layers take about a fifth of Wayfarer's time, three a
third.
"""

from dataclasses import dataclass

from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from minibatch.wayfarer.training.tokenizer import CONTEXT, VOCAB_SIZE


@dataclass(frozen=True, slots=True)
class Size:
    """Layers, hidden size, query and KV heads of 32, width of the MLP. The numbers of layers, query
    heads and KV heads all differ. tokens: of its training. lr: as a multiple of Wayfarer's. taught:
    the last share of the tokens, for which Wayfarer's own predictions are the labels."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    mlp: int
    tokens: int
    lr: float = 1.0
    taught: float = 0.0


SIZES = {
    "wayfarer": Size(layers=6, hidden=256, heads=8, kv_heads=4, mlp=704, tokens=18_000_000),
    "junior": Size(
        layers=2, hidden=128, heads=4, kv_heads=1, mlp=512, tokens=3_500_000, lr=2.0, taught=0.15
    ),
}


def new_model(size: Size, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A Llama of this size with random weights."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=size.hidden,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            num_key_value_heads=size.kv_heads,
            head_dim=32,
            intermediate_size=size.mlp,
            max_position_embeddings=CONTEXT,
            rope_theta=10_000.0,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )

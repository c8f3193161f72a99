"""The two models that this training makes: Wayfarer, and Wayfarer Junior, who guesses for it.

A guesser is only worth having if its steps are cheap, and at this size a step costs layers and
overhead, not parameters: two layers take about a fifth of Wayfarer's time, three a third.
"""

from dataclasses import dataclass

from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from minibatch.wayfarer.training.tokenizer import CONTEXT, VOCAB_SIZE


@dataclass(frozen=True, slots=True)
class Size:
    """layers, hidden size, query and KV heads of 32, width of the MLP: so that layers, query heads
    and KV heads all differ in number. tokens: of its training. lr: of that of Wayfarer, a factor.
    taught: the last share of the tokens, whose labels are Wayfarer's own choices."""

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

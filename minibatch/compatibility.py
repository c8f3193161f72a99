"""What the engine would compute wrongly is refused at load, by name and reason.

From cheap to certain: what the configuration says, what the attention is called with and which
tensors it gets, and whether logits agree with the model's own eager attention.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from transformers import PreTrainedModel

from .attention.reference import reference_attention
from .plan import Row, StepPlan
from .request import Request, Sequence
from .runner import ModelRunner

if TYPE_CHECKING:
    from .model import Model

# Keywords that models pass down to attention and that change nothing in what it computes here.
HARMLESS = {"dropout", "position_ids", "use_cache", "output_attentions", "output_router_logits"}
PROBE_LENGTHS = (17, 23)  # tokens of the two prompts that go through the model at load
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}  # share of max |logit|


class UnsupportedModelError(ValueError):
    """This model needs something from attention that the engine does not do."""


@dataclass
class Probe:
    """Stands in for a forward context, and notes what each layer's attention is asked for."""

    shapes: dict[int, tuple[torch.Size, torch.Size, torch.Size]] = field(default_factory=dict)
    keywords: dict[str, object] = field(default_factory=dict)
    num_calls: int = 0

    def attend(self, module, query, key, value, scaling, **kwargs) -> torch.Tensor:
        self.num_calls += 1
        self.shapes[module.layer_idx] = (query.shape, key.shape, value.shape)
        self.keywords |= {name: value for name, value in kwargs.items() if value is not None}
        _, heads, num_tokens, _ = query.shape
        return query.new_zeros(1, num_tokens, heads, value.shape[-1])


def check_config(hf: PreTrainedModel) -> None:
    """Refuse what the class and the configuration already tell."""
    name = type(hf).__name__
    if not getattr(hf, "_supports_attention_backend", False):
        raise UnsupportedModelError(
            f"{name} does not send its attention through transformers' AttentionInterface, so no "
            "paged KV cache can be put under it"
        )
    layer_types = getattr(hf.config.get_text_config(), "layer_types", None) or []
    other = sorted(set(layer_types) - {"full_attention"})
    if other:
        raise UnsupportedModelError(
            f"{name} has layers of type {', '.join(other)}; the engine computes full_attention only"
        )


@torch.inference_mode()
def probe(hf: PreTrainedModel) -> tuple[list[tuple[int, int]], int | None]:
    """One forward pass that only looks. Returns (kv_heads, head_dim) of each layer, and the sliding
    window in tokens, if there is one."""
    name, config = type(hf).__name__, hf.config.get_text_config()
    seen = Probe()
    ids = torch.arange(sum(PROBE_LENGTHS), device=hf.device)[None] % config.vocab_size
    try:
        hf(
            input_ids=ids,
            position_ids=torch.arange(ids.shape[1], device=hf.device)[None],
            attention_mask=torch.zeros(1, 1, 1, 1, device=hf.device, dtype=hf.dtype),
            use_cache=False,
            logits_to_keep=1,
            minibatch=seen,
        )
    except TypeError as error:
        raise UnsupportedModelError(
            f"{name} does not pass keywords to attention: {error}"
        ) from error
    if seen.num_calls != config.num_hidden_layers or len(seen.shapes) != seen.num_calls:
        raise UnsupportedModelError(
            f"{name} has {config.num_hidden_layers} layers but its attention was called "
            f"{seen.num_calls} times; each layer must attend exactly once"
        )
    window = seen.keywords.pop("sliding_window", None) or None
    unknown = sorted(key for key in seen.keywords if key not in HARMLESS)
    if unknown:
        raise UnsupportedModelError(
            f"{name} passes {', '.join(unknown)} to its attention, which the engine does not do"
        )
    for layer, (query, key, value) in sorted(seen.shapes.items()):
        if query[-1] != key[-1] or key != value:
            raise UnsupportedModelError(
                f"{name}, layer {layer}: query {tuple(query)}, K {tuple(key)}, V {tuple(value)}; "
                "the engine needs one head size, and K and V of one shape"
            )
    return [(key[1], key[3]) for _, (_, key, _) in sorted(seen.shapes.items())], window


def context_length(hf: PreTrainedModel, window: int | None, asked: int | None) -> int:
    """The longest context, in tokens, that is computed rightly; no longer than `asked`.

    A sliding window changes nothing while the whole context fits into it, so it becomes the limit.
    """
    limit = getattr(hf.config.get_text_config(), "max_position_embeddings", None) or asked or 2048
    if window is not None and window < limit:
        if asked is not None and asked > window:
            raise UnsupportedModelError(
                f"{type(hf).__name__} attends to a sliding window of {window} tokens; "
                f"max_model_len {asked} is more, and the engine computes full attention only"
            )
        limit = window
    if asked is not None and not 1 <= asked <= limit:
        raise ValueError(f"max_model_len is {asked}; {type(hf).__name__} allows 1 to {limit}")
    return asked or limit


def probe_prompts(hf: PreTrainedModel) -> list[list[int]]:
    """Two prompts of different lengths, of scattered token ids."""
    vocab_size = hf.get_input_embeddings().num_embeddings
    return [[(7 + 31 * i * i) % vocab_size for i in range(length)] for length in PROBE_LENGTHS]


@torch.inference_mode()
def last_logits(hf: PreTrainedModel) -> torch.Tensor:
    """Each probe prompt by itself, the model's own way: logits [2, vocabulary] at its end."""
    prompts = [torch.tensor([ids], device=hf.device) for ids in probe_prompts(hf)]
    return torch.cat([hf(input_ids=ids, use_cache=False).logits[:, -1] for ids in prompts])


def check_agreement(model: Model, expected: torch.Tensor) -> None:
    """Refuse a model whose logits, batched and paged, differ from its own eager ones."""
    runner = ModelRunner(model, num_blocks=16, block_size=4, attention=reference_attention)
    rows = []
    for prompt in probe_prompts(model.hf):
        first_block = sum(len(row.sequence.block_table) for row in rows)
        sequence = Sequence(
            request=Request(prompt),
            request_id=f"probe {len(rows)}",
            token_ids=prompt,
            num_prompt_tokens=len(prompt),
            stop_token_ids=frozenset(),
            seed=0,
            arrival_time=0.0,
        )
        num_blocks = sequence.num_new_blocks(len(prompt), block_size=4)
        sequence.block_table = list(range(first_block, first_block + num_blocks))
        rows.append(Row(sequence, len(prompt)))
    got = runner.forward(StepPlan(rows))
    gap = (got.float() - expected.float()).abs().max().item()
    allowed = TOLERANCE[model.dtype] * max(1.0, expected.float().abs().max().item())
    if not gap <= allowed:
        raise UnsupportedModelError(
            f"{type(model.hf).__name__}: logits differ from its own eager attention by {gap:.2g} "
            f"(allowed {allowed:.2g}); something in its attention is not what the engine computes"
        )

"""Refuses a model at load, by name and reason, if the engine would compute it wrongly.

Three checks, the cheapest first: the configuration; the arguments and tensors that the attention
gets; and whether logits agree with the model's own eager attention.
"""

from dataclasses import dataclass, field

import torch
from transformers import PretrainedConfig, PreTrainedModel

from ..attention.reference import reference_attention
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from .runner import ModelRunner

# Keywords that models pass to attention and that do not change what it computes here.
HARMLESS = {"dropout", "position_ids", "use_cache", "output_attentions", "output_router_logits"}
PROBE_LENGTHS = (17, 23)  # at most: tokens of the two prompts that the model computes at load
ROPE_BY_LENGTH = {"longrope", "dynamic"}  # frequencies depend on the longest position in the pass
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}  # share of max |logit|


class UnsupportedModelError(ValueError):
    """This model needs something from attention that the engine does not support."""


@dataclass
class Probe:
    """Takes the place of a forward context, and records the arguments of each layer's attention."""

    shapes: dict[int, tuple[torch.Size, torch.Size, torch.Size]] = field(default_factory=dict)
    keywords: set[str] = field(default_factory=set)
    windows: list[int] = field(default_factory=list)
    num_calls: int = 0

    def attend(self, module, query, key, value, scaling, sliding_window=None, **kwargs):
        self.num_calls += 1
        self.shapes[module.layer_idx] = (query.shape, key.shape, value.shape)
        self.keywords |= {name for name, value in kwargs.items() if value is not None}
        self.windows += [sliding_window] if sliding_window else []
        _, heads, num_tokens, _ = query.shape
        return query.new_zeros(1, num_tokens, heads, value.shape[-1])


def check_decoder_only(config: PretrainedConfig, name: str = "") -> None:
    """Refuse an encoder-decoder model. Needs the configuration only."""
    if config.is_encoder_decoder:
        raise UnsupportedModelError(
            f"{name or config.model_type} is an encoder–decoder model; the engine serves models "
            "that only decode, such as Llama or Qwen"
        )


def check_config(hf: PreTrainedModel) -> None:
    """Refuse what the class and the configuration already show."""
    name, config = type(hf).__name__, hf.config.get_text_config()
    check_decoder_only(hf.config, name)
    if hf.get_output_embeddings() is None:
        raise UnsupportedModelError(
            f"{name} has no output layer, so it generates no tokens; load it with "
            "AutoModelForCausalLM"
        )
    if not getattr(hf, "_supports_attention_backend", False):
        raise UnsupportedModelError(
            f"{name} does not compute its attention through transformers' AttentionInterface, so "
            "it cannot use a paged KV cache"
        )
    other = sorted(set(getattr(config, "layer_types", None) or []) - {"full_attention"})
    if other:
        raise UnsupportedModelError(
            f"{name} has layers of type {', '.join(other)}; the engine supports only full_attention"
        )
    if getattr(config, "attn_temperature_tuning", None):
        raise UnsupportedModelError(
            f"{name} scales each query by its place in the forward pass (attn_temperature_tuning); "
            "in a batch, this is not the query's place in its sequence"
        )


@torch.inference_mode()
def probe(hf: PreTrainedModel) -> tuple[list[tuple[int, int]], int | None]:
    """Run one forward pass that records what each layer's attention gets.

    Returns (kv_heads, head_dim) of each layer, and the shortest sliding window, or None.
    Raises UnsupportedModelError.
    """
    name, config = type(hf).__name__, hf.config.get_text_config()
    seen = Probe()
    num_tokens = min(sum(PROBE_LENGTHS), _max_positions(hf))
    ids = torch.arange(num_tokens, device=hf.device)[None]
    try:
        hf(
            input_ids=ids % config.vocab_size,
            position_ids=ids,
            attention_mask=torch.zeros(1, 1, 1, 1, device=hf.device, dtype=hf.dtype),
            use_cache=False,
            logits_to_keep=1,
            minibatch=seen,
        )
    except TypeError as error:
        raise UnsupportedModelError(f"{name} passes no keywords to attention: {error}") from error
    if seen.num_calls != config.num_hidden_layers or len(seen.shapes) != seen.num_calls:
        raise UnsupportedModelError(
            f"{name} has {config.num_hidden_layers} layers but its attention was called "
            f"{seen.num_calls} times; each layer must attend exactly once"
        )
    unknown = sorted(seen.keywords - HARMLESS)
    if unknown:
        raise UnsupportedModelError(
            f"{name} passes {', '.join(unknown)} to its attention; the engine does not support "
            "these arguments"
        )
    for layer, (query, key, value) in sorted(seen.shapes.items()):
        if query[-1] != key[-1] or key != value:
            raise UnsupportedModelError(
                f"{name}, layer {layer}: query {tuple(query)}, K {tuple(key)}, V {tuple(value)}; "
                "the engine needs one head size, and K and V of the same shape"
            )
    shapes = [(key[1], key[3]) for _, (_, key, _) in sorted(seen.shapes.items())]
    return shapes, min(seen.windows, default=None)


def context_length(hf: PreTrainedModel, window: int | None, asked: int | None) -> int:
    """The longest context, in tokens, that is computed correctly; at most `asked`.

    A sliding window changes nothing while the whole context fits into it, so it becomes the limit.
    So does the length at which a model changes the rotary frequencies of all rows in a pass.
    Raises UnsupportedModelError or ValueError if `asked` is over the limit.
    """
    name, limit = type(hf).__name__, _max_positions(hf)
    if window is not None and window < limit:
        if asked is not None and asked > window:
            raise UnsupportedModelError(
                f"{name} attends to a sliding window of {window} tokens, and the engine supports "
                f"only full attention: max_model_len is {asked}; give at most {window}"
            )
        limit = window
    config = hf.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") in ROPE_BY_LENGTH:
        original = rope.get("original_max_position_embeddings") or getattr(
            config, "original_max_position_embeddings", None
        )
        limit = min(limit, original or limit)
    if asked is not None and not 1 <= asked <= limit:
        raise ValueError(f"max_model_len is {asked}; {name} allows 1 to {limit} here")
    return asked or limit


def _max_positions(hf: PreTrainedModel) -> int:
    return getattr(hf.config.get_text_config(), "max_position_embeddings", None) or 2048


@torch.inference_mode()
def check_agreement(
    hf: PreTrainedModel, kv_shapes: list[tuple[int, int]], max_model_len: int
) -> None:
    """Refuse a model whose batched, paged logits differ from its own eager ones.

    Two prompts of different lengths: all but their last token in one pass, the last in a second.
    Raises UnsupportedModelError.
    """
    shorter, longer = PROBE_LENGTHS
    lengths = min(shorter, max(1, max_model_len // 2)), min(longer, max_model_len)
    vocab_size = hf.get_input_embeddings().num_embeddings
    prompts = [[(7 + 31 * i * i) % vocab_size for i in range(n)] for n in lengths]

    implementation = hf.config._attn_implementation
    hf.set_attn_implementation("eager")
    alone = [torch.tensor([prompt], device=hf.device) for prompt in prompts]
    expected = [hf(input_ids=ids, use_cache=False).logits[0, -1] for ids in alone]
    hf.set_attn_implementation(implementation)

    sequences = []
    for i, prompt in enumerate(prompts):
        blocks = list(range(8 * i, 8 * i + 8))
        name = f"probe {i}"
        sequences.append(Sequence(Request(prompt), name, prompt, len(prompt), block_table=blocks))
    runner = ModelRunner(hf, kv_shapes, 16, 4, reference_attention)  # 16 blocks of 4
    for ahead in (1, 0):
        distances = [(s, s.num_uncomputed_tokens - ahead) for s in sequences]
        rows = [Row(sequence, n) for sequence, n in distances if n > 0]
        if rows:
            got = runner.forward(StepPlan(rows))
        for row in rows:
            row.sequence.num_computed_tokens += row.num_tokens
    gap = (got.float() - torch.stack(expected).float()).abs().max().item()
    largest = max(logits.abs().max().item() for logits in expected)
    allowed = TOLERANCE.get(hf.dtype, 1e-4) * max(1.0, largest)
    if not gap <= allowed:
        raise UnsupportedModelError(
            f"{type(hf).__name__}: logits differ from its own eager attention by {gap:.2g} "
            f"(allowed {allowed:.2g}); its attention computes something that the engine does not"
        )

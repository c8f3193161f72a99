"""What the engine would compute wrongly is refused at load: by name, and with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import transformers
from architectures import CONTEXT, build
from oracle import assert_same_tokens
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer

import minibatch as mb

FULL = ["full_attention", "full_attention"]


def make(class_name: str, config_name: str | None = None, **config: object) -> PreTrainedModel:
    """A random model of a class whose configuration has names of its own."""
    torch.manual_seed(0)
    config_class = getattr(transformers, config_name or class_name.split("For")[0] + "Config")
    ends = {"vocab_size": 96, "bos_token_id": 0, "eos_token_id": 1}
    return getattr(transformers, class_name)(config_class(**(ends | config))).eval()


def gemma2(**changes: object) -> PreTrainedModel:
    return build("Gemma2", num_key_value_heads=2, head_dim=8, query_pre_attn_scalar=8, **changes)


def gpt_oss(**changes: object) -> PreTrainedModel:
    sizes = {"num_key_value_heads": 2, "head_dim": 8}
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    return build("GptOss", rope_parameters=rope, **sizes, **experts, **changes)


def llama4(**changes: object) -> PreTrainedModel:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "intermediate_size_mlp": 64}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    return make(
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        num_hidden_layers=2,
        num_local_experts=2,
        max_position_embeddings=CONTEXT,
        **sizes,
        **heads,
        **changes,
    )


def deepseek(name: str) -> PreTrainedModel:
    return build(
        name,
        num_key_value_heads=4,
        kv_lora_rank=16,
        q_lora_rank=16,
        qk_nope_head_dim=8,
        qk_rope_head_dim=8,
        v_head_dim=8,
        n_routed_experts=4,
        n_shared_experts=1,
        num_experts_per_tok=1,
        moe_intermediate_size=32,
        first_k_dense_replace=2,
        n_group=1,
        topk_group=1,
    )


SHORT_WINDOW = {"num_key_value_heads": 2, "sliding_window": 32}
NO_DISPATCH = "does not compute its attention through transformers' AttentionInterface"

# name: (how to make it, the class named, the reason given)
REFUSED: dict[str, tuple[Callable[[], PreTrainedModel], str, str]] = {
    "gemma 2": (gemma2, "Gemma2ForCausalLM", "layers of type sliding_attention"),
    "gemma 2 of full attention": (
        lambda: gemma2(layer_types=FULL),
        "Gemma2ForCausalLM",
        "passes softcap to its attention",
    ),
    "gemma 3": (
        lambda: make(
            "Gemma3ForCausalLM",
            "Gemma3TextConfig",
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
        ),
        "Gemma3ForCausalLM",
        "layers of type sliding_attention",
    ),
    "gpt-oss": (gpt_oss, "GptOssForCausalLM", "layers of type sliding_attention"),
    "gpt-oss of full attention": (
        lambda: gpt_oss(layer_types=FULL),
        "GptOssForCausalLM",
        "passes s_aux to its attention",
    ),
    "llama 4": (llama4, "Llama4ForCausalLM", "layers of type chunked_attention"),
    "llama 4 of full attention": (
        # its tuning of the softmax counts tokens in the pass instead of reading position_ids
        lambda: llama4(layer_types=FULL, no_rope_layers=[0, 0], floor_scale=4, attn_scale=1.0),
        "Llama4ForCausalLM",
        "scales each query by its place in the forward pass",
    ),
    "deepseek v2": (
        lambda: deepseek("DeepseekV2"),
        "DeepseekV2ForCausalLM, layer 0",
        r"K \(1, 4, 40, 16\), V \(1, 4, 40, 8\)",
    ),
    "deepseek v3": (
        lambda: deepseek("DeepseekV3"),
        "DeepseekV3ForCausalLM, layer 0",
        r"K \(1, 4, 40, 16\), V \(1, 4, 40, 8\)",
    ),
    "lfm2 with convolutions": (
        lambda: build("Lfm2", num_key_value_heads=2, layer_types=["conv", "full_attention"]),
        "Lfm2ForCausalLM",
        "layers of type conv",
    ),
    "mamba": (
        lambda: make("MambaForCausalLM", hidden_size=32, num_hidden_layers=2, state_size=4),
        "MambaForCausalLM",
        NO_DISPATCH,
    ),
    "falcon": (
        lambda: make(
            "FalconForCausalLM", hidden_size=32, num_hidden_layers=2, num_attention_heads=4
        ),
        "FalconForCausalLM",
        NO_DISPATCH,
    ),
    "bloom": (
        lambda: make("BloomForCausalLM", hidden_size=32, n_layer=2, n_head=4),
        "BloomForCausalLM",
        NO_DISPATCH,
    ),
    "mpt": (
        lambda: make("MptForCausalLM", d_model=32, n_layers=2, n_heads=4, max_seq_len=64),
        "MptForCausalLM",
        NO_DISPATCH,
    ),
    "gpt-neo": (
        lambda: make(
            "GPTNeoForCausalLM",
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            max_position_embeddings=64,
        ),
        "GPTNeoForCausalLM",
        NO_DISPATCH,
    ),
    "gpt-j": (
        lambda: make("GPTJForCausalLM", n_embd=32, n_layer=2, n_head=4, rotary_dim=8),
        "GPTJForCausalLM",
        NO_DISPATCH,
    ),
    "stablelm": (lambda: build("StableLm"), "StableLmForCausalLM", NO_DISPATCH),
    "t5": (
        lambda: make("T5ForConditionalGeneration", d_model=32, num_layers=2, num_heads=4, d_ff=64),
        "T5ForConditionalGeneration",
        "an encoder–decoder model",
    ),
    "llama without its output layer": (
        lambda: make("LlamaModel", "LlamaConfig", hidden_size=32, num_hidden_layers=2),
        "LlamaModel",
        "no output layer",
    ),
    "bert that looks both ways": (
        lambda: make(
            "BertLMHeadModel",
            "BertConfig",
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            is_decoder=False,
            initializer_range=0.3,
        ),
        "BertLMHeadModel",
        "logits differ from its own eager attention",
    ),
    "qwen2 with windows": (
        lambda: build("Qwen2", num_key_value_heads=2, use_sliding_window=True, max_window_layers=1),
        "Qwen2ForCausalLM",
        "layers of type sliding_attention",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda name: name.replace(" ", "-"))
def test_a_model_that_would_be_computed_wrongly_is_refused(case):
    model, name, reason = REFUSED[case]
    with pytest.raises(mb.UnsupportedModelError, match=f"^{name}.*{reason}"):
        mb.Model(model())


def test_a_refusal_is_a_value_error():
    assert issubclass(mb.UnsupportedModelError, ValueError)


def test_gemma_2_without_its_peculiarities_is_served():
    """It is the soft-capping that is refused, not the name."""
    hf = gemma2(layer_types=FULL, attn_logit_softcapping=None)
    assert mb.Model(hf).kv_shapes == [(2, 8), (2, 8)]


# Sliding windows ---------------------------------------------------------------------------------

WINDOWED = {
    "mistral": {},
    "mixtral": {"num_local_experts": 2},
    "phi3": {},
    "starcoder2": {},
}


@pytest.mark.parametrize("name", WINDOWED)
def test_a_window_shorter_than_asked_is_refused_with_both_numbers(name):
    hf = build(name.capitalize(), **SHORT_WINDOW, **WINDOWED[name])
    with pytest.raises(
        mb.UnsupportedModelError,
        match=r"sliding window of 32 tokens.*max_model_len is 64; give at most 32",
    ):
        mb.Model(hf, max_model_len=64)


@pytest.mark.parametrize("name", WINDOWED)
def test_a_window_becomes_the_context_and_the_tokens_are_right(name):
    model = mb.Model(build(name.capitalize(), **SHORT_WINDOW, **WINDOWED[name]))
    assert model.max_model_len == 32
    requests = [
        mb.Request([5, 17, 80, 33, 2, 60, 41, 9, 77, 13], max_tokens=22, ignore_eos=True),
        mb.Request([(7 + 31 * i * i) % 96 for i in range(23)], max_tokens=9, ignore_eos=True),
    ]
    completions = mb.Engine(model, mb.Continuous(2), block_size=7).run(requests)
    for request, completion in zip(requests, completions, strict=True):
        assert len(completion.token_ids) == request.max_tokens
        assert_same_tokens(model, request, completion.token_ids)


def test_a_request_longer_than_the_window_is_refused():
    engine = mb.Engine(mb.Model(build("Mistral", **SHORT_WINDOW)), mb.Continuous(2))
    with pytest.raises(ValueError, match=r"20 \+ 13 tokens = 33; this model's context holds 32"):
        engine.add(mb.Request(list(range(20)), max_tokens=13))


@pytest.mark.parametrize("asked", [1, 31, 32])
def test_a_context_within_the_window_may_be_asked(asked):
    assert mb.Model(build("Mistral", **SHORT_WINDOW), max_model_len=asked).max_model_len == asked


@pytest.mark.parametrize("window", [40, 63, 64, 65, None])
def test_the_context_is_the_shorter_of_window_and_positions(window):
    hf = build("Mistral", num_key_value_heads=2, sliding_window=window)
    assert mb.Model(hf).max_model_len == min(window or CONTEXT, CONTEXT)


@pytest.mark.parametrize("window", [8, 16, 22])
def test_a_window_shorter_than_the_probe_becomes_the_context_too(window):
    hf = build("Mistral", num_key_value_heads=2, sliding_window=window)
    assert mb.Model(hf).max_model_len == window


@pytest.mark.parametrize(("name", "context"), [("GPT2", 32), ("OPT", 32), ("Llama", 8)])
def test_a_context_shorter_than_the_probe_is_served(name, context):
    sizes = {"ffn_dim": 64, "word_embed_proj_dim": 32} if name == "OPT" else {}
    model = mb.Model(build(name, max_position_embeddings=context, **sizes))
    assert model.max_model_len == context


# Models made up to slip through ------------------------------------------------------------------


def llama_with(attention: type[nn.Module], **changes: object) -> LlamaForCausalLM:
    """A Llama whose attention layers are of another class, with the same weights."""
    hf = build("Llama", num_key_value_heads=2, **changes)
    for index, layer in enumerate(hf.model.layers):
        own = attention(hf.config, index)
        own.load_state_dict(layer.self_attn.state_dict())
        layer.self_attn = own.eval()
    return hf


class LlamaAlibiAttention(LlamaAttention):
    """Adds to the mask a penalty for distance, which only an attention that reads masks sees."""

    def forward(self, hidden_states, position_embeddings, attention_mask=None, **kwargs):
        if attention_mask is not None and attention_mask.shape[-1] > 1:
            places = torch.arange(attention_mask.shape[-1], dtype=hidden_states.dtype)
            attention_mask = attention_mask - 0.1 * (places[:, None] - places).abs()
        return super().forward(hidden_states, position_embeddings, attention_mask, **kwargs)


class LlamaOwnPositionsAttention(LlamaAttention):
    """Scales queries by their place in the tensor, as if each forward pass held one sequence."""

    def forward(self, hidden_states, *args, **kwargs):
        places = torch.arange(hidden_states.shape[1]).view(1, -1, 1)
        return super().forward(hidden_states * (1 + places / 10), *args, **kwargs)


class LlamaNeighbourAttention(LlamaAttention):
    """Mixes in the token before, which in a flattened batch may be another sequence's."""

    def forward(self, hidden_states, *args, **kwargs):
        return super().forward(hidden_states + hidden_states.roll(1, dims=1), *args, **kwargs)


class LlamaSoftcapAttention(LlamaAttention):
    """Asks for something under a keyword that no one has heard of."""

    def forward(self, *args, **kwargs):
        return super().forward(*args, temperature_of_the_softmax=2.0, **kwargs)


@pytest.mark.parametrize(
    "attention", [LlamaAlibiAttention, LlamaOwnPositionsAttention, LlamaNeighbourAttention]
)
def test_logits_unlike_its_own_refuse_a_model_that_looks_right(attention):
    with pytest.raises(
        mb.UnsupportedModelError, match=r"^LlamaForCausalLM: logits differ .* by .* \(allowed "
    ):
        mb.Model(llama_with(attention))


def test_an_unknown_keyword_is_refused_by_name():
    with pytest.raises(mb.UnsupportedModelError, match="passes temperature_of_the_softmax to"):
        mb.Model(llama_with(LlamaSoftcapAttention))


def test_the_same_llama_unchanged_is_served():
    """Guards the tests above: it is the subclass that is refused."""
    assert mb.Model(llama_with(LlamaAttention)).kv_shapes == [(2, 8), (2, 8)]


class LlamaTwiceLayer(LlamaDecoderLayer):
    def forward(self, hidden_states, **kwargs):
        return super().forward(super().forward(hidden_states, **kwargs), **kwargs)


class LlamaMissingAttention(LlamaAttention):
    def forward(self, hidden_states, *args, **kwargs):
        return hidden_states, None


def test_a_layer_called_twice_is_refused_with_the_count():
    hf = build("Llama", num_key_value_heads=2)
    first = LlamaTwiceLayer(hf.config, 0)
    first.load_state_dict(hf.model.layers[0].state_dict())
    hf.model.layers[0] = first.eval()
    with pytest.raises(mb.UnsupportedModelError, match=r"has 2 layers but .* called 3 times"):
        mb.Model(hf)


def test_two_layers_that_share_an_index_are_refused():
    hf = build("Llama", num_key_value_heads=2)
    hf.model.layers[1].self_attn.layer_idx = 0
    with pytest.raises(mb.UnsupportedModelError, match="each layer must attend exactly once"):
        mb.Model(hf)


def test_a_layer_without_attention_is_refused_with_the_count():
    hf = build("Llama", num_key_value_heads=2)
    hf.model.layers[1].self_attn = LlamaMissingAttention(hf.config, 1)
    with pytest.raises(mb.UnsupportedModelError, match=r"has 2 layers but .* called 1 times"):
        mb.Model(hf)


class LlamaManyWindowsAttention(LlamaAttention):
    """The first layer's window is shorter than the last's, and no `layer_types` tells."""

    def forward(self, *args, **kwargs):
        window = 32 if self.layer_idx == 0 else 48
        return super().forward(*args, sliding_window=window, **kwargs)


def test_the_shortest_of_several_windows_is_the_context():
    assert mb.Model(llama_with(LlamaManyWindowsAttention)).max_model_len == 32


# Positions that depend on the whole batch --------------------------------------------------------


def test_a_long_neighbour_changes_no_answer_where_long_positions_are_computed_otherwise():
    """ "longrope" chooses its frequencies by the longest position in the forward pass.

    Phi-3's 128k models have it. Such a model may be refused, or limited to its short frequencies;
    what is served must not depend on the neighbours.
    """
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 4,
        "long_factor": [4.0] * 4,
        "original_max_position_embeddings": 28,
        "partial_rotary_factor": 1.0,
    }
    hf = build(
        "Phi3", num_key_value_heads=2, original_max_position_embeddings=28, rope_parameters=rope
    )
    try:
        model = mb.Model(hf)
    except mb.UnsupportedModelError:
        return
    short = mb.Request([5, 17, 80, 33, 2, 60, 41, 9], max_tokens=6, ignore_eos=True)
    n = min(40, model.max_model_len - 6)
    long = mb.Request([(7 + 31 * i * i) % 96 for i in range(n)], max_tokens=6, ignore_eos=True)
    completion, _ = mb.Engine(model, mb.Continuous(2)).run([short, long])
    assert_same_tokens(model, short, completion.token_ids)


# What a refusal leaves behind --------------------------------------------------------------------


def test_a_refused_model_still_computes():
    hf = gemma2(layer_types=FULL)
    hf.set_attn_implementation("eager")  # transformers 5.17 begins with SDPA, which caps nothing
    ids = torch.tensor([[5, 17, 80, 33]])
    with torch.no_grad():
        before = hf(ids).logits
        with pytest.raises(mb.UnsupportedModelError):
            mb.Model(hf)
        hf.set_attn_implementation("eager")
        torch.testing.assert_close(hf(ids).logits, before, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("asked", [0, -1, CONTEXT + 1])
def test_a_context_outside_the_models_own_is_refused_with_the_numbers(asked):
    with pytest.raises(ValueError, match=rf"max_model_len is {asked}; .* allows 1 to {CONTEXT}"):
        mb.Model(build("Llama"), max_model_len=asked)


def test_a_config_is_not_changed_by_loading():
    hf = build("Llama", num_key_value_heads=2)
    before = LlamaConfig.from_dict(hf.config.to_dict()).to_dict()
    mb.Model(hf)
    assert LlamaConfig.from_dict(hf.config.to_dict()).to_dict() == before

"""How transformers' models call our attention: it is registered under the name "minibatch".

It is registered with both of transformers' interfaces. Without our keyword a call is plain SDPA
with SDPA's own mask, so `model.hf` stays an ordinary model and `model.hf.generate` works. With
`minibatch=ForwardContext(...)` in the forward call, each layer stores its new K and V and attends
over the paged cache. There is no global switch.
"""

from dataclasses import dataclass

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ..attention.metadata import AttentionMetadata
from ..attention.reference import AttentionFunction
from ..memory.kv_cache import KVCache

NAME = "minibatch"


@dataclass
class ForwardContext:
    """What one forward pass over a plan passes to every layer's attention."""

    kv_cache: KVCache
    metadata: AttentionMetadata
    attention: AttentionFunction

    def attend(
        self,
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scaling: float | None,
        **kwargs: object,
    ) -> torch.Tensor:
        """Store the layer's new K and V, then attend over the cache.

        query: [1, heads, T, head_dim]; key, value: [1, kv_heads, T, head_dim].
        Returns [1, T, heads, head_dim].
        """
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        query, key, value = (heads[0].transpose(0, 1) for heads in (query, key, value))
        return self.attend_tokens(module.layer_idx, query, key, value, scale)[None]

    def attend_tokens(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:
        """The same, with the tokens first: query [T, heads, head_dim]; key, value [T, kv_heads,
        head_dim]. Returns [T, heads, head_dim]."""
        caches = self.kv_cache.keys[layer], self.kv_cache.values[layer]
        if hasattr(self.attention, "write_kv"):
            self.attention.write_kv(*caches, key, value, self.metadata, layer)
        else:
            self.kv_cache.write(layer, key, value, self.metadata.slot_mapping)
        output = self.attention(query, *caches, self.metadata, scale)
        if getattr(output, "shape", None) != query.shape:
            raise wrong_output(self.attention, output, query)
        return output


def wrong_output(attention: AttentionFunction, output: object, query: torch.Tensor) -> TypeError:
    """The error for the author of this attention function."""
    name = getattr(attention, "__name__", type(attention).__name__)
    gave = "None" if output is None else f"a {type(output).__name__}"
    if isinstance(output, torch.Tensor):
        gave = f"a tensor of shape {list(output.shape)}"
    return TypeError(
        f"{name} returned {gave}; attention must return a tensor of the query's shape, "
        f"{list(query.shape)}: tokens, heads, head dimension"
    )


def attention_forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    minibatch: ForwardContext | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Called by the model, once per layer, with the new tokens' q, k and v, positions applied."""
    if minibatch is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
    return minibatch.attend(module, query, key, value, scaling, **kwargs), None


AttentionInterface.register(NAME, attention_forward)
AttentionMaskInterface.register(NAME, sdpa_mask)

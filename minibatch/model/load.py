"""The model: any Hugging Face causal LM that computes attention through transformers' interface.

`load_model()` gives Wayfarer, the small model that comes with the course. A model that the engine
would compute wrongly is refused here, by name and reason (compatibility.py).
"""

import os

import torch
from transformers import PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from ..attention import AttentionFunction, choose
from ..core.collector import freeze_imports
from ..core.other_names import LOADING, translates
from ..memory.blocks import BlockPool
from ..memory.kv_cache import bytes_per_token, free_bytes
from .compatibility import check_agreement, check_config, context_length, probe
from .location import find, read_tokenizer, read_weights
from .registration import NAME
from .runner import ModelRunner
from .text import encode

DTYPES = {name: getattr(torch, name) for name in ("float32", "bfloat16", "float16")}


@translates(LOADING)
def load_model(
    name: str | os.PathLike | PreTrainedModel | None = None,
    *,
    tokenizer: Tokenizer | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    max_model_len: int | None = None,
) -> "Model":
    """A model ready for the engine, with its tokenizer.

    name: a hub id or a folder, "wayfarer" or "wayfarer-junior"; None is $MINIBATCH_MODEL, or else
    Wayfarer. Or a model object of transformers: it is used, not copied. tokenizer: None is the one
    stored with the weights; for a model object, no tokenizer. max_model_len: longest prompt +
    answer in tokens; None is the model's own limit. device: None is the GPU if there is one, else
    the CPU. dtype: "float32", "bfloat16", "float16"; None is float32. A model object keeps its
    device and dtype unless you give these two.
    Raises OSError if there is no such model, UnsupportedModelError if the engine would compute it
    wrongly, ValueError for an unknown dtype.
    """
    if isinstance(dtype, str):
        if dtype not in DTYPES:
            raise ValueError(f"dtype is {dtype!r}; choose one of {', '.join(DTYPES)}")
        dtype = DTYPES[dtype]
    if isinstance(name, PreTrainedModel):
        hf = name.to(device=device, dtype=dtype)
    elif isinstance(name, str | os.PathLike | None):
        place = find(str(name or os.environ.get("MINIBATCH_MODEL") or "wayfarer"))
        device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        hf = read_weights(place, dtype or torch.float32).to(device)
        tokenizer = tokenizer or read_tokenizer(place)
    else:
        raise TypeError(
            f"a {type(name).__name__} is not a model; give a hub id, a folder, or a model object "
            "of the transformers library"
        )
    model = Model(hf, tokenizer, max_model_len=max_model_len)
    freeze_imports()
    return model


class Model:
    """A transformers model, checked and ready to be batched.

    hf: the transformers model itself; `hf.generate` still works. tokenizer: may be None.
    device, dtype: of its weights, and of K and V. vocab_size: token ids are 0 to vocab_size - 1.
    max_model_len: longest prompt + answer, in tokens. eos_token_ids: ids that end an answer.
    kv_shapes: (kv_heads, head_dim) of each layer, measured on the tensors that its attention gets.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: Tokenizer | None = None,
        max_model_len: int | None = None,
    ) -> None:
        if not isinstance(hf, PreTrainedModel):
            raise TypeError(
                f"a {type(hf).__name__} is not a transformers model; mb.load_model takes a hub "
                "id or a folder"
            )
        check_config(hf)
        self.hf = hf.eval()
        self.tokenizer = tokenizer
        self.device = hf.device
        self.dtype = hf.dtype
        self.vocab_size: int = hf.get_input_embeddings().num_embeddings
        eos = hf.generation_config.eos_token_id
        self.eos_token_ids = frozenset([eos] if isinstance(eos, int) else eos or [])

        hf.set_attn_implementation(NAME)
        self.kv_shapes, window = probe(hf)
        self.max_model_len = context_length(hf, window, max_model_len)
        check_agreement(hf, self.kv_shapes, self.max_model_len)

    def runner(self, pool: BlockPool, attention: str | AttentionFunction) -> ModelRunner:
        """A runner that computes an engine's steps, with K and V tensors for this pool's blocks.

        attention: a name or a function, as `minibatch.attention.choose` takes it.
        """
        function = choose(attention, self.device)
        return ModelRunner(self.hf, self.kv_shapes, pool.num_blocks, pool.block_size, function)

    def num_affordable_blocks(self, block_size: int) -> int:
        """How many KV blocks of `block_size` tokens half of the free memory holds; at least 1."""
        bytes_per_block = block_size * bytes_per_token(self.kv_shapes, self.dtype)
        return max(1, free_bytes(self.device) // 2 // bytes_per_block)

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt; a beginning-of-text token is added unless the text has it."""
        return encode(self.tokenizer, text)

    def chat(self, text: str, system: str | None = None) -> str:
        """The prompt string for one question, in the model's own chat format."""
        if self.tokenizer is None or not self.tokenizer.chat_template:
            return text if system is None else f"{system}\n\n{text}"
        messages = [{"role": "user", "content": text}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        render = self.tokenizer.apply_chat_template
        return render(messages, tokenize=False, add_generation_prompt=True)

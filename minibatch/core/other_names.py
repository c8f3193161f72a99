"""What other engines call it: a user of one of them is told the name it has here.

A keyword that a constructor does not take is a TypeError in Python anyway; here it says more.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

_TOKENS = "give max_tokens, the most tokens to generate"
_STOP = "give stop_token_ids, a list of token ids; text is not searched"
_SEVERAL = "give several requests, each with its own seed"
_PROMPT = "give prompt, as text or as a list of token ids"
_ABSENT = "this engine does not have it; leave it out"
_ROWS = "give max_batch_size (Sequential has none), the most sequences in one forward pass"
_BUDGET = "set max_batch_tokens of Continuous, the most tokens in one forward pass"
_OF_POLICY = "give max_batch_size of the policy, as in Continuous(max_batch_size=8)"
_BLOCKS = "give num_blocks, the number of KV blocks in the pool"
_LOAD = "give it to mb.load_model"

REQUEST = {
    **dict.fromkeys(("max_new_tokens", "max_completion_tokens", "max_length"), _TOKENS),
    **dict.fromkeys(("stop", "stop_strings", "stop_sequences", "eos_token_id"), _STOP),
    **dict.fromkeys(("n", "best_of", "num_return_sequences", "num_beams"), _SEVERAL),
    **dict.fromkeys(("prompt_token_ids", "input_ids", "inputs", "text"), _PROMPT),
    **dict.fromkeys(("min_p", "min_tokens", "logprobs", "logit_bias", "stream"), _ABSENT),
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "repetition_penalty"), _ABSENT),
    **dict.fromkeys(
        ("sampling_params", "generation_config"),
        "give its settings directly: max_tokens, temperature, top_p, top_k, seed",
    ),
    "messages": "give prompt=model.chat(text), the text in the model's chat format",
    "do_sample": "give temperature: 0 is greedy, above 0 samples",
}
POLICY = {
    **dict.fromkeys(("max_num_seqs", "batch_size", "max_running_requests"), _ROWS),
    **dict.fromkeys(("max_num_batched_tokens", "chunked_prefill_size"), _BUDGET),
    "max_queue_delay_microseconds": "give max_wait to Dynamic, in seconds",
}
ENGINE = {
    **dict.fromkeys(("max_num_seqs", "batch_size", "max_batch_size"), _OF_POLICY),
    **dict.fromkeys(("max_num_batched_tokens", "max_batch_tokens"), _BUDGET),
    **dict.fromkeys(("gpu_memory_utilization", "num_gpu_blocks_override"), _BLOCKS),
    **dict.fromkeys(("max_model_len", "dtype", "device", "tokenizer"), _LOAD),
    **dict.fromkeys(("attention_backend", "attn_implementation"), "give attention"),
    **dict.fromkeys(("async_scheduling", "disable_overlap_schedule"), "give overlap"),
    "policy": "give scheduler, the second argument",
}
LOADING = {
    "torch_dtype": "give dtype",
    "device_map": 'give device, such as "cpu" or "cuda"',
    **dict.fromkeys(("max_seq_len", "max_length"), "give max_model_len, in tokens"),
    "trust_remote_code": "a model's own code is never run; leave it out",
}

_P, _R = ParamSpec("_P"), TypeVar("_R")


def translates(names: Mapping[str, str]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorates a function or an `__init__`: given one of these names, which it does not take, it
    raises a TypeError that says what to give. One that takes any keyword is left as it is."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        own = inspect.signature(function).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.values()):
            return function
        others = names.keys() - own.keys()

        @functools.wraps(function)
        def translating(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
            if keywords and (wrong := others & keywords.keys()):
                name = min(wrong)
                is_method = function.__name__ == "__init__"
                who = type(arguments[0]).__name__ if is_method else function.__name__
                raise TypeError(f"{who} has no argument {name}: {names[name]}")
            return function(*arguments, **keywords)

        return translating

    return decorate

"""What the ingress and a replica say to each other.

The ingress reads, checks and encodes a request, so that the router knows its tokens. The replica
makes text and JSON of the answer's tokens. So a stop string ends a request without another message,
and the ingress only passes bytes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.request import Request
from ..engine.engine import Engine
from ..model.text import encode
from ..server.protocol import Ask
from ..server.replies import Reply

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request, encoded. requests: one for each of its prompts."""

    ask: Ask
    requests: list[Request]
    reply: Reply

    @property
    def prompt(self) -> str:
        """The first prompt as text: Ray's own routers look for a field of this name."""
        prompt = self.ask.prompts[0]
        return prompt if isinstance(prompt, str) else " ".join(map(str, prompt))


@dataclass(slots=True)
class EngineFacts:
    """What the ingress must know of an engine to check and encode requests for it: it stands in for
    the model, and for the pool, that it does not have."""

    tokenizer: PreTrainedTokenizerBase | None
    vocab_size: int
    max_model_len: int
    num_blocks: int
    block_size: int

    @classmethod
    def of(cls, engine: Engine) -> EngineFacts:
        """Those of an engine."""
        model, pool = engine.model, engine.pool
        return cls(
            model.tokenizer, model.vocab_size, model.max_model_len, pool.num_blocks, pool.block_size
        )

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, as the model encodes it."""
        return encode(self.tokenizer, text)

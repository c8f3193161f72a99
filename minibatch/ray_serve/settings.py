"""What the engine of a replica is made with: the flags of `serve`, as plain values.

Ray sends these to the replicas' processes, and YAML has them for a cluster.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from ..engine.engine import Engine
from ..server.command import make_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Each field is the flag of `python -m minibatch serve` of that name."""

    model: str | None = None
    policy: str = "continuous"
    max_batch_size: int | None = None
    max_batch_tokens: int | None = None
    num_blocks: int | None = None
    prefix_caching: bool = False
    speculation: str | None = None
    max_queued: int = 256
    max_queued_tokens: int | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> EngineSettings:
        """Those of a command line."""
        return cls(**{field.name: getattr(options, field.name) for field in fields(cls)})

    @property
    def name(self) -> str:
        """The served model's."""
        return self.model or "wayfarer"

    def engine(self) -> Engine:
        """An engine, warmed up. Raises what `serve` prints for a wrong flag."""
        return make_engine(self)

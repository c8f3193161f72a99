"""Checks that the course's model is complete, by its files; it is not loaded."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from minibatch.course.setup import ROOT
from minibatch.course.setup.findings import Finding, failure, fine, warning

WEIGHTS = ROOT / "minibatch" / "wayfarer" / "weights"


def check_model() -> Iterator[Finding]:
    """Whether the course's model is complete; an incomplete file would fail only later."""
    chosen = os.environ.get("MINIBATCH_MODEL")
    if chosen:
        seen = f"MINIBATCH_MODEL={chosen} replaces the course's own model"
        yield warning("model", seen, "Unset it to get the lessons' numbers.")
    mend = "git checkout HEAD -- minibatch/wayfarer, or clone the repository again."
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (WEIGHTS / name).is_file():
            yield failure("model", f"{WEIGHTS / name} is missing", mend)
            return
    weights = WEIGHTS / "model.safetensors"
    size, expected = weights.stat().st_size, safetensors_size(weights)
    if size == expected:
        yield fine("model", f"Wayfarer, {size / 1e6:.1f} MB")
    else:
        should_be = "its header is unreadable" if expected is None else f"{expected:,} expected"
        yield failure("model", f"{weights} is damaged: {size:,} bytes, {should_be}", mend)


def safetensors_size(path: Path) -> int | None:
    """The length of the file, in bytes, by its own header; None if it has no header.

    The format: the header's length as 8 bytes, a JSON header, then the tensors at `data_offsets`.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            return None
        try:
            header = json.loads(file.read(length))
        except ValueError:
            return None
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return 8 + length + max(ends, default=0)

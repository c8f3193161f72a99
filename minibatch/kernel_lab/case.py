"""A small paged batch to try a kernel on: scattered KV blocks, rows of different lengths, and the
expected output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..machine_code import Compiled, compiled
from .arrays import empty, partly_written
from .diagnosis import part_that_counted, softmax
from .report import Report
from .run_kernel import Size, run


@dataclass
class PagedCase:
    """One new token of each row attends to all tokens of its row in the cache.

    query: [rows, heads, head_dim]; key_cache, value_cache: [KV blocks, block_size, kv_heads,
    head_dim]; block_tables: int32 [rows, width], padded with 0, which a kernel must not read;
    seq_lens: int32 [rows]; token_rows: int32 [rows]; positions: int64 [rows]; owners: bool [rows,
    slots], the slots of each row. A slot that no row owns is NaN.
    """

    query: np.ndarray
    key_cache: np.ndarray
    value_cache: np.ndarray
    block_tables: np.ndarray
    seq_lens: np.ndarray
    token_rows: np.ndarray
    positions: np.ndarray
    scale: float
    owners: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """The definition, softmax(q k^T * scale) v, in float64."""
        return np.array([np.einsum("hk,khd->hd", *self.parts(r)) for r in range(len(self.query))])

    def compiled(
        self,
        kernel: Callable,
        more: Sequence[object] = (),
        capabilities: Sequence[tuple[int, int]] = (),
        **own: object,
    ) -> list[Compiled]:
        """`lab.compiled` for this case's arrays; more, own: as in `run`."""
        return compiled(kernel, by_name(kernel, self.given() | own, more), capabilities)

    def parts(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The parts of a row's exact output, in float64: weights [heads, tokens] and values
        [tokens, heads, head_dim]."""
        group = self.query.shape[1] // self.key_cache.shape[2]
        key, value = (
            np.concatenate(cache[self.block_tables[row]])[: self.seq_lens[row]]
            .astype(np.float64)
            .repeat(group, axis=1)
            for cache in (self.key_cache, self.value_cache)
        )
        scores = np.einsum("hd,khd->hk", self.query[row].astype(np.float64), key) * self.scale
        return softmax(scores, 1), value

    def why(self, output: np.ndarray, tolerance: float = 2e-5) -> str:
        """A sentence about the first wrong row and head of an output [rows, heads, head_dim]: the
        tokens that it may come from (diagnosis.py). "" if no part of them fits."""
        is_wrong = ~np.isclose(output, self.exact, tolerance, tolerance).all(2)
        row, head = np.argwhere(is_wrong)[0].tolist()
        weights, values = self.parts(row)
        found = part_that_counted(output[row, head], weights[head], values[:, head], tolerance)
        return found and f"row {row}, head {head} comes out as if {found}"

    def given(self) -> dict[str, object]:
        """A kernel's possible arguments, by name. Reading a slot that no row owns is a fault, and
        so is reading a block table beyond its row's KV blocks."""
        owned = self.owners.any(0).reshape(*self.key_cache.shape[:2], 1, 1)
        starts = np.arange(self.block_tables.shape[1]) * self.key_cache.shape[1]
        in_use = starts < self.seq_lens[:, None]
        written = {"key_cache": owned, "value_cache": owned, "block_tables": in_use}
        guarded = {name: partly_written(vars(self)[name], part) for name, part in written.items()}
        return vars(self) | guarded | {"output": empty(self.query.shape)}

    def run(
        self,
        kernel: Callable,
        threads: Size = 32,
        grid: Size | Callable | None = None,
        more: Sequence[object] = (),
        tolerance: float = 2e-5,
        **options: object,
    ) -> Report:
        """`lab.run` with this case's arrays, each passed to the kernel's argument of that name.

        grid: numbers, or a function of the numbers of rows, heads and KV heads; by default a thread
        block for each row and head. The kernel's other arguments: by their names among the options,
        or in order as `more`. The report also lists reads of another row's KV blocks, and where
        `output` differs from `exact`.
        """
        own = {name: options.pop(name) for name in names_of(kernel) if name in options}
        given = self.given() | own
        arguments = by_name(kernel, given, more)
        asked = {"expect": {"output": self.exact}, "owners": self.owners, "tolerance": tolerance}
        if grid is None:
            grid = self.query.shape[:2]
        elif callable(grid):
            grid = grid(*self.query.shape[:2], self.key_cache.shape[2])
        report = run(kernel, grid, threads, *arguments, **(asked | options))
        if report.wrong and "output" in report.wrong:
            output = report.arrays("output")[0].data.reshape(self.query.shape)
            report.wrong = "; ".join(filter(None, [report.wrong, self.why(output, tolerance)]))
        return report


def names_of(kernel: Callable) -> tuple[str, ...]:
    """The names of a kernel's arguments."""
    code = getattr(kernel, "py_func", kernel).__code__
    return code.co_varnames[: code.co_argcount]


def by_name(kernel: Callable, given: dict[str, object], more: Sequence[object]) -> list[object]:
    """A kernel's arguments: each is the one of its name in `given`, or the next of `more`."""
    left = [each.item() if isinstance(each, np.generic) else each for each in more]
    arguments = []
    for name in names_of(kernel):
        if name not in given and not left:
            raise TypeError(
                f"{kernel.__name__} has an argument {name}, but the case has only "
                f"{', '.join(given)}; pass the missing ones by name ({name}=…), or in order "
                "as a list: more=[…]"
            )
        arguments.append(given[name] if name in given else left.pop(0))
    return arguments


def paged_case(
    lengths: Sequence[int],
    *,
    heads: int = 8,
    kv_heads: int = 4,
    head_dim: int = 32,
    block_size: int = 16,
    shared_blocks: int = 0,
    sharpness: float = 1.0,
    scores_near: float = 0.0,
    scale: float | None = None,
    seed: int = 0,
) -> PagedCase:
    """lengths: tokens of each row in the cache, the new one included. shared_blocks: full KV blocks
    at the start of all rows that are long enough. sharpness: a factor for all scores. scores_near:
    their average, if it is not 0. scale: by default 1 / sqrt(head_dim). Raises ValueError for a row
    of no tokens."""
    if min(lengths, default=0) < 1:
        raise ValueError(f"lengths {list(lengths)}: give at least one row, and 1 token in each row")
    rng = np.random.default_rng(seed)
    common = min(shared_blocks, *(length // block_size for length in lengths), 10**9)
    needs = [-(-length // block_size) for length in lengths]
    ids = rng.permutation(common + sum(need - common for need in needs) + 2).tolist()
    first, ids = ids[:common], ids[common:]
    tables = [first + [ids.pop() for _ in range(need - common)] for need in needs]
    block_tables = np.zeros((len(lengths), max(needs)), np.int32)
    owners = np.zeros((len(lengths), (max(map(max, tables)) + 1) * block_size), bool)
    for row, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        block_tables[row, : len(table)] = table
        at = np.arange(length)
        owners[row, np.array(table)[at // block_size] * block_size + at % block_size] = True

    def cache() -> np.ndarray:
        numbers = rng.standard_normal((owners.shape[1], kv_heads, head_dim), np.float32)
        numbers[~owners.any(0)] = np.nan
        return numbers.reshape(-1, block_size, kv_heads, head_dim)

    query = rng.standard_normal((len(lengths), heads, head_dim), np.float32) * sharpness
    scale = head_dim**-0.5 if scale is None else scale
    key_cache = cache()
    if scores_near:  # the first element adds the same number to each score
        query[..., 0] = 1
        key_cache[..., 0] += scores_near / scale
    return PagedCase(
        query.astype(np.float32),
        key_cache,
        cache(),
        block_tables,
        np.array(lengths, np.int32),
        np.arange(len(lengths), dtype=np.int32),
        np.array(lengths, np.int64) - 1,
        scale,
        owners,
    )

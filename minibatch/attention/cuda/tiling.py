"""How the threads of the tiled kernel share a chunk's work: from a model's shape, on the host."""

from dataclasses import dataclass

WARP = 32
MOST_LINES = 8
REGISTERS = 65_536  # of a multiprocessor
MOST_RESIDENT = 4  # thread blocks: 32 or 48 KB of loads under way; an H100 needs about 17 KB


@dataclass(frozen=True)
class Tiling:
    """A line is one query head of one new token. All lines of a KV head and a row read the same K
    and V, so a thread block computes as many lines as its registers hold."""

    head_dim: int
    block_size: int
    kv_heads: int
    group: int  # query heads per KV head
    tokens: int  # at most: new tokens of a row that are computed together
    lines: int  # at most: lines of a thread block
    slices: int  # thread blocks for a chunk and a KV head; more than 1 if one cannot hold all lines
    lanes: int  # of a team, which loads a token's K together
    pieces: int  # 16-byte loads of a lane for one K; the last may lie beyond head_dim
    per_load: int  # numbers in 16 bytes
    num_threads: int  # of a thread block: whole warps
    at_once: int  # tokens that a team loads before it computes: loads under way together
    resident: int  # thread blocks of a multiprocessor that can read at the same time

    @property
    def teams(self) -> int:
        return self.num_threads // self.lanes


def plan_tiling(
    head_dim: int,
    block_size: int,
    kv_heads: int,
    group: int,
    itemsize: int,
    num_threads: int = 128,
    compute_capability: tuple[int, int] = (9, 0),
    new_tokens: int = 1,
) -> Tiling:
    """itemsize: bytes of a stored number; new_tokens: the most new tokens of any row.

    q and result, lines * width numbers each, stay in registers. Below compute capability 9.0 ptxas
    uses more than twice as many registers for the same source, so there each thread holds half as
    much. A thread holds q and result, then K and V, then V and scores, and about 8 numbers more.
    """
    per_load = 16 // itemsize
    loads = head_dim // per_load
    lanes = min(WARP, power_of_two(loads))
    pieces = -(-loads // lanes)
    width = pieces * per_load
    room, copies = (64, 1) if compute_capability >= (9, 0) else (32, 2.5)
    most = min(MOST_LINES, room // width, lanes)  # a lane weighs one line
    tokens = min(power_of_two(new_tokens), max(1, most // group))
    slices = -(-group * tokens // most)
    lines = -(-group * tokens // slices)
    at_once = min(lanes, 4 if lines * width <= room // 2 else 2)
    loads, scores = at_once * pieces * 4, at_once * power_of_two(lines)
    registers = int(copies * (2 * lines * width + loads + max(loads, scores) + 8))
    shape = (head_dim, block_size, kv_heads, group, tokens, lines, slices)
    resident = max(1, min(MOST_RESIDENT, REGISTERS // (registers * num_threads)))
    return Tiling(*shape, lanes, pieces, per_load, num_threads, at_once, resident)


def power_of_two(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()

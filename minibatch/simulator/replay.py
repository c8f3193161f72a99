"""The same requests in another memory: how every place of it is used, step by step.

There is no model and no engine. An admitted request computes its prompt in one step and generates
one token in each, as under `Continuous`. Requests wait only for memory, first come, first served.
So two memories differ only in how they allocate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..core.records import MemoryUse
from ..core.request import Request
from ..memory.blocks import BlockPool
from ..memory.contiguous import Ask, Buddy, FirstFit, final_length


@dataclass
class Tenant:
    """A request in memory. name: its id. written: tokens of its answer so far. places: its
    stretches of memory, in the order of its tokens."""

    request: Request
    name: str
    written: int = 0
    places: list[range] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        """Tokens whose K and V are stored after a step: the prompt, and earlier generated ones."""
        return len(self.request.prompt) + self.written


@dataclass(frozen=True)
class Stretch:
    """A stretch of memory that a request holds: `tokens` of it have K and V now, `useful` will have
    them at the end, `asked` were requested. The allocator added the rest of `place`."""

    name: str
    place: range
    tokens: int
    useful: int
    asked: int


@dataclass(frozen=True)
class Moment:
    """One step. waiting: requests not admitted yet, in order. needs: tokens that the first of them
    asks for; fits: the length of a hole for it; both 0 if no request waits. preempted: requests
    preempted in this step."""

    stretches: tuple[Stretch, ...]
    holes: tuple[range, ...]
    waiting: tuple[str, ...]
    needs: int
    fits: int
    preempted: tuple[str, ...] = ()

    @property
    def running(self) -> tuple[str, ...]:
        """The requests in memory, each once."""
        return tuple(dict.fromkeys(stretch.name for stretch in self.stretches))

    @property
    def waits_though_enough_is_free(self) -> bool:
        """Whether the first in the queue fits into all holes together, but into no single one."""
        return 0 < self.needs <= sum(map(len, self.holes)) and not any(
            len(hole) >= self.fits for hole in self.holes
        )

    @property
    def use(self) -> MemoryUse:
        """The use of all places. A hole is external if the next request does not fit into it."""
        some = self.stretches
        return MemoryUse(
            tokens=sum(s.tokens for s in some),
            reserved=sum(s.useful - s.tokens for s in some),
            internal=sum(s.asked - s.useful for s in some),
            external=sum(len(s.place) - s.asked for s in some)
            + sum(len(hole) for hole in self.holes if len(hole) < self.fits),
            free=sum(len(hole) for hole in self.holes if len(hole) >= self.fits),
        )


class Contiguous:
    """One stretch for each request, for as long as it stays. places: the allocator. ask: how much
    a request reserves."""

    def __init__(self, places: FirstFit | Buddy, ask: Ask) -> None:
        self.places, self.ask = places, ask
        self.num_tokens = places.num_tokens

    def needs(self, tenant: Tenant) -> tuple[int, int]:
        """(tokens it asks for, length of a hole for it)."""
        return (asked := self.ask(tenant.request)), self.places.takes(asked)

    def grow(self, tenant: Tenant) -> bool:
        """Allocate room for all its tokens so far; False if there is none."""
        if not tenant.places:
            place = self.places.allocate(self.ask(tenant.request))
            tenant.places = [] if place is None else [place]
        return bool(tenant.places)

    def leave(self, tenant: Tenant) -> None:
        """Free its stretch."""
        self.places.free(tenant.places.pop())

    @property
    def holes(self) -> list[range]:
        """The free stretches, in order."""
        return self.places.holes

    def asked_of(self, tenant: Tenant) -> list[int]:
        """For each of its places, how much of it was asked for."""
        return [self.ask(tenant.request)]


class Paged:
    """Blocks of a `BlockPool`, allocated one at a time as tokens come."""

    def __init__(self, num_blocks: int, block_size: int = 16) -> None:
        self.pool = BlockPool(num_blocks, block_size)
        self.num_tokens = num_blocks * block_size

    def needs(self, tenant: Tenant) -> tuple[int, int]:
        """(tokens of all blocks that it needs now, length of one block): any free block fits."""
        num_blocks = -(-tenant.num_tokens // self.pool.block_size)
        return num_blocks * self.pool.block_size, self.pool.block_size

    def grow(self, tenant: Tenant) -> bool:
        """Allocate blocks for all its tokens so far; False if too few are free."""
        size = self.pool.block_size
        lacking = -(-tenant.num_tokens // size) - len(tenant.places)
        if lacking > self.pool.num_free:
            return False
        taken = self.pool.allocate(max(0, lacking))
        tenant.places += [range(i * size, (i + 1) * size) for i in taken]
        return True

    def leave(self, tenant: Tenant) -> None:
        """Free its blocks."""
        self.pool.free(place.start // self.pool.block_size for place in tenant.places)
        tenant.places = []

    @property
    def holes(self) -> list[range]:
        """Every free block."""
        size, pool = self.pool.block_size, self.pool
        free = (i for i in range(pool.num_blocks) if not pool.ref_count(i))
        return [range(i * size, (i + 1) * size) for i in free]

    def asked_of(self, tenant: Tenant) -> list[int]:
        """Whole blocks: all of each was asked for."""
        return [len(place) for place in tenant.places]


def replay(requests: Iterable[Request], memory: Contiguous | Paged) -> list[Moment]:
    """A moment for each step until all have been served.

    requests: prompts are lists of ids, arrival times are whole steps; each generates its
    max_tokens. If blocks run out, the newest request is preempted and computed again later. Raises
    ValueError for a request that never fits.
    """
    queue = deque(Tenant(r, r.request_id or f"request-{i}") for i, r in enumerate(requests))
    queue = deque(sorted(queue, key=lambda tenant: tenant.request.arrival_time or 0))
    for tenant in queue:
        asked = max(memory.needs(tenant)[0], final_length(tenant.request))
        if asked > memory.num_tokens:
            raise ValueError(
                f"request {tenant.name!r} asks for {asked:,} tokens; this memory has "
                f"{memory.num_tokens:,}"
            )
    running: list[Tenant] = []
    waiting: deque[Tenant] = deque()
    moments: list[Moment] = []
    while queue or waiting or running:
        while queue and (queue[0].request.arrival_time or 0) <= len(moments):
            waiting.append(queue.popleft())
        preempted = _grow_or_preempt(running, memory)
        waiting.extendleft(preempted)
        while waiting and not preempted and memory.grow(waiting[0]):
            running.append(waiting.popleft())
        if waiting and not running:
            raise ValueError(f"request {waiting[0].name!r} does not fit even into an empty memory")
        moments.append(_moment(running, waiting, memory, preempted))
        for tenant in list(running):
            tenant.written += 1
            if tenant.written == tenant.request.max_tokens:
                running.remove(tenant)
                memory.leave(tenant)
    return moments


def _grow_or_preempt(running: list[Tenant], memory: Contiguous | Paged) -> list[Tenant]:
    """Allocate one token more for each, oldest first. Returns the preempted ones, newest first."""
    preempted = []
    for tenant in list(running):
        while tenant in running and not memory.grow(tenant):
            preempted.append(newest := running.pop())
            memory.leave(newest)
    return preempted


def _moment(
    running: list[Tenant],
    waiting: deque[Tenant],
    memory: Contiguous | Paged,
    preempted: list[Tenant],
) -> Moment:
    stretches = []
    for tenant in running:
        tokens, useful = tenant.num_tokens, final_length(tenant.request)
        for place, asked in zip(tenant.places, memory.asked_of(tenant), strict=True):
            stretches.append(
                Stretch(tenant.name, place, min(tokens, asked), min(useful, asked), asked)
            )
            tokens, useful = max(0, tokens - asked), max(0, useful - asked)
    needs, fits = memory.needs(waiting[0]) if waiting else (0, 0)
    names = tuple(tenant.name for tenant in waiting)
    preempted_names = tuple(tenant.name for tenant in preempted)
    return Moment(tuple(stretches), tuple(memory.holes), names, needs, fits, preempted_names)

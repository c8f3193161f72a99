"""One greenlet for each thread of a thread block; barriers and warp operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from math import prod
from random import Random
from types import FrameType

from greenlet import getcurrent, greenlet

from .faults import REMARK, Notes, Site, Stop, kernel_frame, site_here

WARP = 32
BARRIER, SYNC_WARP = "syncthreads", "syncwarp"
SWITCHED = "switched"  # returned by a thread that was interrupted, and can continue
STAYS = 0.9  # with a schedule: the probability that a thread continues after an access


@dataclass(slots=True)
class Meeting:
    """What a thread waits for: the block's barrier, or the lanes of a mask."""

    what: str
    frame: FrameType  # of the kernel, which does not run meanwhile
    mask: int = 0
    brings: object = None
    resolve: Callable | None = None  # what each thread brings -> what each gets

    @property
    def site(self) -> Site:
        return site_here(self.frame)

    @property
    def where(self) -> tuple:
        """Threads with the same value here take part in the same meeting."""
        return self.what, self.mask, self.frame.f_lasti, self.frame.f_code


@dataclass(eq=False)
class Thread:
    """One thread of the grid.

    epoch: barriers of the block so far. clock: a vector clock of the warp's lanes, in `syncwarp`s:
    this lane's own count, and the last count of each other lane that this one knows. phase:
    meetings of the whole warp so far, shuffles included; within a phase, a warp's lanes are treated
    as parallel.
    """

    number: int  # in the grid
    index: tuple[int, int, int]
    block: tuple[int, int, int]
    rank: int  # in the block
    epoch: int = 0
    clock: tuple[int, ...] = ()
    phase: int = 0
    waits: Meeting | None = None
    greenlet: greenlet | None = None

    def __post_init__(self) -> None:
        self.lane = self.rank % WARP
        self.clock = tuple(int(lane == self.lane) for lane in range(WARP))

    @property
    def done(self) -> bool:
        return self.greenlet.dead

    @property
    def name(self) -> str:
        index, block = (at if any(at[1:]) else at[0] for at in (self.index, self.block))
        return f"thread {index} of thread block {block}"

    def joins(self, meeting: Meeting) -> bool:
        """Whether this thread waits for the same meeting, at the same place."""
        return not self.done and self.waits is not None and self.waits.where == meeting.where


def thread_of(number: int, notes: Notes) -> Thread:
    """The thread of that number in the grid; x varies fastest."""
    block, rank = divmod(number, prod(notes.threads))
    return Thread(number, _unravelled(rank, notes.threads), _unravelled(block, notes.grid), rank)


def _unravelled(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    wide, high, _ = sizes
    return number % wide, number // wide % high, number // (wide * high)


class Block:
    """Runs one thread block: every thread until it waits, then those whose meeting is complete.

    pause: called with the threads at a barrier, and with [] at the end. schedule: draws the order
    of the threads; without one they run in the order of their numbers, each until it waits.
    """

    def __init__(
        self,
        notes: Notes,
        threads: list[Thread],
        body: Callable,
        pause: Callable,
        schedule: Random | None = None,
    ) -> None:
        self.threads, self.shared, self.has_dynamic = threads, {}, False
        self._notes, self._pause, self._schedule = notes, pause, schedule
        self._slow: dict[int, set[int]] = {}  # by epoch: ranks of the threads that run later
        if schedule:
            hub = getcurrent()
            notes.switch_threads = lambda: schedule.random() < STAYS or hub.switch(SWITCHED)
        self._warps = [threads[i : i + WARP] for i in range(0, len(threads), WARP)]
        for thread in threads:
            thread.greenlet = greenlet(body)

    def run(self) -> None:
        try:
            ready: list[tuple] = [(thread,) for thread in self.threads]
            while ready:
                ready, waiting = self._draw_order(ready) if self._schedule else (ready, [])
                for thread, *answer in ready:
                    self._notes.thread = thread
                    if thread.greenlet.switch(*answer) is SWITCHED:
                        waiting.append((thread,))
                ready = waiting or self._meet_in_warps() or self._meet_in_block()
            self._pause([])
        except Exception as error:
            error.add_note(f"In the kernel lab, {self._notes.thread.name}.")
            raise
        finally:
            for thread in self.threads:  # unwind threads that still wait after a fault
                if not thread.done:
                    thread.greenlet.throw()

    def _draw_order(self, ready: list[tuple]) -> tuple[list[tuple], list[tuple]]:
        """The threads that run now, in a drawn order, and those that run later. Half of the threads
        are slow: they run when the others wait. They are drawn again after each barrier."""
        epoch = max(thread.epoch for thread, *_ in ready)
        if epoch not in self._slow:
            half = self._schedule.sample(self.threads, len(self.threads) // 2)
            self._slow = {epoch: {thread.rank for thread in half}}
        slow = self._slow[epoch]
        quick = [each for each in ready if each[0].rank not in slow] or ready
        later = [] if quick is ready else [each for each in ready if each[0].rank in slow]
        return self._schedule.sample(quick, len(quick)), later

    def _meet_in_warps(self) -> list[tuple[Thread, object]]:
        ready = []
        for thread in self.threads:
            meeting = thread.waits
            if thread.done or meeting is None or meeting.what == BARRIER:
                continue
            wanted = self._lanes_of_mask(thread)
            if not all(other.joins(meeting) for other in wanted):
                continue
            got = meeting.resolve({other.lane: other.waits.brings for other in wanted})
            if meeting.what == SYNC_WARP:
                _merge_clocks(wanted)
            warp = self._warps[thread.rank // WARP]
            is_whole = all(meeting.mask >> other.lane & 1 for other in warp)
            ready += [_release(other, got[other.lane], is_whole) for other in wanted]
        return ready

    def _meet_in_block(self) -> list[tuple[Thread, object]]:
        waiting = [thread for thread in self.threads if not thread.done]
        for thread in waiting:
            if thread.waits.what != BARRIER:
                self._deadlock(thread)
        if not waiting:
            return []
        first, site = waiting[0], waiting[0].waits.site
        gone = [thread for thread in self.threads if thread.done]
        elsewhere = [thread for thread in waiting if thread.waits.site != site]
        rule = "All threads of a thread block must come to the same barrier"
        if gone:
            text = f"{_names(gone)} returned before this barrier, which a GPU from 2017 on allows"
            self._notes.fault(REMARK, text, site, thread=first)
        if elsewhere:
            other = elsewhere[0].waits.site
            text = f"{{who}} waits here, {_names(elsewhere)} in {self._notes.where(other)}. {rule}"
            self._notes.fault("divergence", text, site, other, thread=first)
        self._pause(waiting)
        answer = first.waits.resolve([thread.waits.brings for thread in waiting])
        for thread in waiting:
            thread.epoch += 1
        return [_release(thread, answer) for thread in waiting]

    def _deadlock(self, stuck: Thread) -> None:
        """Report lanes of a mask that never meet. Raises Stop: later results are meaningless."""
        meeting = stuck.waits
        absent = [other for other in self._lanes_of_mask(stuck) if not other.joins(meeting)]
        other = absent[0].waits
        line = self._notes.where(other.site)
        why = f"{_names(absent)} in {other.what}, {line}, mask {other.mask:#x}"
        text = f"{{who}} waits in {meeting.what} for its mask {meeting.mask:#x}, and {why}"
        kind = "deadlock" if meeting.what == SYNC_WARP else "shuffle"
        self._notes.fault(kind, text, meeting.site, other.site, thread=stuck)
        raise Stop

    def _lanes_of_mask(self, thread: Thread) -> list[Thread]:
        """The threads of its warp in its mask that have not returned, itself included."""
        warp, mask = self._warps[thread.rank // WARP], thread.waits.mask
        return [other for other in warp if mask >> other.lane & 1 and not other.done]


def wait(notes: Notes, what: str, **more: object) -> object:
    """Called in a thread's greenlet: returns when the other threads have arrived."""
    notes.count()
    notes.thread.waits = Meeting(what, kernel_frame(), **more)
    return getcurrent().parent.switch()


def _release(thread: Thread, answer: object, is_whole: bool = True) -> tuple[Thread, object]:
    """Let a thread continue with its answer. is_whole: the whole warp met."""
    thread.waits = None
    thread.phase += is_whole
    return thread, answer


def _merge_clocks(lanes: list[Thread]) -> None:
    """Merge the lanes' clocks; each lane's own count goes up by 1."""
    merged = [max(times) for times in zip(*(each.clock for each in lanes), strict=True)]
    for each in lanes:
        own = each.clock[each.lane] + 1
        each.clock = (*merged[: each.lane], own, *merged[each.lane + 1 :])


def _names(threads: list[Thread]) -> str:
    """Threads 3, 4, 5 and 9 as "threads 3-5, 9"."""
    found = spans([thread.rank for thread in threads])
    return f"thread{'s' * (len(threads) > 1)} {', '.join(found[:4])}" + ", …" * (len(found) > 4)


def spans(ranks: list[int]) -> list[str]:
    """0, 1, 2 and 5 as "0-2" and "5"; in their order."""
    runs = groupby(enumerate(ranks), lambda each: each[1] - each[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]
    return [str(a) if a == b else f"{a}-{b}" for a, b in ends]

"""One greenlet for each thread of a thread block, and what they wait for together."""

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
GAVE_WAY = "gave way"  # what a thread tells that could go on
PATIENCE = 0.9  # how likely a thread goes on after an access, under a schedule


@dataclass(slots=True)
class Meeting:
    """What a thread waits for: the block's barrier, or the lanes of a mask."""

    what: str
    frame: FrameType  # of the kernel, which stands still meanwhile
    mask: int = 0
    brings: object = None
    resolve: Callable | None = None  # what all have brought -> what each gets

    @property
    def site(self) -> Site:
        return site_here(self.frame)

    @property
    def where(self) -> tuple:
        """Who waits for the same there has met."""
        return self.what, self.mask, self.frame.f_lasti, self.frame.f_code


@dataclass(eq=False)
class Thread:
    """One thread of the grid.

    epoch grows at barriers of the block. clock, a vector clock: how far this lane has come, in
    `syncwarp`s, and how far each other lane of the warp had come when this one last heard of it.
    phase grows at every meeting of the whole warp, shuffles too: within one, a warp's lanes are
    taken to run side by side.
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
        """Whether it waits for that, at the same place."""
        return not self.done and self.waits is not None and self.waits.where == meeting.where


def thread_of(number: int, notes: Notes) -> Thread:
    """The thread of that number in the grid; x is the fastest direction."""
    block, rank = divmod(number, prod(notes.threads))
    return Thread(number, _unravelled(rank, notes.threads), _unravelled(block, notes.grid), rank)


def _unravelled(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    wide, high, _ = sizes
    return number % wide, number // wide % high, number // (wide * high)


class Block:
    """Runs one thread block: every thread as far as it gets, then whoever has met goes on.

    pause: called with those who have met at a barrier, and with nobody at the end. schedule: draws
    whose turn it is; without one threads take turns in the order of their numbers, each as far as
    it gets.
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
        self._slow: dict[int, set[int]] = {}  # by epoch: who lags behind the others
        if schedule:
            hub = getcurrent()
            notes.give_way = lambda: schedule.random() < PATIENCE or hub.switch(GAVE_WAY)
        self._warps = [threads[i : i + WARP] for i in range(0, len(threads), WARP)]
        for thread in threads:
            thread.greenlet = greenlet(body)

    def run(self) -> None:
        try:
            ready: list[tuple] = [(thread,) for thread in self.threads]
            while ready:
                ready, waiting = self._drawn(ready) if self._schedule else (ready, [])
                for thread, *answer in ready:
                    self._notes.thread = thread
                    if thread.greenlet.switch(*answer) is GAVE_WAY:
                        waiting.append((thread,))
                ready = waiting or self._meet_in_warps() or self._meet_in_block()
            self._pause([])
        except Exception as error:
            error.add_note(f"In the kernel lab, {self._notes.thread.name}.")
            raise
        finally:
            for thread in self.threads:  # unwind those that a fault has left waiting
                if not thread.done:
                    thread.greenlet.throw()

    def _drawn(self, ready: list[tuple]) -> tuple[list[tuple], list[tuple]]:
        """Whose turn it is, in what order, and who comes later. Some are slow: they get a turn when
        the others wait. Who they are is drawn anew between barriers."""
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
            wanted = self._named(thread)
            if not all(other.joins(meeting) for other in wanted):
                continue
            got = meeting.resolve({other.lane: other.waits.brings for other in wanted})
            if meeting.what == SYNC_WARP:
                _tell_each_other(wanted)
            warp = self._warps[thread.rank // WARP]
            is_whole = all(meeting.mask >> other.lane & 1 for other in warp)
            ready += [_released(other, got[other.lane], is_whole) for other in wanted]
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
            said = f"{_names(gone)} returned before this barrier, which a GPU from 2017 on allows"
            self._notes.fault(REMARK, said, site, thread=first)
        if elsewhere:
            other = elsewhere[0].waits.site
            said = f"{{who}} waits here, {_names(elsewhere)} in {self._notes.where(other)}. {rule}"
            self._notes.fault("divergence", said, site, other, thread=first)
        self._pause(waiting)
        answer = first.waits.resolve([thread.waits.brings for thread in waiting])
        for thread in waiting:
            thread.epoch += 1
        return [_released(thread, answer) for thread in waiting]

    def _deadlock(self, stuck: Thread) -> None:
        """Lanes of a mask that never meet: nothing after this would mean anything."""
        meeting = stuck.waits
        absent = [other for other in self._named(stuck) if not other.joins(meeting)]
        other = absent[0].waits
        line = self._notes.where(other.site)
        why = f"{_names(absent)} in {other.what}, {line}, mask {other.mask:#x}"
        said = f"{{who}} waits in {meeting.what} for its mask {meeting.mask:#x}, and {why}"
        kind = "deadlock" if meeting.what == SYNC_WARP else "shuffle"
        self._notes.fault(kind, said, meeting.site, other.site, thread=stuck)
        raise Stop

    def _named(self, thread: Thread) -> list[Thread]:
        """Those of its warp that its mask names and that have not returned, itself among them."""
        warp, mask = self._warps[thread.rank // WARP], thread.waits.mask
        return [other for other in warp if mask >> other.lane & 1 and not other.done]


def wait(notes: Notes, what: str, **more: object) -> object:
    """Called in a thread's greenlet: back when the others have come."""
    notes.count()
    notes.thread.waits = Meeting(what, kernel_frame(), **more)
    return getcurrent().parent.switch()


def _released(thread: Thread, answer: object, is_whole: bool = True) -> tuple[Thread, object]:
    """is_whole: the meeting was the whole warp's."""
    thread.waits = None
    thread.phase += is_whole
    return thread, answer


def _tell_each_other(lanes: list[Thread]) -> None:
    """Merge the lanes' clocks; each goes on one further in its own."""
    heard = [max(times) for times in zip(*(each.clock for each in lanes), strict=True)]
    for each in lanes:
        own = each.clock[each.lane] + 1
        each.clock = (*heard[: each.lane], own, *heard[each.lane + 1 :])


def _names(threads: list[Thread]) -> str:
    """Threads 3, 4, 5 and 9 as "threads 3-5, 9"."""
    found = spans([thread.rank for thread in threads])
    return f"thread{'s' * (len(threads) > 1)} {', '.join(found[:4])}" + ", …" * (len(found) > 4)


def spans(ranks: list[int]) -> list[str]:
    """0, 1, 2 and 5 as "0-2" and "5"; in their order."""
    runs = groupby(enumerate(ranks), lambda each: each[1] - each[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]
    return [str(a) if a == b else f"{a}-{b}" for a, b in ends]

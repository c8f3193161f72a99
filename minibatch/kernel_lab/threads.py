"""One greenlet for each thread of a thread block, and what they wait for together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from sys import _getframe
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet

from .arrays import _site
from .faults import Site, Stop

if TYPE_CHECKING:
    from .launch import Launch

WARP = 32
BARRIER, SYNC_WARP = "syncthreads", "syncwarp"


@dataclass(eq=False)
class Thread:
    """One thread of the grid. Two of its numbers order what it does before and after it waits:

    epoch grows at barriers of the block, warp_epoch at those of the warp. phase grows at every
    meeting of threads, shuffles too: within one, a warp's lanes are taken to run side by side.
    """

    number: int  # in the grid
    index: tuple[int, int, int]
    block: tuple[int, int, int]
    lane: int
    warp: int  # in the block
    greenlet: greenlet | None = None
    epoch: int = 0
    warp_epoch: int = 0
    phase: int = 0
    waits: Meeting | None = None
    done: bool = False
    seen: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        block = ", ".join(str(i) for i in self.block)
        index = self.index if any(self.index[1:]) else self.index[:1]
        return f"thread {', '.join(str(i) for i in index)} of block ({block})"


@dataclass
class Meeting:
    """What a thread waits for: a barrier, or the lanes of a mask, with what it brings along."""

    what: str
    site: Site
    frame: object
    mask: int = 0
    brings: object = None
    resolve: Callable | None = None  # {lane: what it brings} -> {lane: what it gets}


class Block:
    """Runs one thread block: every thread as far as it gets, then whoever has met goes on."""

    def __init__(self, launch: Launch, threads: list[Thread], run: Callable[[], None]) -> None:
        self.launch, self.threads = launch, threads
        self.shared: dict[object, object] = {}
        self.epoch = 0
        self._warps = [threads[i : i + WARP] for i in range(0, len(threads), WARP)]
        for thread in threads:
            thread.greenlet = greenlet(run)

    def run(self) -> None:
        try:
            ready = [(thread, None) for thread in self.threads]
            while ready:
                for thread, answer in ready:
                    self.launch.thread = thread
                    thread.greenlet.switch(*(() if answer is None else answer))
                    thread.done = thread.greenlet.dead
                ready = self._meet_in_warps() or self._meet_in_block()
        finally:
            for thread in self.threads:  # unwind those that a fault has left waiting
                if not thread.greenlet.dead:
                    thread.greenlet.throw()
        self.launch.pause(self, None)

    def _waiting(self, threads: list[Thread]) -> list[Thread]:
        return [thread for thread in threads if not thread.done]

    def _meet_in_warps(self) -> list[tuple[Thread, tuple]]:
        ready = []
        for warp in self._warps:
            for thread in warp:
                meeting = thread.waits
                if thread.done or meeting is None or meeting.what == BARRIER:
                    continue
                wanted = [other for other in warp if meeting.mask >> other.lane & 1]
                if not all(_joins(other, meeting) for other in wanted):
                    continue
                brought = {other.lane: other.waits.brings for other in wanted}
                got = meeting.resolve(brought) if meeting.resolve else {}
                latest = max(other.warp_epoch for other in wanted) + (meeting.what == SYNC_WARP)
                for other in wanted:
                    other.waits = None
                    other.phase += 1
                    if meeting.what == SYNC_WARP:
                        other.warp_epoch = latest
                    ready.append((other, (got.get(other.lane),)))
        return ready

    def _meet_in_block(self) -> list[tuple[Thread, tuple]]:
        waiting = self._waiting(self.threads)
        if not waiting:
            return []
        at_barrier = [thread for thread in waiting if thread.waits.what == BARRIER]
        if len(at_barrier) < len(waiting):
            self._deadlock(waiting, at_barrier)
        self._check_barrier(waiting)
        self.launch.pause(self, waiting)
        self.epoch += 1
        got = waiting[0].waits.resolve
        answer = got([thread.waits.brings for thread in waiting]) if got else None
        for thread in waiting:
            thread.waits = None
            thread.phase += 1
            thread.epoch = self.epoch
        return [(thread, (answer,)) for thread in waiting]

    def _check_barrier(self, waiting: list[Thread]) -> None:
        first = waiting[0]
        gone = [thread for thread in self.threads if thread.done]
        if gone:
            self.launch.fault(
                "divergence",
                f"{{who}} waits at the barrier, and {_names(gone)} of the block will never come: "
                "they have returned. All threads of a block must reach every barrier",
                first.waits.site,
                thread=first,
            )
        elsewhere = [thread for thread in waiting if thread.waits.site != first.waits.site]
        if elsewhere:
            other = elsewhere[0].waits.site
            self.launch.fault(
                "divergence",
                f"{{who}} waits at this barrier, {_names(elsewhere)} at another, in line "
                f"{other.line}. All threads of a block must come to the same one",
                first.waits.site,
                thread=first,
                others=[other],
            )

    def _deadlock(self, waiting: list[Thread], at_barrier: list[Thread]) -> None:
        stuck = next(thread for thread in waiting if thread.waits.what != BARRIER)
        meeting = stuck.waits
        warp = self._warps[stuck.warp]
        absent = [
            other for other in warp if meeting.mask >> other.lane & 1 and not _joins(other, meeting)
        ]
        beyond = meeting.mask >> len(warp)
        if absent:
            where = _whereabouts(absent[0])
            why = f"{_names(absent)} of its mask {meeting.mask:#x} never come: {where}"
        else:
            why = (
                f"its mask {meeting.mask:#x} names lanes that the warp does not have ({beyond:#x})"
            )
        others = [absent[0].waits.site] if absent and absent[0].waits else []
        self.launch.fault(
            "shuffle" if meeting.what != SYNC_WARP else "deadlock",
            f"{{who}} waits in {meeting.what}, and {why}",
            meeting.site,
            thread=stuck,
            others=others,
        )
        raise Stop


def wait(launch: Launch, meeting: Meeting) -> object:
    """Called in a thread's greenlet: back when the others have come."""
    launch.count()
    launch.thread.waits = meeting
    return getcurrent().parent.switch()


def meeting(what: str, depth: int = 2, **more: object) -> Meeting:
    """Of the kernel that called, `depth` frames up from here."""
    frame = _getframe(depth)
    return Meeting(what, _site(frame.f_code, frame.f_lasti), frame, **more)


def _joins(thread: Thread, meeting: Meeting) -> bool:
    other = thread.waits
    return (
        not thread.done
        and other is not None
        and (other.what, other.mask, other.site) == (meeting.what, meeting.mask, meeting.site)
    )


def _whereabouts(thread: Thread) -> str:
    if thread.done:
        return "they have returned"
    return f"they wait in {thread.waits.what}, line {thread.waits.site.line}"


def _names(threads: list[Thread]) -> str:
    """Threads 3, 4, 5 and 9 as "threads 3-5, 9"."""
    spans: list[list[int]] = []
    for number in sorted(thread.lane + WARP * thread.warp for thread in threads):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:4]]
    return f"thread{'s' if len(threads) > 1 else ''} " + ", ".join(shown) + ", …" * (len(spans) > 4)

"""One greenlet for each thread of a thread block, and what they wait for together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import _getframe

from greenlet import getcurrent, greenlet

from .faults import Notes, Site, Stop, site_of_frame

WARP = 32
BARRIER, SYNC_WARP = "syncthreads", "syncwarp"


@dataclass
class Meeting:
    """What a thread waits for: the block's barrier, or the lanes of a mask."""

    what: str
    site: Site
    frame: object
    mask: int = 0
    brings: object = None
    resolve: Callable[[dict], dict] | None = None  # {lane: brought} -> {lane: got}


@dataclass(eq=False)
class Thread:
    """One thread of the grid.

    epoch grows at barriers of the block. clock, a vector clock: how far this lane has come, in
    `syncwarp`s, and how far each other lane of the warp had come when this one last heard of it.
    phase grows at every meeting, shuffles too: within one, a warp's lanes are taken to run side by
    side.
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
        self.clock = tuple(int(lane == self.lane) for lane in range(WARP))

    @property
    def lane(self) -> int:
        return self.rank % WARP

    @property
    def done(self) -> bool:
        return self.greenlet.dead

    @property
    def name(self) -> str:
        index = self.index if any(self.index[1:]) else self.index[0]
        return f"thread {index} of block {self.block}"

    def joins(self, meeting: Meeting) -> bool:
        """Whether it waits for that, at the same place."""
        own = self.waits
        return (
            not self.done
            and own is not None
            and (own.what, own.mask, own.site) == (meeting.what, meeting.mask, meeting.site)
        )


class Block:
    """Runs one thread block: every thread as far as it gets, then whoever has met goes on.

    pause: called with those who have met at a barrier, and with nobody at the end.
    """

    def __init__(
        self,
        notes: Notes,
        threads: list[Thread],
        run: Callable[[], None],
        pause: Callable[[list[Thread]], None],
    ) -> None:
        self.threads, self.shared, self.has_dynamic = threads, {}, False
        self._notes, self._pause = notes, pause
        self._warps = [threads[i : i + WARP] for i in range(0, len(threads), WARP)]
        for thread in threads:
            thread.greenlet = greenlet(run)

    def run(self) -> None:
        try:
            ready: list[tuple] = [(thread,) for thread in self.threads]
            while ready:
                for thread, *answer in ready:
                    self._notes.thread = thread
                    thread.greenlet.switch(*answer)
                ready = self._meet_in_warps() or self._meet_in_block()
            self._pause([])
        finally:
            for thread in self.threads:  # unwind those that a fault has left waiting
                if not thread.done:
                    thread.greenlet.throw()

    def _meet_in_warps(self) -> list[tuple[Thread, object]]:
        ready = []
        for warp in self._warps:
            for thread in warp:
                meeting = thread.waits
                if thread.done or meeting is None or meeting.what == BARRIER:
                    continue
                named = [other for other in warp if meeting.mask >> other.lane & 1]
                wanted = [other for other in named if not other.done]
                if not all(other.joins(meeting) for other in wanted):
                    continue
                if len(wanted) < meeting.mask.bit_count():
                    said = f"{{who}} is in {meeting.what}, and its mask {meeting.mask:#x} names "
                    lost = [other for other in named if other.done]
                    said += (
                        f"{_names(lost)}, which returned" if lost else "lanes that are not there"
                    )
                    self._notes.fault("shuffle", said, meeting.site, "", thread)
                got = meeting.resolve({other.lane: other.waits.brings for other in wanted})
                if meeting.what == SYNC_WARP:
                    _tell_each_other(wanted)
                for other in wanted:
                    other.waits = None
                    other.phase += 1
                    ready.append((other, got[other.lane]))
        return ready

    def _meet_in_block(self) -> list[tuple[Thread, object]]:
        waiting = [thread for thread in self.threads if not thread.done]
        if not waiting:
            return []
        stuck = [thread for thread in waiting if thread.waits.what != BARRIER]
        if stuck:
            self._deadlock(stuck[0])
        first = waiting[0]
        gone = [thread for thread in self.threads if thread.done]
        elsewhere = [thread for thread in waiting if thread.waits.site != first.waits.site]
        rule = "All threads of a block must come to the same barrier"
        if gone:
            said = f"{{who}} waits here, and {_names(gone)} returned before. {rule}"
            self._notes.fault("divergence", said, first.waits.site, "", first)
        if elsewhere:
            other = elsewhere[0].waits.site
            said = f"{{who}} waits here, {_names(elsewhere)} in line {other.line}. {rule}"
            self._notes.fault("divergence", said, first.waits.site, "", first, other)
        self._pause(waiting)
        count = first.waits.resolve
        answer = count([thread.waits.brings for thread in waiting]) if count else None
        for thread in waiting:
            thread.waits = None
            thread.phase += 1
            thread.epoch += 1
        return [(thread, answer) for thread in waiting]

    def _deadlock(self, stuck: Thread) -> None:
        """Lanes of a mask that never meet: nothing after this would mean anything."""
        meeting, warp = stuck.waits, self._warps[stuck.rank // WARP]
        absent = [
            each
            for each in warp
            if meeting.mask >> each.lane & 1 and not each.done and not each.joins(meeting)
        ]
        other = absent[0].waits
        why = f"{_names(absent)} in {other.what}, line {other.site.line}, mask {other.mask:#x}"
        said = f"{{who}} waits in {meeting.what} for its mask {meeting.mask:#x}, and {why}"
        kind = "deadlock" if meeting.what == SYNC_WARP else "shuffle"
        self._notes.fault(kind, said, meeting.site, "", stuck, other.site)
        raise Stop


def _tell_each_other(lanes: list[Thread]) -> None:
    """Merge the lanes' clocks; each goes on one further in its own."""
    heard = [max(times) for times in zip(*(each.clock for each in lanes), strict=True)]
    for each in lanes:
        own = each.clock[each.lane] + 1
        each.clock = (*heard[: each.lane], own, *heard[each.lane + 1 :])


def meeting(what: str, depth: int = 2, **more: object) -> Meeting:
    """Of the kernel that called, `depth` frames up from here."""
    frame = _getframe(depth)
    return Meeting(what, site_of_frame(frame), frame, **more)


def wait(notes: Notes, meeting: Meeting) -> object:
    """Called in a thread's greenlet: back when the others have come."""
    notes.thread.waits = meeting
    notes.count()
    return getcurrent().parent.switch()


def _names(threads: list[Thread]) -> str:
    """Threads 3, 4, 5 and 9 as "threads 3-5, 9"."""
    spans: list[list[int]] = []
    for thread in threads:
        if spans and spans[-1][1] == thread.rank - 1:
            spans[-1][1] = thread.rank
        else:
            spans.append([thread.rank, thread.rank])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:4]]
    many = "s" * (len(threads) > 1)
    return f"thread{many} {', '.join(shown)}" + ", …" * (len(spans) > 4)

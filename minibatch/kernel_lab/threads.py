"""One greenlet for each thread of a thread block; barriers and warp operations."""

from __future__ import annotations

import dis
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from math import prod
from random import Random
from sys import _getframe
from types import FrameType

from greenlet import getcurrent, greenlet

from .faults import OWN_FILES, Notes, Site, Stop, call_stack, kernel_frame, site_here

WARP = 32
ALL = 0xFFFFFFFF
BARRIER, SYNC_WARP = "syncthreads", "syncwarp"
RULE = "All threads of a thread block must reach the same barrier"
OF_A_RETURN = {"LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "POP_TOP", "NOP"}
SWITCHED = "switched"  # returned by a thread that was interrupted, and can continue
STAYS = 0.9  # with a schedule: the probability that a thread continues after an access


@dataclass(eq=False)
class Thread:
    """One thread of the grid.

    epoch: barriers of the block so far. clock: a vector clock of the warp's lanes, in `syncwarp`s:
    this lane's own count, and the last count of each other lane that this one knows. phase:
    meetings of the whole warp so far, shuffles included; within one, its lanes are parallel.

    While it waits: place is what it waits for, its mask, the instruction, and in a helper the call
    stack: a helper called from two branches is two places. Threads with one place meet. frame: of
    the kernel. brings: its value; resolve: the threads that meet -> what each of them gets. home:
    the kernel's frame, since the thread first asked for its index; it stays where the thread ends.
    """

    number: int  # in the grid
    index: tuple[int, int, int]
    block: tuple[int, int, int]
    rank: int  # in the block
    epoch: int = 0
    clock: tuple[int, ...] = ()
    phase: int = 0
    place: tuple = ()
    frame: FrameType | None = None
    home: FrameType | None = None
    brings: object = None
    resolve: Callable | None = None
    greenlet: greenlet | None = None

    done = property(lambda self: self.greenlet.dead)
    site = property(lambda self: site_here(self.frame))

    def __post_init__(self) -> None:
        self.lane = self.rank % WARP
        self.clock = tuple(int(lane == self.lane) for lane in range(WARP))

    def parts_from(self, other: Thread) -> tuple[Site, Site]:
        """Where the call stacks of two waiting threads differ first, from the kernel's own line on,
        or their ends."""
        stacks = [[*map(site_here, call_stack(each.frame))][::-1] for each in (self, other)]
        pairs = [*zip(*stacks, strict=False)]
        return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])

    def has_passed(self, other: Thread) -> bool:
        """Whether this thread, which has ended, did so beyond the place where another waits: not by
        a `return` in an earlier line, or in the helper that is called there. (DIFFERENCES.md)"""
        *_, waits = call_stack(other.frame)
        end, place = site_here(self.home or waits), site_here(waits)
        return end != place and not (is_return(self.home) and end.line < place.line)

    @property
    def name(self) -> str:
        index, block = (at if any(at[1:]) else at[0] for at in (self.index, self.block))
        return f"thread {index} of thread block {block}"


def thread_of(number: int, notes: Notes) -> Thread:
    """The thread of that number in the grid; x varies fastest."""
    block, rank = divmod(number, prod(notes.threads))
    return Thread(number, _unravelled(rank, notes.threads), _unravelled(block, notes.grid), rank)


def is_return(frame: FrameType) -> bool:
    """Whether a frame has ended by a `return`. At its last line Python returns without one, from
    the place of the code that was executed before."""
    code, places = frame.f_code, list(frame.f_code.co_positions())
    same = [i for i, place in enumerate(places) if place == places[frame.f_lasti // 2]]
    return {dis.opname[code.co_code[2 * i]] for i in same} <= OF_A_RETURN


def _unravelled(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    wide, high, _ = sizes
    return number % wide, number // wide % high, number // (wide * high)


class Block:
    """Runs one thread block: every thread until it waits, then those whose meeting is complete.

    pause: called with the threads at a barrier, and with [] at the end. schedule: draws the order
    of the threads; without one they run in the order of their numbers, each until it waits.
    """

    def __init__(
        self, number: int, notes: Notes, body: Callable, pause: Callable, schedule: Random | None
    ) -> None:
        size, notes.to_hub = prod(notes.threads), getcurrent().switch
        self.threads = [thread_of(number * size + rank, notes) for rank in range(size)]
        self.shared = {}
        self._notes, self._pause, self._schedule = notes, pause, schedule
        self._slow: dict[int, set[int]] = {}  # by epoch: ranks of the threads that run later
        if schedule:
            notes.switch_threads = lambda: schedule.random() < STAYS or notes.to_hub(SWITCHED)
        self._warps = [self.threads[i : i + WARP] for i in range(0, size, WARP)]
        for thread in self.threads:
            thread.greenlet = greenlet(body)

    def run(self) -> None:
        try:
            ready: list[tuple[Thread, object]] = [(thread, None) for thread in self.threads]
            while ready:
                ready, waiting = self._draw_order(ready) if self._schedule else (ready, [])
                for thread, answer in ready:
                    self._notes.thread = thread
                    if thread.greenlet.switch(answer) is SWITCHED:
                        waiting.append((thread, None))
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
        epoch = max(thread.epoch for thread, _ in ready)
        if epoch not in self._slow:
            half = self._schedule.sample(self.threads, len(self.threads) // 2)
            self._slow = {epoch: {thread.rank for thread in half}}
        slow = self._slow[epoch]
        quick = [each for each in ready if each[0].rank not in slow] or ready
        later = [] if quick is ready else [each for each in ready if each[0].rank in slow]
        return self._schedule.sample(quick, len(quick)), later

    def _meet_in_warps(self) -> list[tuple[Thread, object]]:
        ready = []
        for warp in self._warps:
            places: dict[tuple, list[Thread]] = defaultdict(list)
            running = [thread for thread in warp if not thread.done]
            for thread in running:
                places[thread.place].append(thread)
            for (what, mask, *_), lanes in places.items():
                named = warp if mask == ALL else [each for each in warp if mask >> each.lane & 1]
                come = running if named is warp else [each for each in named if not each.done]
                if what != BARRIER and len(lanes) == len(come):
                    if len(come) < len(named):
                        self._look_for_skips(lanes, named)
                    ready += _release(lanes, is_whole=len(named) == len(warp))
        return ready

    def _meet_in_block(self) -> list[tuple[Thread, object]]:
        waiting = [thread for thread in self.threads if not thread.done]
        if stuck := [thread for thread in waiting if thread.place[0] != BARRIER]:
            self._deadlock(stuck[0])
        if not waiting:
            return []
        if elsewhere := [thread for thread in waiting if thread.place != waiting[0].place]:
            here, other = waiting[0].parts_from(elsewhere[0])
            others = f"{_names(elsewhere)} in {self._notes.where(other)}"
            text = f"{{who}} waits here, but {others}. {RULE}"
            self._notes.fault("divergence", text, here, other, thread=waiting[0])
        self._look_for_skips(waiting, self.threads)
        self._pause(waiting)
        for thread in waiting:
            thread.epoch += 1
        return _release(waiting)

    def _look_for_skips(self, met: list[Thread], expected: list[Thread]) -> None:
        """Report threads that ended without the barrier or warp operation at which others meet."""
        gone = [each for each in expected if each.done and each.has_passed(met[0])]
        if gone:
            (what, *_), end = met[0].place, site_here(gone[0].home)
            kind = "divergence" if what in (BARRIER, SYNC_WARP) else "shuffle"
            text = f"{{who}} waits here in {what}; {_names(gone)} skipped it and ended in "
            text += f"{self._notes.where(end)}. All of them must reach it"
            self._notes.fault(kind, text, met[0].site, end, thread=met[0])

    def _deadlock(self, stuck: Thread) -> None:
        """Report lanes of a mask that never meet. Raises Stop: later results are meaningless."""
        what, mask, *_ = stuck.place
        named = [lane for lane in self._warps[stuck.rank // WARP] if mask >> lane.lane & 1]
        absent = [lane for lane in named if not lane.done and lane.place != stuck.place]
        here, there = stuck.parts_from(absent[0])
        theirs, other, *_ = absent[0].place
        text = f"{{who}} waits in {what} with mask {mask:#x}, but {_names(absent)} in "
        where = f"{theirs}, {self._notes.where(there)}, mask {other:#x}"
        kind = "deadlock" if what == SYNC_WARP else "shuffle"
        self._notes.fault(kind, text + where, here, there, thread=stuck)
        raise Stop


def wait(
    notes: Notes, what: str, resolve: Callable, brings: object = None, mask: int = ALL
) -> object:
    """Called in a thread's greenlet: returns when the other threads have arrived."""
    notes.count()
    thread, frame = notes.thread, kernel_frame(_getframe(1))
    if not mask >> thread.lane & 1:
        text = f"{{who}} calls {what} with mask {mask:#x}, without its own lane {thread.lane}"
        notes.fault("shuffle", text)
        raise Stop
    in_helper = frame.f_back.f_code.co_filename not in OWN_FILES
    calls = [(id(each.f_code), each.f_lasti) for each in call_stack(frame)] if in_helper else ()
    thread.place, thread.frame = (what, mask, frame.f_lasti, *calls), frame
    thread.brings, thread.resolve = brings, resolve
    return notes.to_hub()


def _release(threads: list[Thread], is_whole: bool = True) -> list[tuple[Thread, object]]:
    """Let threads that met continue with their answers. is_whole: the whole warp met."""
    answers = threads[0].resolve(threads)
    for thread in threads:
        thread.phase += is_whole
    return list(zip(threads, answers, strict=True))


def merge_clocks(lanes: list[Thread]) -> list[None]:
    """Merge the lanes' clocks; each lane's own count goes up by 1."""
    merged = [max(times) for times in zip(*(each.clock for each in lanes), strict=True)]
    for each in lanes:
        own = each.clock[each.lane] + 1
        each.clock = (*merged[: each.lane], own, *merged[each.lane + 1 :])
    return [None] * len(lanes)


def _names(threads: list[Thread]) -> str:
    return listed("thread", [each.rank for each in threads])


def listed(what: str, ranks: list[int], most: int = 4) -> str:
    """Threads 3, 4, 5 and 9 as "threads 3-5, 9"; at most so many spans."""
    found = spans(ranks)
    return f"{what}{'s' * (len(ranks) > 1)} {', '.join(found[:most])}" + ", …" * (len(found) > most)


def spans(ranks: list[int]) -> list[str]:
    """0, 1, 2 and 5 as "0-2" and "5"; in their order."""
    runs = groupby(enumerate(ranks), lambda each: each[1] - each[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]
    return [str(a) if a == b else f"{a}-{b}" for a, b in ends]

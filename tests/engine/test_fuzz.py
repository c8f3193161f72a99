"""Drawn traffic with drawn faults, under every policy: `engine_fuzz`; and that it can fail.

300 seeds, always the same, in the short suite; 3,000 in the whole suite and 30,000 in a release,
others each time (conftest.py says when which).
"""

import inspect
import random
from collections import Counter

import engine_fuzz
import pytest
from engine_fuzz import run_one

from minibatch import schedulers
from minibatch.core.plan import Row
from minibatch.core.request import Sequence
from minibatch.engine import engine as engine_module
from minibatch.engine.arrivals import Arrivals
from minibatch.memory import prefix
from minibatch.memory.block_manager import BlockManager
from minibatch.memory.blocks import BlockPool
from minibatch.memory.prefix import PrefixIndex
from minibatch.schedulers import Scheduler, admission, chunks, orders, victims

SEEDS = range(300)
AT_ONCE = 30


@pytest.mark.parametrize("overlap", [False, True], ids=["in order", "overlap"])
@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_whatever_comes_nothing_is_lost_and_every_token_is_right(first, overlap):
    for seed in range(first, first + AT_ONCE):
        run_one(seed, overlap=overlap)


def new_seeds(seed_of_run, number):
    draw = random.Random(seed_of_run)  # a text
    return (draw.getrandbits(48) for _ in range(number))


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_seeds_not_tried_before(seed_of_run):
    for seed in new_seeds(seed_of_run, 3_000):
        run_one(seed, overlap=bool(seed % 2))


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_seeds_not_tried_before(seed_of_run):
    for seed in new_seeds(f"release {seed_of_run}", 30_000):
        run_one(seed, overlap=bool(seed % 2))


# That nothing is left out ---------------------------------------------------------------------


def shipped(module, base):
    """What a module has of its own: classes of this base, or, without one, functions."""
    own = [thing for thing in vars(module).values() if inspect.getmodule(thing) is module]
    if base is None:
        return {thing.__name__ for thing in own if inspect.isfunction(thing)}
    return {c.__name__ for c in own if inspect.isclass(c) and issubclass(c, base) and c != base}


def drawn(table):
    return {name.partition("(")[0].partition(" ")[0] for name in table}


def test_every_shipped_part_is_drawn():
    assert drawn(engine_fuzz.ORDERS) == shipped(orders, orders.Order)
    assert drawn(engine_fuzz.CHUNKS) == shipped(chunks, None)
    assert drawn(engine_fuzz.VICTIMS) == shipped(victims, None) | {"Random"}
    assert drawn(engine_fuzz.ADMISSIONS) == set(admission.__all__) - {"Admission"}
    policies = {
        name
        for name, thing in vars(schedulers).items()
        if inspect.isclass(thing) and issubclass(thing, Scheduler) and thing is not Scheduler
    }
    assert drawn(engine_fuzz.POLICIES) == policies


def test_what_is_drawn_comes_about():
    seen = Counter()
    for seed in SEEDS:
        seen += run_one(seed)
    parts = [f"{when} {where}" for when in ("before", "after") for where in engine_fuzz.PARTS]
    acts = ["add", "fork", "abort", "step", "reset"]
    ends = ["stop", "length", "abort", "deadline", "refused"]
    rest = ["preemption", "accepted guess", "rejected draft", "cached tokens", "padding"]
    rare = {what: seen[what] for what in (*parts, "before line", *acts, *ends, *rest)}
    assert {what: times for what, times in rare.items() if times < 8} == {}


def test_what_is_drawn_comes_about_with_overlap():
    seen = Counter()
    for seed in SEEDS[:100]:
        seen += run_one(seed, overlap=True)
    parts = [
        f"{when} {where}" for when in ("before", "after") for where in ("plan", "run", "update")
    ]
    rest = ["abort", "fork", "preemption", "cached tokens", "padding", "wasted row", "before line"]
    assert {what: seen[what] for what in (*parts, *rest) if seen[what] < 8} == {}


# The engine, broken on purpose ----------------------------------------------------------------

allocate, share, free = BlockPool.allocate, BlockPool.share, BlockPool.free
preempt, abort, update = Scheduler.preempt, Scheduler.abort, Scheduler.update
find, root, advance = PrefixIndex.find, prefix.root, Sequence.advance
shareable = BlockManager.shareable


def a_freed_block_stays_in_its_table(self, sequence):
    table = list(sequence.block_table)
    preempt(self, sequence)
    sequence.block_table = table[:1]


def the_counter_is_one_too_far(self, sequence):
    preempt(self, sequence)
    sequence.num_computed_tokens = 1


def a_preempted_sequence_is_lost(self, sequence):
    preempt(self, sequence)
    self.waiting.remove(sequence)


def a_shared_block_is_not_held(self, block_ids):
    block_ids = list(block_ids)
    share(self, block_ids)
    free(self, block_ids)


def a_held_block_is_given_out_again(self, num_blocks):
    taken = allocate(self, num_blocks)
    held = [i for i in range(self.num_blocks) if self.ref_count(i) and i not in taken]
    return [held[0], *taken[1:]] if held and taken else taken


def another_block_is_found(self, sequence):
    found = find(self, sequence)
    return [*found[:-1], next(iter(self))] if found else found


def a_wrong_guess_is_accepted(self, own):
    agreed = 0
    while agreed < len(self.draft) and self.draft[agreed] == own[agreed]:
        agreed += 1
    return [*self.draft[: agreed + 1], own[-1]] if agreed < len(self.draft) else own


def a_refused_guess_counts_as_computed(self, plan, tokens, now):
    finished = update(self, plan, tokens, now)
    for row, new in zip(plan.rows, tokens, strict=True):
        if len(new) < 1 + len(row.draft):
            row.sequence.num_computed_tokens += 1
    return finished


def one_token_too_few_is_computed_again(self, num_tokens, tokens, now):
    """As if a row of several tokens had computed one more than it has."""
    advance(self, num_tokens + (num_tokens > 1 and not tokens), tokens, now)


def nobody_ends_before_the_longest(self, tokens):
    return tokens[: self.request.max_tokens - self.num_output_tokens]


def no_deadline_is_looked_at(self, scheduler, now):
    self._collect(now)
    while self._arrived:
        scheduler.add(self._arrived.popleft())
    yield from ()


def what_is_aborted_keeps_its_blocks(self, sequence):
    if sequence in self.running:
        self.running.remove(sequence)
    else:
        abort(self, sequence)


def nothing_is_recovered(*arguments):
    return []


def a_fork_shares_a_partial_block(self, sequence):
    if sequence.parent is None:
        return shareable(self, sequence)
    num_tokens = min(sequence.num_prompt_tokens - 1, sequence.parent.num_computed_tokens)
    return sequence.parent.block_table[: -(-num_tokens // self.pool.block_size)]


BREAKS = {
    "a freed block stays in its table": (Scheduler, "preempt", a_freed_block_stays_in_its_table),
    "a counter is one too far": (Scheduler, "preempt", the_counter_is_one_too_far),
    "a preempted sequence is lost": (Scheduler, "preempt", a_preempted_sequence_is_lost),
    "a shared block is not held": (BlockPool, "share", a_shared_block_is_not_held),
    "a held block is given out": (BlockPool, "allocate", a_held_block_is_given_out_again),
    "a wrong block is found": (PrefixIndex, "find", another_block_is_found),
    "salts do not count": (prefix, "root", lambda salt: root(None)),
    "a wrong guess is accepted": (Row, "verified", a_wrong_guess_is_accepted),
    "a rejected draft is kept": (Scheduler, "update", a_refused_guess_counts_as_computed),
    "a chunk's last token is skipped": (Sequence, "advance", one_token_too_few_is_computed_again),
    "nothing stops an answer": (Sequence, "_until_the_end", nobody_ends_before_the_longest),
    "deadlines are ignored": (Arrivals, "let_in", no_deadline_is_looked_at),
    "an abort frees nothing": (Scheduler, "abort", what_is_aborted_keeps_its_blocks),
    "nothing is recovered": (engine_module, "recover", nothing_is_recovered),
    "a fork shares a partial block": (BlockManager, "shareable", a_fork_shares_a_partial_block),
}


@pytest.mark.full
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found(name, monkeypatch):
    where, what, broken = BREAKS[name]
    monkeypatch.setattr(where, what, broken)
    with pytest.raises(AssertionError, match=r"engine_fuzz\.py"):
        run_all()


def run_all():
    for seed in SEEDS:
        run_one(seed)

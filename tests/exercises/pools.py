"""What the grader of the pool knows: calls, what ours gives, and pools that believe wrongly.

A walk is a list of calls, ("allocate", 3), ("share", [0]), ("free", [0, 1]). The learner's pool and
the course's take the same walk; the first call after which they differ is told. Which belief it
is? The pool below can be made to hold one or two; who takes the very same walk has been found out.
"""

import itertools
import random
from collections import Counter, deque
from weakref import WeakKeyDictionary

from beliefs import IS_WITHHELD

import minibatch as mb
from minibatch.course.judging.block_map import BlockMap
from minibatch.course.judging.values import pack
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Died, NotAttempted, reported_error

PASSED = WeakKeyDictionary()  # by student: the walks that went as ours
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

TWINS = ("overlooks twins", "overlooks twins, below 0")
BELIEFS = {
    "newest": (
        "[newest_first] You take the block that was freed last; of the free blocks, take the one "
        "that has been free for longest. Take from one end of the queue and put back at the "
        "other: popleft and append."
    ),
    "from the right": (
        "[taken_from_the_right] You take from the right of free_ids; the block to take next is "
        "on the left, and at first block 0 comes first. Use popleft, and append for blocks that "
        "come back."
    ),
    "by number": (
        "[lowest_number_first] You take the block with the lowest number; of the free blocks, "
        "take the one that has been free for longest."
    ),
    "by allocation": (
        "[first_taken_first] You take the block that was allocated first; take the block that "
        "became free first. A block that was allocated long ago and freed just now comes last."
    ),
    "from its front": (
        "[frees_from_the_front] You free the blocks of a call from the front; free the last block "
        "first, so that the end of a block table is taken again before its beginning. Loop over "
        "reversed(block_ids)."
    ),
    "twins by the last": (
        "[frees_twins_by_the_last] You give up all holds of a block at its last place in the "
        "table. A block that is named twice in one call becomes free when its last hold is given "
        "up. You walk from the end, so that is at its first place."
    ),
    "frees for all": (
        "[frees_for_all_holders] You free a block for all sequences that hold it, so the block "
        "could be allocated again while they still read it. Freeing gives up one hold."
    ),
    "frees while held": (
        "[frees_while_held] You put a block among the free blocks while a sequence still holds "
        "it, so the block could be allocated to another sequence. A block is free when no "
        "sequence holds it."
    ),
    "never frees": (
        "[never_frees] You never put a block among the free blocks, so at some point no free block "
        "is left. A block whose last holder has left is free again."
    ),
    "frees by the first": (
        "[frees_by_the_first] You put a block among the free blocks only if it was never shared. "
        "A block that two sequences have held is free when both have left."
    ),
    "does not share": (
        "[share_adds_nothing] You do not change the number of holders in `share`, so the first "
        "holder that leaves takes the block from the other holder: `share` adds one hold to each "
        "block."
    ),
    "sets two holders": (
        "[share_sets_two] You set the number of holders to 2 in `share`, and so forget a third "
        "holder: `share` adds 1 to the number of holders."
    ),
    "shares once": (
        "[twins_share_once] You add one hold for a block that is named twice; this block gets "
        "two more holds."
    ),
    "holds nothing": (
        "[taker_holds_nothing] You do not count the hold of the sequence that allocates a block: "
        "after `allocate`, the block's number of holders is 1."
    ),
    "adds nothing up": (
        "[holders_are_left_over] A free block must have 0 holders; you leave another number there."
    ),
    "one by one": (
        "[frees_one_by_one] You have already freed the blocks before the wrong block; a call "
        "that is refused changes nothing. Check all blocks first, then change free_ids and "
        "holders."
    ),
    "shares one by one": (
        "[shares_one_by_one] You have already shared the blocks before the wrong block; a call "
        "that is refused changes nothing. Check all blocks first, then change the holders."
    ),
    "overlooks twins": (
        "[overlooks_twins] You overlook that a block is named twice in one call. The call "
        "gives up two holds of this block, so the block must have at least two: Counter(block_ids) "
        "counts how often each block is named."
    ),
    "overlooks twins, below 0": (
        "[overlooks_twins_below_zero] You overlook that a block is named twice in one call. The "
        "call gives up two holds of this block, so the block must have at least two: "
        "Counter(block_ids) counts how often each block is named."
    ),
    "twins once": (
        "[counts_twins_once] You count a block that is named twice in one call once. The call "
        "gives up two holds of it, so it must have at least two. A set, or a check of each id "
        "alone, does not see the repetition: use Counter(block_ids)."
    ),
    "frees twice": (
        "[frees_twice] You free a block that is already free, and the block is now among the "
        "free blocks twice: two sequences would get it. Raise ValueError for a block that has no "
        "holder."
    ),
    "frees twice, at 0": (
        "[frees_twice_at_zero] You free a block that is already free, and the block is now among "
        "the free blocks twice: two sequences would get it. Raise ValueError for a block that "
        "has no holder."
    ),
    "is silent": (
        "[frees_nothing_silently] You ignore a call that frees a block without a holder. This is "
        "a mistake of the caller: raise ValueError."
    ),
    "counts from the end": (
        "[counts_from_the_end] You accept block -1, which does not exist; a Python list reads -1 "
        "as its last entry: check 0 <= block_id < self.num_blocks."
    ),
    "shares the free": (
        "[shares_the_free] You share a free block, so it would be held and free at the same "
        "time. A free block has no holder and cannot be shared: raise ValueError."
    ),
    "shares the free, and takes it": (
        "[shares_and_takes_the_free] You share a free block and take it from the free blocks. A "
        "free block has no holder and cannot be shared: a sequence gets a free block with "
        "`allocate`. (Lesson 07 finds free blocks by their content.) Raise ValueError."
    ),
    "shares nothing silently": (
        "[shares_nothing_silently] You ignore a call that shares a block without a holder. This "
        "is a mistake of the caller: raise ValueError."
    ),
    "takes what there is": (
        "[takes_what_there_is] You have taken the blocks that were free, and these blocks are "
        "lost. Too few blocks are free, so take none: raise MemoryError, and change neither "
        "free_ids nor holders."
    ),
    "gives fewer": (
        "[gives_fewer] You return fewer blocks than the call asks for. A sequence with fewer "
        "blocks than it needs writes past the end of its table: raise MemoryError, and return no "
        "blocks."
    ),
    "keeps one": (
        "[keeps_one] You never allocate the last free block. All free blocks can be taken: a call "
        "for n succeeds if n are free."
    ),
}


class Believing:
    """A pool with some of the beliefs above; without any, the right one."""

    def __init__(self, num_blocks, beliefs=()):
        self.num_blocks, self.beliefs = num_blocks, frozenset(beliefs)
        self.queue, self.holders = deque(range(num_blocks)), [0] * num_blocks
        self.taken_at, self.now, self.was_shared = [0] * num_blocks, 0, set()

    @property
    def num_free(self):
        return len(self.queue)

    def ref_count(self, block):
        return self.holders[block]

    def believes(self, *beliefs):
        return not self.beliefs.isdisjoint(beliefs)

    def allocate(self, n):
        too_many = n > len(self.queue) - (n > 0 and self.believes("keeps one"))
        if too_many and self.believes("takes what there is"):
            for _ in range(len(self.queue)):
                self.take()
        if too_many and not self.believes("gives fewer"):
            raise MemoryError
        return [self.take() for _ in range(min(n, len(self.queue)))]

    def rebuild(self, tables):
        """Of no tables: what the engine does when it resets the pool."""
        assert not tables
        self.__init__(self.num_blocks, self.beliefs)

    def take(self):
        self.now += 1
        block = self.queue[-1 if self.believes("from the right") else 0]
        if self.believes("by number"):
            block = min(self.queue)
        if self.believes("by allocation"):
            block = min(self.queue, key=lambda free: self.taken_at[free])
        self.queue.remove(block)
        self.taken_at[block] = self.now
        self.holders[block] = 0 if self.believes("holds nothing") else 1
        return block

    def share(self, blocks):
        if not self.believes("shares one by one"):
            for block in blocks:
                self.may_share(block)
        seen = set()
        for block in blocks:
            self.may_share(block)
            block %= self.num_blocks
            if self.believes("does not share") or (
                self.believes("shares nothing silently") and not self.holders[block]
            ):
                continue
            if self.believes("shares once") and block in seen:
                continue
            seen.add(block)
            if self.believes("shares the free, and takes it") and not self.holders[block]:
                self.queue.remove(block)
            self.was_shared.add(block)
            self.holders[block] = (
                2 if self.believes("sets two holders") else self.holders[block] + 1
            )

    def may_share(self, block):
        self.exists(block)
        if not self.holders[block] and not self.believes(
            "shares the free", "shares the free, and takes it", "shares nothing silently"
        ):
            raise ValueError

    def exists(self, block):
        lowest = -self.num_blocks if self.believes("counts from the end") else 0
        if not lowest <= block < self.num_blocks:
            raise ValueError

    def free(self, blocks):
        twice, twins = ("frees twice", "frees twice, at 0"), TWINS
        blocks = list(dict.fromkeys(blocks)) if self.believes("twins once") else blocks
        forgiving = self.believes(*twice, "is silent")
        if not self.believes("one by one"):
            for block, times in Counter(blocks).items():
                self.exists(block)
                times = min(times, 1) if self.believes(*twins) else times
                if times > self.holders[block] and not forgiving:
                    raise ValueError
        order = list(blocks if self.believes("from its front") else reversed(blocks))
        if self.believes("twins by the last"):
            order = sorted(order, key=order.index)
        for block in order:
            self.exists(block)
            if self.holders[block] <= 0 and not self.believes(*twice, *twins):
                if self.believes("is silent"):
                    continue
                raise ValueError
            self.let_go(block % self.num_blocks)

    def let_go(self, block):
        self.holders[block] -= 1
        if self.believes("frees for all"):
            self.holders[block] = 0
        if self.believes("frees twice, at 0"):
            self.holders[block] = max(0, self.holders[block])
        if self.believes("frees by the first") and block in self.was_shared:
            return
        if self.holders[block] > 0 and not self.believes("frees while held"):
            return
        if self.holders[block] < 0 and self.believes("overlooks twins, below 0"):
            return
        if not self.believes("never frees"):
            (self.queue.appendleft if self.believes("newest") else self.queue.append)(block)


def outcome(pool, method, argument):
    """What a call gives or raises, and the books after it."""
    gave = raised = None
    try:
        gave = getattr(pool, method)(argument)
    except (MemoryError, ValueError, IndexError) as error:
        raised = type(error).__name__
    holders = [pool.ref_count(block) for block in range(pool.num_blocks)]
    return (gave if method == "allocate" else None), raised, pool.num_free, holders


def right(num_blocks, calls):
    pool = mb.BlockPool(num_blocks, 4)
    return [outcome(pool, *call) for call in calls]


def believed(num_blocks, calls, beliefs):
    pool = Believing(num_blocks, beliefs)
    return [outcome(pool, *call) for call in calls]


assert right(4, [("allocate", 3), ("share", [0]), ("free", [0, 1, 2]), ("allocate", 3)]) == (
    believed(4, [("allocate", 3), ("share", [0]), ("free", [0, 1, 2]), ("allocate", 3)], ())
)


def walked(student, num_blocks, calls):
    """The learner's pool on this walk, as `outcome` has it; beside them what it raised, in full."""
    packed = [[method, pack(argument)] for method, argument in calls]
    got = student.ask(
        "call_methods", name="MyPool", num_blocks=num_blocks, block_size=4, calls=packed
    )
    if not isinstance(got, list) or len(got) != len(calls):
        raise Died("your pool's process gave no valid reply")
    seen, errors = [], []
    for (method, _), one in zip(calls, got, strict=True):
        error = one.get("raised")
        gave = student.unpacked(one.get("gave")) if method == "allocate" else None
        kind = str(error.get("type")) if isinstance(error, dict) else None
        seen.append((gave, kind, student.unpacked(one["num_free"]), one["holders"]))
        errors.append(reported_error(error, student.limits) if error else None)
    return seen, errors


def walk(student, num_blocks, calls, otherwise=""):
    """The learner's pool and ours, call after call; raises Wrong, or what it raised, at the first
    call that differs. otherwise: what to say if no belief explains it."""
    expected = right(num_blocks, calls)
    got, errors = walked(student, num_blocks, calls)
    for error in errors:
        if isinstance(error, NotAttempted):
            raise error
    for number, (due, seen) in enumerate(zip(expected, got, strict=True)):
        if due == seen:
            continue
        call, error = shown(calls[number]), errors[number]
        means = "" if error is None else what_it_means(error.sentence)
        if error is not None and due[1] is None and not isinstance_of_misuse(error) or means:
            error.sentence = f"{so_far(calls, number)}{call} fails with {error.sentence}. {means}"
            raise error
        said = (
            explained(num_blocks, calls, got, PASSED.get(student, ()))
            or at_once(call, due, seen)
            or moved(calls[:number], expected[:number], due, seen, PASSED.get(student, ()))
            or otherwise
        )
        raise Wrong(
            f"{so_far(calls, number)}{call}: {said or differs(due, seen)}",
            expected=told_of(due),
            got=told_of(seen),
            drawing=map_before(num_blocks, calls, number),
        )
    PASSED.setdefault(student, []).append((num_blocks, calls))


def moved(calls, before, due, seen, passed):
    """What to say of other blocks next, if it is what came before that has moved them."""
    if due[0] == seen[0] or due[1] or seen[1]:
        return ""
    if ("rebuild", []) in calls:
        return (
            "[a_book_of_its_own] You use a record of your own that `rebuild` does not reset. The "
            "engine has reset the pool: rebuild([]) makes new free_ids and holders, and block 0 "
            "comes first again. Keep only these two."
        )
    if any(raised for _, raised, _, _ in before):
        return (
            "[refusal_moves_blocks] You have moved blocks in a call that is refused; such a call "
            "changes nothing, not even the order of the free blocks. First check the whole call, "
            "and raise if it is wrong; only then change free_ids and holders."
        )
    if not calls and passed:
        return (
            "[new_pool_is_not_new] You continue with the state of an earlier pool. This is a new "
            "pool: all of its blocks are free, and block 0 comes first. Keep everything in "
            "self.free_ids and self.holders, which belong to one pool each."
        )
    return ""


def keeps_its_answers(student, num_blocks, calls):
    """What allocate has given stays as it was, whatever comes later."""
    packed = [[method, pack(argument)] for method, argument in calls]
    got = student.ask(
        "call_methods", name="MyPool", num_blocks=num_blocks, block_size=4, calls=packed
    )
    due = right(num_blocks, calls)
    for number, (one, (gave, *_)) in enumerate(zip(got, due, strict=True)):
        later = student.unpacked(one.get("later"))
        if gave is not None and later != gave:
            raise Wrong(
                f"[blocks_change_later] {shown(calls[number])} gave {gave}, and after "
                f"{so_far(calls, len(calls))[6:-2]} the same list holds other blocks: a sequence "
                "uses it as its block table. Return a new list in each call.",
                expected=gave,
                got=later,
            )


def isinstance_of_misuse(error):
    return error.sentence.startswith(("MemoryError", "ValueError"))


def what_it_means(sentence):
    if IS_WITHHELD in sentence:
        return "[calls_super] Use self.free_ids and self.holders only, without super()."
    if "IndexError: pop from an empty deque" in sentence:
        return (
            "[takes_from_an_empty_queue] You take from an empty queue. Fewer blocks are free "
            "than the call asks for: raise MemoryError before you take any."
        )
    return ""


def shown(call):
    return f"{call[0]}({call[1]})"


def so_far(calls, number):
    """ "After allocate(3), free([0]): "; of a long walk the last calls before this one."""
    before = [shown(call) for call in calls[max(0, number - 4) : number]]
    if not before:
        return ""
    return f"After {'… ' * (number > 4)}{', '.join(before)}: "


def told_of(seen):
    gave, raised, num_free, holders = seen
    what = raised or ("" if gave is None else f"{gave}")
    books = f"holders {holders}, {num_free} free"
    return f"{what}; {books}" if what else books


def at_once(call, due, seen):
    """What to say of an answer of the wrong kind, or of the wrong error."""
    gave, raised, num_free, _ = seen
    if due[1] and raised and raised != due[1]:
        return f"[raises_another_error] your pool raises {raised}; it must raise {due[1]}."
    if due[1] is None and raised:
        return f"[raises_without_reason] your pool raises {raised}, but this call is correct."
    if due[0] is not None and gave is None and not raised:
        return (
            "[blocks_are_nothing] your `allocate` returned nothing (None). End it with `return` "
            "and the list of ids."
        )
    if due[0] is not None and not raised and not isinstance(gave, list):
        return (
            f"[blocks_are_no_list] your `allocate` returned a {type(gave).__name__}; it must "
            "return a list of ids."
        )
    if type(num_free) is not int:
        return (
            "[num_free_is_no_number] num_free must be a whole number; leave it as it was given, "
            "len(self.free_ids)."
        )
    return ""


def differs(due, seen):
    if due[1] and not seen[1]:
        why = (
            "fewer blocks are free than the call asks for"
            if due[1] == "MemoryError"
            else "the call frees or shares a block more often than it is held"
        )
        return f"[raises_no_error] {why}, so it must raise {due[1]}; your call raises no error."
    if due[0] != seen[0]:
        return (
            "[other_blocks_next] your pool gives the wrong blocks: find the block that has been "
            "free for longest."
        )
    if due[3] != seen[3]:
        return "[other_holders] the numbers of holders are wrong after your call."
    return (
        f"[other_num_free] the number of free blocks is wrong after your call: {due[2]} blocks "
        "must be free."
    )


def explained(num_blocks, calls, got, passed):
    """The belief, or two, with which a pool takes the very same walk, and those before it right."""
    for many in (1, 2):
        found = {
            " ".join(BELIEFS[belief] for belief in beliefs): None
            for beliefs in itertools.combinations(BELIEFS, many)
            if same_walk(believed(num_blocks, calls, beliefs), got)
            and all(same_walk(believed(*walk, beliefs), right(*walk)) for walk in passed)
        }
        if found and (many == 1 or len(found) == 1):
            return " Or: ".join(found) if len(found) <= 2 else ""
    return ""


def same_walk(one, other):
    return [step[0:1] + step[2:] for step in one] == [step[0:1] + step[2:] for step in other] and [
        bool(step[1]) for step in one
    ] == [bool(step[1]) for step in other]


def tables_after(num_blocks, calls):
    """Who holds what: each allocate and share makes somebody new, A, B, …; free sends off whoever
    holds just these, or takes each from the first who holds it."""
    pool, tables, names = mb.BlockPool(num_blocks, 4), {}, itertools.cycle(LETTERS)
    for method, argument in calls:
        gave, raised, _, _ = outcome(pool, method, argument)
        if raised:
            continue
        if method == "rebuild":
            tables = {}
        elif method in ("allocate", "share"):
            table = list(argument if gave is None else gave)
            tables |= {next(names): table} if table else {}
        elif not argument:
            continue
        elif list(argument) in tables.values():
            del tables[next(name for name, table in tables.items() if table == list(argument))]
        else:
            for block in argument:
                next(table for table in tables.values() if block in table).remove(block)
    return pool, tables


def map_before(num_blocks, calls, number):
    pool, tables = tables_after(num_blocks, calls[:number])
    held_by = [
        " ".join(name for name, table in tables.items() for held in table if held == block)
        for block in range(num_blocks)
    ]
    queue = pool.allocate(pool.num_free)
    return BlockMap(shown(calls[number]), held_by, queue)


def random_walk(rng, length=40):
    """Sequences that come, begin alike, and leave; now and then somebody asks for too much."""
    num_blocks = rng.randint(5, 12)
    pool, tables, calls = mb.BlockPool(num_blocks, 4), [], []
    for _ in range(length):
        kind = rng.choice(["allocate"] * 4 + ["share"] * 3 + ["free"] * 4 + ["misuse"])
        free = [b for b in range(num_blocks) if not pool.ref_count(b)]
        if kind == "allocate" or not tables:
            call = ("allocate", rng.randint(0, min(4, pool.num_free + 1)))
        elif kind == "share":
            table = rng.choice(tables)
            call = ("share", table[: rng.randint(1, max(1, len(table)))])
        elif kind == "free":
            call = ("free", rng.choice(tables))
        else:
            wrong = rng.choice([-1, num_blocks, *free])
            call = (rng.choice(["share", "free"]), [*rng.choice(tables), wrong])
        gave, raised, _, _ = outcome(pool, *call)
        calls.append((call[0], list(call[1]) if isinstance(call[1], list) else call[1]))
        if raised:
            continue
        if call[0] == "free":
            tables.remove(call[1])
        elif gave or call[0] == "share":
            tables.append(list(gave if gave else call[1]))
    return num_blocks, calls


def fixed_walk():
    return random_walk(random.Random(5), 60)

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
    "newest": "[newest_first] "
    "Of the free blocks, the one that has been free for longest is taken first; yours "
    "takes the one that was freed last. Take from one end of the queue and put back at the other: "
    "popleft and append.",
    "from the right": "[taken_from_the_right] "
    "At first block 0 comes first. The block to take next stands on the left of "
    "free_ids, and yours takes from the right: popleft, and append for those that come back.",
    "by number": "[lowest_number_first] "
    "Of the free blocks, the one that has been free for longest is taken first; yours "
    "takes the one with the lowest number.",
    "by allocation": "[first_taken_first] "
    "What counts is since when a block has been free, not when it was taken: a "
    "block that was taken long ago, and freed just now, has only just become free.",
    "from its front": "[frees_from_the_front] "
    "Of the blocks that come back in one call the last one counts as freed "
    "first, so that a table's end is taken again before its beginning: walk through "
    "reversed(block_ids).",
    "twins by the last": "[frees_twins_by_the_last] "
    "A block that is named twice in one call is free with the last hold that "
    "is given up: walking from the end, that is where it stands first in the table. Yours gives up "
    "all its holds where it stands last.",
    "frees for all": "[frees_for_all_holders] "
    "Freeing gives up one hold, and others may hold the block, too: yours takes "
    "it from all of them, and would hand it out while they still read it.",
    "frees while held": "[frees_while_held] "
    "A block is free when nobody holds it any more; yours goes into the free "
    "ones though somebody still holds it, and would be handed out to another.",
    "never frees": "[never_frees] "
    "A block whose last holder has left is free again; yours never goes back into "
    "the free ones, so in the end there are none.",
    "frees by the first": "[frees_by_the_first] "
    "A block that two have held is free once both have left; yours goes back "
    "into the free ones only if it was never shared.",
    "does not share": "[share_adds_nothing] "
    "share adds one hold to each block; yours leaves the holders as they are, so "
    "the first who leaves would take the block from the other.",
    "shares anew": "[share_sets_two] "
    "share adds one hold to those there are; yours sets the holders to 2, and a "
    "third one is forgotten.",
    "shares once": "[twins_share_once] A block that is named twice gets two holds more.",
    "holds nothing": "[taker_holds_nothing] "
    "Who takes a block holds it, once: after allocate its holders are 1.",
    "adds nothing up": "[holders_are_left_over] "
    "A block whose holders come down to 0 is free, with 0 holders.",
    "one by one": "[frees_one_by_one] "
    "A call that is refused changes nothing; yours has given back the blocks that "
    "stand before the wrong one. Look at all of them first, then change the books.",
    "shares one by one": "[shares_one_by_one] "
    "A call that is refused changes nothing; yours has shared the blocks that "
    "stand before the wrong one. Look at all of them first, then change the books.",
    "overlooks twins": "[overlooks_twins] "
    "A block that is named twice in one call gives up two holds, so it has to "
    "have two: Counter(block_ids) says how often each is named.",
    "overlooks twins, below 0": "[overlooks_twins_below_zero] "
    "A block that is named twice in one call gives up two holds, so it "
    "has to have two: Counter(block_ids) says how often each is named.",
    "twins once": "[counts_twins_once] "
    "A block that is named twice in one call gives up two holds, so it has to have "
    "two; a set, or a look at each alone, forgets how often: Counter(block_ids) says it.",
    "frees twice": "[frees_twice] "
    "A block that is free already is given back again, and now stands among the "
    "free ones twice: two sequences would get it. Raise ValueError for a block that nobody holds.",
    "frees twice, at 0": "[frees_twice_at_zero] "
    "A block that is free already is given back again, and now stands "
    "among the free ones twice: two sequences would get it. Raise ValueError for a block that "
    "nobody holds.",
    "is silent": "[frees_nothing_silently] "
    "Giving back what is not held is a mistake of whoever calls, and passing over it "
    "in silence hides it: raise ValueError.",
    "counts from the end": "[counts_from_the_end] "
    "Block -1 does not exist, but Python's lists take it for their last "
    "one: ask 0 <= block_id < self.num_blocks.",
    "shares the free": "[shares_the_free] "
    "A free block is held by nobody, so there is nothing to share: it would be "
    "held and free at once. Raise ValueError.",
    "shares the free, and takes it": "[shares_and_takes_the_free] "
    "A free block is held by nobody, so there is nothing to "
    "share: who needs one takes it by allocate. (That free blocks can be found by what they hold "
    "is lesson 07.) Raise ValueError.",
    "shares nothing silently": "[shares_nothing_silently] "
    "Sharing what nobody holds is a mistake of whoever calls: raise "
    "ValueError, and do not pass over it in silence.",
    "takes what there is": "[takes_what_there_is] "
    "Too few are free, so none may be taken: MemoryError, and the books "
    "stay as they are. Yours has taken those that there were, and they are lost.",
    "gives fewer": "[gives_fewer] "
    "Fewer are free than were asked for: raise MemoryError, and give none. Who gets "
    "fewer blocks than it asked for writes past the end of its table.",
    "keeps one": "[keeps_one] All free blocks can be taken, down to the last: n fit if n are free.",
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
            self.holders[block] = 2 if self.believes("shares anew") else self.holders[block] + 1

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
        raise Died("it does not answer as a worker does")
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
            "[a_book_of_its_own] "
            "The engine has reset the pool: rebuild([]) makes free_ids and holders anew, and block "
            "0 comes first again. Yours goes by a book of its own, which rebuild does not know: "
            "keep no others than those two."
        )
    if any(raised for _, raised, _, _ in before):
        return (
            "[refusal_moves_blocks] "
            "A call that is refused changes nothing, and the order of the free blocks neither. "
            "Yours has moved some: first look at all that is asked, and raise; then change the "
            "books."
        )
    if not calls and passed:
        return (
            "[new_pool_is_not_new] "
            "This is a new pool: all of its blocks are free, and 0 comes first. Yours goes on with "
            "what an earlier pool has done: keep everything in self.free_ids and self.holders, "
            "which each pool has for itself."
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
                "[blocks_change_later] "
                f"{shown(calls[number])} gave {gave}, and after {so_far(calls, len(calls))[6:-2]} "
                "that very list holds other blocks: it has become a sequence's block table. Make a "
                "new list in each call.",
                expected=gave,
                got=later,
            )


def isinstance_of_misuse(error):
    return error.sentence.startswith(("MemoryError", "ValueError"))


def what_it_means(sentence):
    if IS_WITHHELD in sentence:
        return "[calls_super] The books are self.free_ids and self.holders; do without super()."
    if "IndexError: pop from an empty deque" in sentence:
        return (
            "[takes_from_an_empty_queue] "
            "Fewer are free than are asked for: that is a MemoryError, before any is taken."
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
        return f"[raises_another_error] it raises {raised}, and should raise {due[1]}."
    if due[1] is None and raised:
        return f"[raises_without_reason] it raises {raised}, and all is well with this call."
    if due[0] is not None and gave is None and not raised:
        return (
            "[blocks_are_nothing] "
            "it returned nothing (None): end it with `return` and the list of ids."
        )
    if due[0] is not None and not raised and not isinstance(gave, list):
        return (
            f"[blocks_are_no_list] it returned a {type(gave).__name__}; a list of ids is asked for."
        )
    if type(num_free) is not int:
        return (
            "[num_free_is_no_number] "
            "num_free has to be a whole number; leave it as it is, len(self.free_ids)."
        )
    return ""


def differs(due, seen):
    if due[1] and not seen[1]:
        why = "fewer are free" if due[1] == "MemoryError" else "somebody gives or shares too much"
        return f"[raises_no_error] {why}, so it raises {due[1]}; yours does not."
    if due[0] != seen[0]:
        return "[other_blocks_next] other blocks come next: see who has been free for longest."
    if due[3] != seen[3]:
        return "[other_holders] afterwards the blocks have other numbers of holders."
    return f"[other_num_free] afterwards {due[2]} blocks are free."


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

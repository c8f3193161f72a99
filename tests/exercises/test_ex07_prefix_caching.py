"""Judges exercises 7.1 to 7.4: names of blocks, what they find, who has to go, and why no more."""

import itertools

import now_yours
import pytest
from again import stays_right
from beliefs import a_kind, input_shown

from minibatch.course.judging.values import Lent, LentDict
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised

# 7.1 ---------------------------------------------------------------------------------------------


def names_of(student, ids, block_size, salt=None):
    """The names, once they are known to be a list of texts, or whole numbers, one a full block."""
    shown = f"block_hashes({ids if len(ids) < 12 else f'{len(ids)} tokens'}, {block_size})"
    with input_shown(shown):
        got = student.call("block_hashes", Lent(ids), block_size, salt)
    if not isinstance(got, list | tuple) or not all(type(name) in (str, int) for name in got):
        kind = "nothing (None)" if got is None else a_kind(got)
        if isinstance(got, list | tuple):
            wrong = next(name for name in got if type(name) not in (str, int))
            kind = f"a list with {a_kind(wrong)} in it"
        raise Wrong(
            f"[names_are_no_list] {shown}: you return {kind}; return a list of texts, a name for "
            "each full block."
        )
    due = len(ids) // block_size
    if len(got) != due:
        said = (
            "[partial_block_is_named] you name a block that is not full; only full blocks have "
            "names."
        )
        if len(got) == due + 1:
            said = (
                "[last_block_is_not_full] you name the last block, which is not full: its "
                "content may still change, so it has no name."
                if len(ids) % block_size
                else (
                    "[exact_blocks_get_one_more] you name one block too many: the tokens fill "
                    "their blocks exactly, so there is no further block."
                )
            )
        elif len(got) == len(ids):
            said = "[tokens_are_named] you name each token; a name belongs to a block of tokens."
        elif len(got) == due - 1:
            said = (
                "[last_full_block_has_no_name] you do not name the last full block; every full "
                "block has a name."
            )
        raise Wrong(f"{shown}: {said}", expected=f"{due} names", got=f"{len(got)} names")
    return list(got)


def names_differ(one, other, said):
    if one == other:
        raise Wrong(said, expected="two names", got=one)


@pytest.mark.task("7.1", points=1)
def test_every_full_block_has_a_name_and_no_other_block_has_one(student):
    for ids, size in (([5, 6, 7, 8], 2), ([5, 6, 7, 8, 9], 2), ([5], 2), ([], 4), ([3, 4, 5], 1)):
        names_of(student, ids, size)


@pytest.mark.task("7.1", points=1)
def test_prompts_with_the_same_beginning_have_the_same_names_there(student):
    one, other = names_of(student, [5, 6, 7, 8, 9, 1], 2), names_of(student, [5, 6, 7, 8, 2, 2], 2)
    if one[:2] != other[:2]:
        raise Wrong(
            "[name_knows_what_comes_after] Your names differ where they must be the same: [5, 6, "
            "7, 8, 9, 1] and [5, 6, 7, 8, 2, 2] are the same for two blocks of 2, so their first "
            "two names are the same. A name must not depend on the tokens after its block, on "
            "the length of the prompt, or on the time of the call.",
            expected=one[:2],
            got=other[:2],
        )
    names_differ(
        one[2],
        other[2],
        "[different_blocks_share_a_name] You give [9, 1] and [2, 2] the same name; these are "
        "different blocks.",
    )
    if names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers") != names_of(
        student, [5, 6, 7, 8, 9, 1], 2, "hers"
    ):
        raise Wrong(
            "[name_changes_when_asked_again] In a second call with the same prompt and the same "
            "salt, you return other names; keep nothing between calls."
        )
    cases = [([5, 6, 7], 2), ([5, 8, 7, 9], 2), ([5, 6, 7, 8], 2)]
    due = {str(case): names_of(student, *case) for case in cases}
    stays_right(student, "block_hashes", cases, lambda *case: due[str(case)])
    hers = names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers")
    student.close()  # another process answers from here on
    names_of(student, [7, 7, 5, 6], 2)
    if names_of(student, [5, 6, 7, 8, 9, 1], 2) != one:
        raise Wrong(
            "[name_of_one_process] "
            "In another Python process the same prompt has other names. Several processes, also "
            "later ones, share a cache: make names only from the tokens, with sha256_of. Python's "
            "hash() of a text and a counter of your own are different in each process.",
            expected=one,
            got=names_of(student, [5, 6, 7, 8, 9, 1], 2),
        )
    if names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers") != hers:
        raise Wrong(
            "[salted_name_of_one_process] In another Python process the names of a prompt with a "
            "salt change, and those of a prompt without a salt stay the same: put the unchanged "
            "salt into the text for sha256_of. Python's hash() of a text is different in each "
            "process.",
            expected=hers,
            got=names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers"),
        )


@pytest.mark.task("7.1", points=1)
def test_equal_blocks_after_different_tokens_have_different_names(student, rng):
    first, second, third = names_of(student, [5, 6, 5, 6, 5, 6], 2)
    names_differ(
        first,
        second,
        "[name_of_its_ids_alone] You give the first two blocks of [5, 6, 5, 6, 5, 6] the same "
        "name, since they hold the same ids. Keys and values depend on all earlier tokens, so a "
        "name must include the name of the block before.",
    )
    names_differ(
        second,
        third,
        "[name_of_two_pasts] You give the second and the third block 5, 6 the same name. Different "
        "tokens come before them, so their names must differ.",
    )
    a, b = names_of(student, [1, 2, 9, 9, 5, 6], 2)[2], names_of(student, [3, 4, 9, 9, 5, 6], 2)[2]
    names_differ(
        a,
        b,
        "[name_of_the_block_befores_ids] You give the third blocks of [1, 2, 9, 9, 5, 6] and [3, "
        "4, 9, 9, 5, 6] the same name, though the first blocks differ. Include the *name* of the "
        "block before: this name depends on all earlier tokens. The ids of that block, or its "
        "place, are not enough.",
    )
    a, b = names_of(student, [1, 2, 5, 6], 2)[1], names_of(student, [2, 1, 5, 6], 2)[1]
    names_differ(
        a,
        b,
        "[name_ignores_order] You give [1, 2, 5, 6] and [2, 1, 5, 6] the same name; these are "
        "different prompts: the order of the ids must change the name.",
    )
    a, b = names_of(student, [1, 23], 2)[0], names_of(student, [12, 3], 2)[0]
    names_differ(
        a,
        b,
        "[name_joins_ids] You give [1, 23] and [12, 3] the same name: put a separator between "
        "the ids.",
    )
    a, b = names_of(student, [1, 4], 2)[0], names_of(student, [2, 3], 2)[0]
    names_differ(
        a,
        b,
        (
            "[name_adds_ids] You give [1, 4] and [2, 3] the same name: do not use the sum of the "
            "ids."
        ),
    )
    for bits in (8, 16, 32):
        a, b = names_of(student, [5, 6], 2)[0], names_of(student, [5 + 2**bits, 6], 2)[0]
        names_differ(
            a,
            b,
            f"[ids_are_cut] You give [5, 6] and [{5 + 2**bits}, 6] the same name: ids may be "
            "large, so write all digits of each id.",
        )
    all_names = student.calls("block_hashes", [[[i], 1] for i in range(20_000)])
    num_names = len(
        {str(name) for one in all_names if isinstance(one, list | tuple) for name in one}
    )
    if num_names < 20_000:
        raise Wrong(
            "[names_are_too_short] "
            "20,000 prompts of one token, all different, in blocks of 1: some get the same name, "
            "so one block would be used in place of another. Keep the whole result of sha256_of.",
            expected="20,000 names",
            got=f"{num_names:,} names",
        )
    for _ in range(10):
        prompts = [[rng.randrange(4) for _ in range(9)] for _ in range(2)]
        one, other = (names_of(student, ids, 3) for ids in prompts)
        for end in range(3):
            same = prompts[0][: 3 * end + 3] == prompts[1][: 3 * end + 3]
            if (one[end] == other[end]) != same:
                word = "equal" if same else "not equal"
                raise Wrong(
                    f"[names_are_equal_otherwise] {prompts[0]} and {prompts[1]} are {word} up to "
                    f"block {end} of 3, so your names of this block must be {word}, too."
                )


@pytest.mark.task("7.1", points=1)
def test_prompts_with_different_salts_share_no_name(student):
    ids = [5, 6, 7, 8]
    salts = (None, "hers", "his", "", "None", "Hers", "hers ", " ")
    names = {salt: names_of(student, ids, 2, salt) for salt in salts}
    for one, other in itertools.combinations(salts, 2):
        for place, (a, b) in enumerate(zip(names[one], names[other], strict=True)):
            extra = ""
            if "" in (one, other) and None in (one, other):
                extra = (
                    " [empty_salt_is_no_salt] You treat an empty text as no salt. An empty text "
                    "is a salt like any other; None means no salt."
                )
            if "None" in (one, other) and None in (one, other):
                extra = (
                    " [no_salt_is_a_text] You use str(None) for no salt, and str(None) is a text "
                    "that another tenant may use as a salt."
                )
            if one and other and one.strip().lower() == other.strip().lower():
                extra = (
                    " [salt_is_tidied] You change the salt. Use the salt without changes: "
                    "capitals and spaces count."
                )
            names_differ(
                a,
                b,
                f"[salt_is_ignored] Block {place} has the same name with salt {one!r} and with "
                f"{other!r}; its name must depend on the salt.{extra}",
            )
    a, b = names_of(student, [12, 3], 2, "a")[0], names_of(student, [2, 3], 2, "a1")[0]
    names_differ(
        a,
        b,
        "[salt_runs_into_ids] You give [12, 3] with salt 'a' and [2, 3] with salt 'a1' the same "
        "name: mark where the salt ends and where the ids begin.",
    )
    first, second = names_of(student, ids, 2)
    names_differ(
        second,
        names_of(student, [7, 8], 2, str(first))[0],
        "[salt_taken_for_a_name] You give the same name to [7, 8] after [5, 6], and to [7, 8] with "
        "the name of [5, 6] as its salt. Any text can be a salt, also the name of a block. Put a "
        'text such as "salt:" before each salt; no name may begin with this text.',
    )


# 7.2 ---------------------------------------------------------------------------------------------


def right_prefix(names, num_tokens, block_size, block_of):
    before_last = names[: (num_tokens - 1) // block_size]
    return [block_of[name] for name in itertools.takewhile(block_of.__contains__, before_last)]


def finds(student, expected, said, names, num_tokens, block_size, block_of):
    shown = f"cached_prefix({list(names)}, {num_tokens}, {block_size}, {block_of})"
    try:
        got = student.call("cached_prefix", Lent(names), num_tokens, block_size, LentDict(block_of))
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence} ({said.rstrip('.')})."
        raise
    if isinstance(got, tuple):
        got = list(got)
    if got == expected:
        return
    values = list(block_of.values())
    if got is None:
        said = (
            "[list_is_nothing] "
            "your function returned nothing (None). End it with `return` and the list."
        )
    elif isinstance(got, list) and any(type(i) is int and i not in values for i in got):
        gone = next(i for i in got if i not in values)
        said = (
            f"[finds_what_is_gone] you return block {gone}, which is not in block_of: the block "
            "was there in an earlier call, and has been evicted since. Read block_of in each "
            "call, and keep nothing between calls."
        )
    elif not isinstance(got, list):
        said = f"[list_is_another_thing] return a list of block ids; you return {a_kind(got)}."
    elif got and got == list(names[: len(got)]):
        said = "[names_not_ids] you return names; return the ids of the blocks, block_of[name]."
    raise Wrong(f"{shown}: {said}", expected=expected, got=got)


@pytest.mark.task("7.2", points=1)
def test_known_blocks_are_found_in_order(student):
    known = {"a": 7, "b": 0, "c": 2}
    finds(
        student,
        [7, 0, 2],
        "[known_block_not_found] your blocks are wrong: all three blocks are known, and the last "
        "token comes after them. Block 0 is a valid block id.",
        ["a", "b", "c"],
        13,
        4,
        known,
    )
    finds(
        student,
        [],
        (
            "[finds_what_nobody_knows] you return a block, but block_of is empty: return an empty "
            "list."
        ),
        ["a", "b"],
        9,
        4,
        {},
    )
    finds(
        student,
        [],
        "[finds_in_a_short_prompt] you return a block for a prompt that is shorter than a block; "
        "return an empty list.",
        [],
        3,
        4,
        known,
    )
    finds(
        student,
        [7, 0],
        "[other_blocks_before_a_rest] your blocks are wrong: two blocks are known, and the rest "
        "of the prompt fills no block.",
        ["a", "b"],
        11,
        4,
        known,
    )


@pytest.mark.task("7.2", points=1.5)
def test_nothing_is_found_after_a_gap(student):
    said = (
        "[finds_behind_a_gap] your blocks are wrong: the second block is not known, so the blocks "
        "after it cannot be used."
    )
    finds(student, [7], said, ["a", "b", "c"], 13, 4, {"a": 7, "c": 2})
    known = {"a": 7, "c": 2, "d": 5, "e": 1, "f": 9}  # b is missing: what follows is of no use
    for last in range(3, 7):
        names = list("abcdef")[:last]
        finds(student, [7], said, names, 4 * last + 1, 4, known)
    said = (
        "[finds_behind_an_unknown_first] you return a block after an unknown block: the first "
        "block is not known, so no block after it can be used."
    )
    finds(student, [], said, ["a", "b", "c"], 13, 4, {"b": 1, "c": 2})


@pytest.mark.task("7.2", points=1.5)
def test_the_last_token_is_never_found(student, rng):
    known = {"a": 7, "b": 0, "c": 2}
    said = (
        "[takes_the_last_tokens_block] your blocks are wrong: 12 tokens fill three blocks, and "
        "the third block holds the last token, which must be computed."
    )
    finds(student, [7, 0], said, ["a", "b", "c"], 12, 4, known)
    said = (
        "[takes_the_only_block] you return the block of the last token: 4 tokens fill one block, "
        "and this block holds the last token, so return no block."
    )
    finds(student, [], said, ["a"], 4, 4, known)
    said = (
        "[takes_the_last_block_of_one] your blocks are wrong if block_size is 1: the third block "
        "holds the last token, which must be computed."
    )
    finds(student, [7, 0], said, ["a", "b", "c"], 3, 1, known)
    said = (
        "[last_token_lies_behind_all] your blocks are wrong: a prompt of 13 tokens has three "
        "full blocks and one more token, so take all three full blocks."
    )
    finds(student, [7, 0, 2], said, ["a", "b", "c"], 13, 4, known)
    said = (
        "[drops_what_is_not_last] your blocks are wrong: 16 tokens fill four blocks. The last "
        "token is in the fourth block, which is not found; keep the second block, which does not "
        "hold the last token."
    )
    finds(student, [7, 0], said, ["a", "b", "x", "y"], 16, 4, known)
    said = (
        "[takes_the_last_block_of_three] your blocks are wrong if block_size is 3: the last of 12 "
        "tokens is in the fourth block, and three blocks come before that block. block_size need "
        "not be a power of two."
    )
    finds(student, [7, 0, 2], said, ["a", "b", "c", "d"], 12, 3, known | {"d": 5})
    cases = [(["a", "b"], 9, 4, table) for table in ({"a": 7, "b": 0}, {"a": 7}, {"a": 1, "b": 7})]
    stays_right(student, "cached_prefix", cases, right_prefix)
    for _ in range(20):
        size, num_tokens = rng.randrange(1, 5), rng.randrange(1, 20)
        names = [f"n{i}" for i in range(num_tokens // size)]
        block_of = {name: i + 3 for i, name in enumerate(names) if rng.random() < 0.8}
        before_last = names[: (num_tokens - 1) // size]
        found = list(itertools.takewhile(block_of.__contains__, before_last))
        said = (
            f"[other_blocks_found] your blocks are wrong: {len(before_last)} full blocks come "
            f"before the last token, and the first {len(found)} of them are known without a gap."
        )
        finds(student, [block_of[n] for n in found], said, names, num_tokens, size, block_of)


# 7.3 ---------------------------------------------------------------------------------------------


def evicts(student, expected, said, blocks, n):
    shown = f"evict({blocks if len(blocks) < 5 else f'{len(blocks)} blocks'}, {n})"
    try:
        got = student.call("evict", Lent(blocks), n)
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence} ({said.rstrip('.')})."
        raise
    got = list(got) if isinstance(got, tuple) else got
    if got == expected:
        return
    if got is None:
        said = (
            "[evicts_nothing_at_all] "
            "your function returned nothing (None). End it with `return` and the list."
        )
    elif not isinstance(got, list):
        said = f"[evicts_another_thing] return a list of block ids; you return {a_kind(got)}."
    elif got and all(isinstance(one, tuple | list) for one in got):
        said = (
            "[evicts_whole_blocks] you return the blocks; return the ids of the blocks, block[0]."
        )
    elif len(got) > n:
        said = (
            f"[evicts_another_number] you evict {len(got)} blocks; evict exactly {n}. Other "
            "blocks stay in the cache."
        )
    raise Wrong(f"{shown}: {said}", expected=expected, got=got)


@pytest.mark.task("7.3", points=1)
def test_a_block_with_a_holder_is_never_evicted(student):
    said = (
        "[evicts_a_held_block] you evict block 4, which has a holder that still reads it. Only "
        "block 6 may be evicted."
    )
    evicts(student, [6], said, [(4, 0, 1, 1, 5), (6, 0, 0, 2, 30)], 1)
    said = (
        "[evicts_a_shared_block] you evict block 4, which has two holders. Only block 6 may be "
        "evicted."
    )
    evicts(student, [6], said, [(4, 0, 2, 1, 5), (6, 0, 0, 2, 30)], 1)
    evicts(
        student,
        [],
        "[evicts_without_need] you evict a block although n is 0; evict no block.",
        [(4, 0, 0, 1, 5)],
        0,
    )


@pytest.mark.task("7.3", points=1)
def test_the_block_released_longest_ago_is_evicted_first(student):
    said = (
        "[evicts_by_when_taken] you evict in the wrong order. Block 4 was released at 5, block 6 "
        "at 30: evict 4 first. The time when the blocks were taken (9 and 2) does not count, "
        "since a block is in use until it is released."
    )
    evicts(student, [4, 6], said, [(4, 0, 0, 9, 5), (6, 0, 0, 2, 30)], 2)
    said = (
        "[evicts_the_deepest_first] you evict in the wrong order: the deep block was released at "
        "30, the first block of another chain at 5. The release time decides first, then the "
        "depth."
    )
    evicts(student, [8, 3], said, [(3, 7, 0, 1, 30), (8, 0, 0, 2, 5)], 2)
    said = (
        "[depth_counts_as_time] you evict in the wrong order: block 8 was released at 20, block "
        "3 at 21, and 3 is deep in a long chain. The time decides first, however deep a block "
        "is. Compare time, depth and id one after the other; do not combine them into one number."
    )
    evicts(student, [8, 3], said, [(3, 2_000_000, 0, 1, 21), (8, 0, 0, 2, 20)], 2)
    said = (
        "[times_are_cut] you evict in the wrong order: block 8 was released just before block 3; "
        "their times differ by 1. Times may be large numbers of nanoseconds, and a float loses the "
        "last digits of such a number."
    )
    now = 1_700_000_000_000_000_000
    evicts(student, [8, 3], said, [(3, 7, 0, 1, now + 1), (8, 0, 0, 2, now)], 2)
    cases = [([(3, 0, 0, 1, 5), (8, 0, 0, 2, late)], 1) for late in (9, 4, 2)]
    stays_right(student, "evict", cases, lambda blocks, n: [3 if blocks[1][4] > 5 else 8])


@pytest.mark.task("7.3", points=2)
def test_the_tail_of_a_table_is_evicted_before_its_trunk(student, rng):
    table = [(4, 0, 0, 1, 20), (9, 1, 0, 1, 20), (2, 2, 0, 1, 20)]
    said = (
        "[evicts_the_trunk_first] you evict in the wrong order. All blocks were released at 20: "
        "evict the tail (block 2, depth 2) first and the trunk (block 4) last, since no prompt "
        "finds the rest without the trunk."
    )
    evicts(student, [2, 9, 4], said, table, 3)
    said = (
        "[evicts_the_higher_id] you evict in the wrong order: at equal time and equal depth, "
        "evict the lower id first."
    )
    evicts(student, [3, 5, 7], said, [(7, 1, 0, 1, 20), (3, 1, 0, 6, 20), (5, 1, 0, 2, 20)], 3)
    said = (
        "[evicts_by_place] you evict in the wrong order: the order of the blocks in the argument "
        "does not count."
    )
    evicts(student, [2, 9], said, table[::-1], 2)
    for _ in range(10):
        blocks = [
            (i, rng.randrange(4), int(rng.random() < 0.2), rng.randrange(9), rng.randrange(4))
            for i in rng.sample(range(30), 8)
        ]
        free = sorted((b for b in blocks if not b[2]), key=lambda b: (b[4], -b[1], b[0]))
        n = rng.randrange(len(free) + 1)
        said = (
            "[other_blocks_evicted] you do not follow the rule: evict the free block that was "
            "released first; of blocks released at the same time, the deepest; of equally deep "
            "blocks, the one with the lowest id."
        )
        evicts(student, [b[0] for b in free[:n]], said, blocks, n)


@pytest.mark.task("7.3", points=1)
def test_too_few_free_blocks_are_an_error(student):
    blocks = [(4, 0, 1, 1, 5), (6, 0, 0, 2, 30)]
    evicts(
        student,
        [6],
        "[free_one_not_evicted] n is 1, and block 6 is free: evict this block.",
        blocks,
        1,
    )
    said = "[none_needed_and_none_free] n is 0, so it does not matter that no block is free."
    evicts(student, [], said, blocks[:1], 0)
    try:
        got = student.call("evict", Lent(blocks), 2)
    except Raised as error:
        if error.sentence.startswith("MemoryError"):
            return
        raise
    raise Wrong(
        "[no_memory_error] "
        f"evict({blocks}, 2): only one of the two is free, so two cannot be evicted: raise "
        "MemoryError.",
        expected="MemoryError",
        got=got,
    )


# 7.4 ---------------------------------------------------------------------------------------------

LAST, PARTIAL, SEEN, DIVERGED = "last token", "partial block", "never seen", "diverged"
REASONS = (LAST, PARTIAL, SEEN, DIVERGED, "computed now", "evicted")
TWO_BLOCKS = [1, 2, 3, 4, 5, 6, 7, 8]


def looked_up(student, rounds, block_size=4, num_blocks=64, weak=False):
    """What each look-up found, and why no more, in the learner's engine: (name, tokens found,
    reason, at) each. rounds: of prompts that come together, (name, ids, salt) each. weak: hashes
    do not see the order of a block's ids."""
    rounds = [[list(prompt) for prompt in prompts] for prompts in rounds]
    sizes = {"num_blocks": num_blocks, "block_size": block_size}
    packed = student.ask("lookups", rounds=rounds, **sizes, weak=weak)
    return student.unpacked(packed)


def is_begun(student):
    """Judge nothing while the engine says what it has always said."""
    rounds = [[("A", TWO_BLOCKS, None)], [("A again", TWO_BLOCKS, None)]]
    try:
        got = looked_up(student, rounds)
    except Raised:
        return
    if got == [("A", 0, "never seen", 0), ("A again", 4, PARTIAL, 4)]:
        raise NotAttempted(
            "[misses_for_another_reason] a repeated prompt still misses with the reason "
            f'"{PARTIAL}"'
        )


def misses(student, rounds, due, said, block_size=4, num_blocks=64, weak=False):
    """The last look-up of these prompts is as due: tokens found, one of these reasons, at; None for
    any."""
    is_begun(student)
    *before, last = [f"{name}: {ids}" for prompts in rounds for name, ids, _ in prompts]
    shown = f"Blocks of {block_size}; {last}{', after ' * bool(before)}{', '.join(before)}"
    try:
        (_, *got) = looked_up(student, rounds, block_size, num_blocks, weak)[-1]
    except Raised as error:
        if "row" in error.sentence and error.sentence.startswith(("ValueError", "RuntimeError")):
            error.sentence += (
                " [last_token_not_computed] (its last token must be computed, whatever the cache "
                "holds)"
            )
        error.sentence = f"{shown}: {said} It fails with {error.sentence}."
        raise
    found, reason, at = got
    if due[2] is None:
        due = (*due[:2], at)
    if found == due[0] and reason in due[1] and at == due[2]:
        return
    if found != due[0]:
        said = (
            "[other_blocks_than_before] you change which blocks are found; change only the reason."
        )
    elif reason in due[1]:
        said = (
            "[other_first_missing_token] you change `at`, the first token that was not found; "
            "`at` must not change."
        )
    elif reason not in REASONS:
        said = f'[other_reason] you return the reason {reason!r}; the reason must be "{LAST}".'
    raise Wrong(f"{shown}: {said}", expected=(due[0], " or ".join(due[1]), due[2]), got=tuple(got))


@pytest.mark.task("7.4", points=1)
def test_a_repeated_prompt_misses_only_its_last_token(student):
    first, again = [("A", TWO_BLOCKS, None)], [("A again", TWO_BLOCKS, None)]
    said = "[reason_of_a_first_prompt] your reason is wrong: this prompt comes for the first time."
    misses(student, [first], (0, [SEEN], 0), said)
    said = (
        "[reason_of_the_last_token] your reason is wrong: the prompt's second block is full and "
        "known, and is left out only because of the last token."
    )
    misses(student, [first, again], (4, [LAST], 4), said)
    said = (
        "[reason_of_a_single_block] your reason is wrong: the prompt is one known block, left out "
        "only because of the last token; the parent of this block is the root."
    )
    one = [("B", [1, 2, 3, 4], None)]
    misses(student, [one, [("B again", [1, 2, 3, 4], None)]], (0, [LAST], 0), said)
    said = (
        "[reason_of_a_single_token] your reason is wrong: the prompt is one token. Its block is "
        "known, but it is left out because it holds the last token."
    )
    misses(student, [[("C", [7], None)], [("C again", [7], None)]], (0, [LAST], 0), said, 1)
    said = (
        "[reason_in_a_longer_prompts_block] your reason is wrong: the prompt's last block is "
        "known from A's prompt, which is longer."
    )
    misses(student, [first, one], (0, [LAST], 0), said)


@pytest.mark.task("7.4", points=1)
def test_tokens_that_do_not_fill_a_block_are_a_partial_block(student):
    said = "[reason_of_a_rest] your reason is wrong: the rest of the prompt does not fill a block."
    for ids in (TWO_BLOCKS[:7], [*TWO_BLOCKS, 9], [1, 2]):
        at = (len(ids) - 1) // 4 * 4
        rounds = [[("A", ids, None)], [("A again", ids, None)]]
        misses(student, rounds, (at, [PARTIAL], at), said)
    said = (
        "[reason_of_a_rest_that_is_known] your reason is wrong: 5 and 6 begin a known block, but "
        "the rest of this prompt does not fill a block."
    )
    rounds = [[("A", TWO_BLOCKS, None)], [("B", TWO_BLOCKS[:6], None)]]
    misses(student, rounds, (4, [PARTIAL], 4), said)


@pytest.mark.task("7.4", points=1)
def test_a_last_block_that_is_not_known_has_another_reason(student):
    first = [("A", TWO_BLOCKS, None)]
    said = (
        "[reason_of_an_unknown_second_block] your reason is wrong: the prompt's first block is "
        "found, and the second block is not known, so the reason must not change."
    )
    misses(student, [first, [("B", [1, 2, 3, 4, 9, 9, 9, 9], None)]], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_another_past] your reason is wrong: the ids of the prompt's second block are "
        "known only after a different first block, so the second block does not match."
    )
    rounds = [[("A", [9, 9, 9, 9, 5, 6, 7, 8], None)], [("B", [1, 2, 3, 4, 9], None)]]
    misses(student, [*rounds, [("C", TWO_BLOCKS, None)]], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_another_salt] your reason is wrong: the prompt's only block is known only "
        "under a different salt, so the block does not match."
    )
    for one, other in ((None, "hers"), ("hers", None), ("hers", "his")):
        rounds = [[("A", TWO_BLOCKS[:4], one)], [("B", TWO_BLOCKS[:4], other)]]
        misses(student, rounds, (0, [PARTIAL], 0), said)
    said = "[reason_of_the_same_salt] your reason is wrong: the same salt leads to the same block."
    rounds = [[("A", TWO_BLOCKS[:4], "hers")], [("B", TWO_BLOCKS[:4], "hers")]]
    misses(student, rounds, (0, [LAST], 0), said)
    said = (
        "[reason_of_a_block_under_way] your reason is wrong: A computes its second block in the "
        "same step, so this block is not known yet."
    )
    together = [("A", list(range(1, 13)), None), ("B", TWO_BLOCKS, None)]
    misses(student, [[("E", [1, 2, 3, 4, 5], None)], together], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_an_evicted_block] your reason is wrong: in a pool of 4, the prompt's second "
        "block was evicted, so this block is not known any more."
    )
    rounds = [first, [("B", [20 + i for i in range(12)], None)], [("A again", TWO_BLOCKS, None)]]
    misses(student, rounds, (4, [PARTIAL], 4), said, num_blocks=4)
    said = (
        "[reason_of_equal_hashes] your reason is wrong: in this trial, 5, 6, 7, 8 and 8, 7, 6, 5 "
        "have the same hash, but they are two blocks: compare the ids."
    )
    other_order = [("B", [1, 2, 3, 4, 8, 7, 6, 5], None)]
    misses(student, [first, other_order], (4, [PARTIAL], 4), said, weak=True)
    misses(student, [first, [("A again", TWO_BLOCKS, None)]], (4, [LAST], 4), said, weak=True)


@pytest.mark.task("7.4", points=1)
def test_the_other_reasons_stay(student):
    first = ("A", TWO_BLOCKS, None)
    said = (
        "[reason_in_the_same_step] your reason is wrong: A arrived in the same step and still "
        "computes this block, so nothing is known yet."
    )
    misses(student, [[first, ("B", TWO_BLOCKS, None)]], (0, ["computed now"], 0), said)
    said = (
        "[reason_of_a_branch] your reason is wrong: B differs from A from token 6 on, in B's "
        "second block."
    )
    rounds = [[first], [("B", [1, 2, 3, 4, 5, 6, 9, 9, 1, 2, 3, 4], None)]]
    misses(student, rounds, (4, [DIVERGED], 6), said)
    said = (
        "[reason_after_an_eviction] your reason is wrong: in a pool of 4 blocks, B has taken all "
        "of A's blocks."
    )
    rounds = [[first], [("B", [20 + i for i in range(16)], None)], [("A again", *first[1:])]]
    misses(student, rounds, (0, ["evicted"], 0), said, num_blocks=4)


@pytest.mark.task("7.4", points=1)
def test_it_holds_for_any_prompts(student, rng):
    """Checked against a list of all beginnings that have been computed."""
    for _ in range(8):
        size, known, rounds = rng.randrange(1, 4), set(), []
        for number in range(10):
            ids = [rng.randrange(2) for _ in range(rng.randrange(1, 10))]
            salt = rng.choice([None, None, "hers"])
            ends = range(size, len(ids) + 1, size)
            chain = [(salt, tuple(ids[:end])) for end in ends]
            before_last = chain[: (len(ids) - 1) // size]
            found = list(itertools.takewhile(known.__contains__, before_last))
            at, reasons = size * len(found), [SEEN, DIVERGED]
            if found == before_last:
                is_known = len(chain) > len(found) and chain[-1] in known
                reasons = [LAST if is_known else PARTIAL]
            rounds.append([(f"number {number}", ids, salt)])
            known.update(chain)
        due = at, reasons, at if reasons != [SEEN, DIVERGED] else None
        said = (
            f"[reason_in_a_random_case] your reason is wrong: {at} of {len(ids)} tokens are found; "
            "the exercise says which reason is right."
        )
        misses(student, rounds, due, said, size, 128)


NOW_YOURS = {
    "7.1": now_yours.names,
    "7.2": now_yours.matching,
    "7.3": now_yours.eviction,
    "7.4": now_yours.again,
}

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
            "[names_are_no_list] "
            f"{shown}: a list of texts is asked for, a name for each full block; yours is {kind}."
        )
    due = len(ids) // block_size
    if len(got) != due:
        said = "[partial_block_is_named] only full blocks have names."
        if len(got) == due + 1:
            said = (
                "[last_block_is_not_full] "
                "the last block is not full: its content still changes, so it has no name."
                if len(ids) % block_size
                else "[exact_blocks_get_one_more] "
                "the tokens fill their blocks exactly, and nothing is left for one more."
            )
        elif len(got) == len(ids):
            said = "[tokens_are_named] a name belongs to a block of tokens, not to a token."
        elif len(got) == due - 1:
            said = "[last_full_block_has_no_name] the last full block has a name, too: it is full."
        raise Wrong(f"{shown}: {said}", expected=f"{due} names", got=f"{len(got)} names")
    return list(got)


def names_differ(one, other, said):
    if one == other:
        raise Wrong(said, expected="two names", got=one)


@pytest.mark.task("7.1", points=1)
def test_every_full_block_has_a_name_and_no_other(student):
    for ids, size in (([5, 6, 7, 8], 2), ([5, 6, 7, 8, 9], 2), ([5], 2), ([], 4), ([3, 4, 5], 1)):
        names_of(student, ids, size)


@pytest.mark.task("7.1", points=1)
def test_prompts_that_begin_alike_have_the_same_names_there(student):
    one, other = names_of(student, [5, 6, 7, 8, 9, 1], 2), names_of(student, [5, 6, 7, 8, 2, 2], 2)
    if one[:2] != other[:2]:
        raise Wrong(
            "[name_knows_what_comes_after] "
            "[5, 6, 7, 8, 9, 1] and [5, 6, 7, 8, 2, 2] are the same for two blocks of 2, so their "
            "first two names are the same. What comes after a block, or when it is asked, or how "
            "long the prompt is, must not be in its name.",
            expected=one[:2],
            got=other[:2],
        )
    names_differ(
        one[2],
        other[2],
        "[different_blocks_share_a_name] "
        "[9, 1] and [2, 2] are different blocks, and have one name.",
    )
    if names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers") != names_of(
        student, [5, 6, 7, 8, 9, 1], 2, "hers"
    ):
        raise Wrong(
            "[name_changes_when_asked_again] "
            "The same prompt with the same salt has other names when asked again."
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
            "In another Python process the same prompt has other names. A cache outlives a process "
            "and is shared by several: make names of the tokens alone, with sha256_of. Python's "
            "hash() of a text and a counter of your own are different in each process.",
            expected=one,
            got=names_of(student, [5, 6, 7, 8, 9, 1], 2),
        )
    if names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers") != hers:
        raise Wrong(
            "[salted_name_of_one_process] "
            "In another Python process the same prompt with the same salt has other names, and "
            "without a salt it has the same ones: put the salt into the text for sha256_of as it "
            "is. Python's hash() of a text is different in each process.",
            expected=hers,
            got=names_of(student, [5, 6, 7, 8, 9, 1], 2, "hers"),
        )


@pytest.mark.task("7.1", points=1)
def test_equal_blocks_behind_another_past_have_other_names(student, rng):
    first, second, third = names_of(student, [5, 6, 5, 6, 5, 6], 2)
    names_differ(
        first,
        second,
        "[name_of_its_ids_alone] "
        "All blocks of [5, 6, 5, 6, 5, 6] hold the same ids, and the first two have one name: the "
        "name of the block before belongs into a name, since keys and values depend on the past.",
    )
    names_differ(
        second,
        third,
        "[name_of_two_pasts] The second and the third 5, 6 stand behind different pasts.",
    )
    a, b = names_of(student, [1, 2, 9, 9, 5, 6], 2)[2], names_of(student, [3, 4, 9, 9, 5, 6], 2)[2]
    names_differ(
        a,
        b,
        "[name_of_the_block_befores_ids] "
        "[1, 2, 9, 9, 5, 6] and [3, 4, 9, 9, 5, 6] differ in their first block, and their third "
        "ones have one name. Take the *name* of the block before, which stands for all the past; "
        "its ids alone, or its place, do not.",
    )
    a, b = names_of(student, [1, 2, 5, 6], 2)[1], names_of(student, [2, 1, 5, 6], 2)[1]
    names_differ(
        a,
        b,
        "[name_ignores_order] "
        "[1, 2, 5, 6] and [2, 1, 5, 6] are different prompts: the order counts.",
    )
    a, b = names_of(student, [1, 23], 2)[0], names_of(student, [12, 3], 2)[0]
    names_differ(
        a,
        b,
        "[name_joins_ids] "
        "[1, 23] and [12, 3] have one name: write the ids with something between them.",
    )
    a, b = names_of(student, [1, 4], 2)[0], names_of(student, [2, 3], 2)[0]
    names_differ(
        a, b, "[name_adds_ids] [1, 4] and [2, 3] have one name: their sum is no name for them."
    )
    for bits in (8, 16, 32):
        a, b = names_of(student, [5, 6], 2)[0], names_of(student, [5 + 2**bits, 6], 2)[0]
        names_differ(
            a,
            b,
            "[ids_are_cut] "
            f"[5, 6] and [{5 + 2**bits}, 6] have one name: ids may be large; write all of each.",
        )
    all_names = student.calls("block_hashes", [[[i], 1] for i in range(20_000)])
    num_names = len(
        {str(name) for one in all_names if isinstance(one, list | tuple) for name in one}
    )
    if num_names < 20_000:
        raise Wrong(
            "[names_are_too_short] "
            "20,000 prompts of one token, all different, in blocks of 1: some have one name, and "
            "would be taken for one another. Keep all of what sha256_of gives.",
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
                    "[names_are_equal_otherwise] "
                    f"{prompts[0]} and {prompts[1]} are {word} up to block {end} of 3."
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
                    " [empty_salt_is_no_salt] "
                    "An empty text is a salt like any other; None says that there is none."
                )
            if "None" in (one, other) and None in (one, other):
                extra = " [no_salt_is_a_text] str(None) is a text that may be somebody's salt."
            if one and other and one.strip().lower() == other.strip().lower():
                extra = " [salt_is_tidied] Any text is a salt as it is: capitals and blanks count."
            names_differ(
                a,
                b,
                "[salt_is_ignored] "
                f"Block {place} has one name with salt {one!r} and with {other!r}.{extra}",
            )
    a, b = names_of(student, [12, 3], 2, "a")[0], names_of(student, [2, 3], 2, "a1")[0]
    names_differ(
        a,
        b,
        "[salt_runs_into_ids] "
        "[12, 3] with salt 'a' and [2, 3] with salt 'a1' have one name: nothing says where the "
        "salt ends and where the ids begin.",
    )
    first, second = names_of(student, ids, 2)
    names_differ(
        second,
        names_of(student, [7, 8], 2, str(first))[0],
        "[salt_taken_for_a_name] "
        "[7, 8] behind [5, 6], and [7, 8] with the name of [5, 6] as its salt, have one name: any "
        "text is a salt, a name of another block, too. Write something before each salt that no "
        'name begins with, "salt:" for example.',
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
            "your function returned nothing (None): end it with `return` and the list."
        )
    elif isinstance(got, list) and any(type(i) is int and i not in values for i in got):
        gone = next(i for i in got if i not in values)
        said = (
            "[finds_what_is_gone] "
            f"block {gone} is not in block_of: it was in an earlier call, and has been evicted "
            "since. Look into block_of in each call, and remember nothing."
        )
    elif not isinstance(got, list):
        said = (
            f"[list_is_another_thing] a list of block ids is asked for, and yours is {a_kind(got)}."
        )
    elif got and got == list(names[: len(got)]):
        said = "[names_not_ids] what is asked for are ids of blocks, block_of[name], not names."
    raise Wrong(f"{shown}: {said}", expected=expected, got=got)


@pytest.mark.task("7.2", points=1)
def test_what_is_known_is_found_in_order(student):
    known = {"a": 7, "b": 0, "c": 2}
    finds(
        student,
        [7, 0, 2],
        "[known_block_not_found] "
        "all three blocks are known, and the last token lies behind them; block 0 is a block like "
        "any other.",
        ["a", "b", "c"],
        13,
        4,
        known,
    )
    finds(student, [], "[finds_what_nobody_knows] nothing is known.", ["a", "b"], 9, 4, {})
    finds(
        student,
        [],
        "[finds_in_a_short_prompt] a prompt without a full block finds nothing.",
        [],
        3,
        4,
        known,
    )
    finds(
        student,
        [7, 0],
        "[other_blocks_before_a_rest] two blocks are known; what is left fills no block.",
        ["a", "b"],
        11,
        4,
        known,
    )


@pytest.mark.task("7.2", points=1.5)
def test_nothing_is_found_behind_a_gap(student):
    said = (
        "[finds_behind_a_gap] "
        "nobody knows the second block: what comes after a gap is of no use until it is filled."
    )
    finds(student, [7], said, ["a", "b", "c"], 13, 4, {"a": 7, "c": 2})
    known = {"a": 7, "c": 2, "d": 5, "e": 1, "f": 9}  # b is missing: what follows is of no use
    for last in range(3, 7):
        names = list("abcdef")[:last]
        finds(student, [7], said, names, 4 * last + 1, 4, known)
    said = (
        "[finds_behind_an_unknown_first] "
        "nobody knows the first block, so nothing that comes after it can be used."
    )
    finds(student, [], said, ["a", "b", "c"], 13, 4, {"b": 1, "c": 2})


@pytest.mark.task("7.2", points=1.5)
def test_the_last_token_is_never_found(student, rng):
    known = {"a": 7, "b": 0, "c": 2}
    said = (
        "[takes_the_last_tokens_block] "
        "12 tokens fill three blocks, and the third holds the last token, which has to be computed."
    )
    finds(student, [7, 0], said, ["a", "b", "c"], 12, 4, known)
    said = (
        "[takes_the_only_block] "
        "4 tokens fill one block, and it holds the last token: nothing can be taken."
    )
    finds(student, [], said, ["a"], 4, 4, known)
    said = (
        "[takes_the_last_block_of_one] "
        "blocks of one token: the last token's is the third, and it has to be computed."
    )
    finds(student, [7, 0], said, ["a", "b", "c"], 3, 1, known)
    said = (
        "[last_token_lies_behind_all] "
        "13 tokens: the last token lies behind three full blocks, and all three are found."
    )
    finds(student, [7, 0, 2], said, ["a", "b", "c"], 13, 4, known)
    said = (
        "[drops_what_is_not_last] "
        "16 tokens fill four blocks. The last token lies in the fourth, which is not found; the "
        "second is not the last one, and stays."
    )
    finds(student, [7, 0], said, ["a", "b", "x", "y"], 16, 4, known)
    said = (
        "[takes_the_last_block_of_three] "
        "blocks of 3: the last token of 12 lies in the fourth block, and three come before it. "
        "block_size need not be a power of two."
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
            f"[other_blocks_found] {len(before_last)} full blocks lie before the last token, and "
            f"the first {len(found)} of them are known without a gap."
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
            "your function returned nothing (None): end it with `return` and the list."
        )
    elif not isinstance(got, list):
        said = (
            f"[evicts_another_thing] a list of block ids is asked for, and yours is {a_kind(got)}."
        )
    elif got and all(isinstance(one, tuple | list) for one in got):
        said = (
            "[evicts_whole_blocks] the ids of the blocks are asked for, block[0], not the blocks."
        )
    elif len(got) > n:
        said = (
            "[evicts_another_number] "
            f"{n} are asked for, and {len(got)} go: what need not go stays in the cache."
        )
    raise Wrong(f"{shown}: {said}", expected=expected, got=got)


@pytest.mark.task("7.3", points=1)
def test_what_somebody_holds_is_never_evicted(student):
    said = (
        "[evicts_a_held_block] "
        "block 4 has a holder; who reads it must find it. Only block 6 may go."
    )
    evicts(student, [6], said, [(4, 0, 1, 1, 5), (6, 0, 0, 2, 30)], 1)
    said = "[evicts_a_shared_block] block 4 has two holders. Only block 6 may go."
    evicts(student, [6], said, [(4, 0, 2, 1, 5), (6, 0, 0, 2, 30)], 1)
    evicts(student, [], "[evicts_without_need] nobody has to go.", [(4, 0, 0, 1, 5)], 0)


@pytest.mark.task("7.3", points=1)
def test_who_was_given_back_longest_ago_goes_first(student):
    said = (
        "[evicts_by_when_taken] "
        "block 4 was given back at 5, block 6 at 30: 4 goes first. When they were taken (9 and 2) "
        "does not count, since a block is in use until it is given back."
    )
    evicts(student, [4, 6], said, [(4, 0, 0, 9, 5), (6, 0, 0, 2, 30)], 2)
    said = (
        "[evicts_the_deepest_first] "
        "the deep block was given back at 30, the first block of another chain at 5: longest ago "
        "comes before deepest."
    )
    evicts(student, [8, 3], said, [(3, 7, 0, 1, 30), (8, 0, 0, 2, 5)], 2)
    said = (
        "[depth_counts_as_time] "
        "block 8 was given back at 20, block 3 at 21, and 3 is deep in a long chain: time comes "
        "first, however deep a block is. Compare time, depth and id one after the other; do not "
        "make one number of them."
    )
    evicts(student, [8, 3], said, [(3, 2_000_000, 0, 1, 21), (8, 0, 0, 2, 20)], 2)
    said = (
        "[times_are_cut] "
        "block 8 was given back before block 3, by 1: times may be large, such as nanoseconds, and "
        "a float does not hold all of their digits."
    )
    now = 1_700_000_000_000_000_000
    evicts(student, [8, 3], said, [(3, 7, 0, 1, now + 1), (8, 0, 0, 2, now)], 2)
    cases = [([(3, 0, 0, 1, 5), (8, 0, 0, 2, late)], 1) for late in (9, 4, 2)]
    stays_right(student, "evict", cases, lambda blocks, n: [3 if blocks[1][4] > 5 else 8])


@pytest.mark.task("7.3", points=2)
def test_of_one_table_the_tail_goes_before_the_trunk(student, rng):
    table = [(4, 0, 0, 1, 20), (9, 1, 0, 1, 20), (2, 2, 0, 1, 20)]
    said = (
        "[evicts_the_trunk_first] "
        "all were given back at 20: the tail (block 2, depth 2) goes first and the trunk (block 4) "
        "last, since without its trunk nobody finds the rest."
    )
    evicts(student, [2, 9, 4], said, table, 3)
    said = "[evicts_the_higher_id] at one time and one depth the lower id goes first."
    evicts(student, [3, 5, 7], said, [(7, 1, 0, 1, 20), (3, 1, 0, 6, 20), (5, 1, 0, 2, 20)], 3)
    said = "[evicts_by_place] the order in which blocks come in does not count."
    evicts(student, [2, 9], said, table[::-1], 2)
    for _ in range(10):
        blocks = [
            (i, rng.randrange(4), int(rng.random() < 0.2), rng.randrange(9), rng.randrange(4))
            for i in rng.sample(range(30), 8)
        ]
        free = sorted((b for b in blocks if not b[2]), key=lambda b: (b[4], -b[1], b[0]))
        n = rng.randrange(len(free) + 1)
        said = (
            "[other_blocks_evicted] "
            "compare it with the rule: free ones, by release, then the deepest, then the id."
        )
        evicts(student, [b[0] for b in free[:n]], said, blocks, n)


@pytest.mark.task("7.3", points=1)
def test_too_few_free_blocks_are_an_error(student):
    blocks = [(4, 0, 1, 1, 5), (6, 0, 0, 2, 30)]
    evicts(student, [6], "[free_one_not_evicted] one is asked for, and one is free.", blocks, 1)
    said = "[none_needed_and_none_free] none is asked for, so it does not matter that none is free."
    evicts(student, [], said, blocks[:1], 0)
    try:
        got = student.call("evict", Lent(blocks), 2)
    except Raised as error:
        if error.sentence.startswith("MemoryError"):
            return
        raise
    raise Wrong(
        "[no_memory_error] "
        f"evict({blocks}, 2): one of the two is free, so two cannot be had: raise MemoryError.",
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
            f'[misses_for_another_reason] a prompt that comes again still misses for "{PARTIAL}"'
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
                " [last_token_not_computed] "
                "(its last token has to be computed, whatever the cache holds)"
            )
        error.sentence = f"{shown}: {said} It fails with {error.sentence}."
        raise
    found, reason, at = got
    if due[2] is None:
        due = (*due[:2], at)
    if found == due[0] and reason in due[1] and at == due[2]:
        return
    if found != due[0]:
        said = "[other_blocks_than_before] what is found stays as it is; the reason alone is new."
    elif reason in due[1]:
        said = (
            "[other_first_missing_token] "
            "`at` stays what it was, the first token that was not found."
        )
    elif reason not in REASONS:
        said = f'[other_reason] the reason is called "{LAST}", and yours {reason!r}.'
    raise Wrong(f"{shown}: {said}", expected=(due[0], " or ".join(due[1]), due[2]), got=tuple(got))


@pytest.mark.task("7.4", points=1)
def test_a_prompt_that_comes_again_misses_its_last_token_alone(student):
    first, again = [("A", TWO_BLOCKS, None)], [("A again", TWO_BLOCKS, None)]
    said = "[reason_of_a_first_prompt] it comes for the first time, and nobody has seen it."
    misses(student, [first], (0, [SEEN], 0), said)
    said = (
        "[reason_of_the_last_token] "
        "its second block is full and known, and left out for its last token alone."
    )
    misses(student, [first, again], (4, [LAST], 4), said)
    said = (
        "[reason_of_a_single_block] "
        "a prompt of one block, which is known, is no other case; its parent is the root."
    )
    one = [("B", [1, 2, 3, 4], None)]
    misses(student, [one, [("B again", [1, 2, 3, 4], None)]], (0, [LAST], 0), said)
    said = "[reason_of_a_single_token] a prompt of one token in blocks of one is no other case."
    misses(student, [[("C", [7], None)], [("C again", [7], None)]], (0, [LAST], 0), said, 1)
    said = (
        "[reason_in_a_longer_prompts_block] "
        "its last block is known from A's prompt, which goes on behind it."
    )
    misses(student, [first, one], (0, [LAST], 0), said)


@pytest.mark.task("7.4", points=1)
def test_what_fills_no_block_stays_a_partial_block(student):
    said = "[reason_of_a_rest] what is left fills no block, known or not."
    for ids in (TWO_BLOCKS[:7], [*TWO_BLOCKS, 9], [1, 2]):
        at = (len(ids) - 1) // 4 * 4
        rounds = [[("A", ids, None)], [("A again", ids, None)]]
        misses(student, rounds, (at, [PARTIAL], at), said)
    said = (
        "[reason_of_a_rest_that_is_known] "
        "5 and 6 begin a block that is known; what is left of this prompt fills no block."
    )
    rounds = [[("A", TWO_BLOCKS, None)], [("B", TWO_BLOCKS[:6], None)]]
    misses(student, rounds, (4, [PARTIAL], 4), said)


@pytest.mark.task("7.4", points=1)
def test_a_last_block_that_is_not_known_is_nobody_s_last_token(student):
    first = [("A", TWO_BLOCKS, None)]
    said = (
        "[reason_of_an_unknown_second_block] "
        "its first block is found, and nobody knows the second: no other reason than before."
    )
    misses(student, [first, [("B", [1, 2, 3, 4, 9, 9, 9, 9], None)]], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_another_past] "
        "the ids of its second block are known behind another past alone: another block."
    )
    rounds = [[("A", [9, 9, 9, 9, 5, 6, 7, 8], None)], [("B", [1, 2, 3, 4, 9], None)]]
    misses(student, [*rounds, [("C", TWO_BLOCKS, None)]], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_another_salt] "
        "its only block is known under another salt alone, and that is another block."
    )
    for one, other in ((None, "hers"), ("hers", None), ("hers", "his")):
        rounds = [[("A", TWO_BLOCKS[:4], one)], [("B", TWO_BLOCKS[:4], other)]]
        misses(student, rounds, (0, [PARTIAL], 0), said)
    said = "[reason_of_the_same_salt] the same salt leads to the same block."
    rounds = [[("A", TWO_BLOCKS[:4], "hers")], [("B", TWO_BLOCKS[:4], "hers")]]
    misses(student, rounds, (0, [LAST], 0), said)
    said = (
        "[reason_of_a_block_under_way] "
        "A is computing her second block in this very step, so nobody knows it yet."
    )
    together = [("A", list(range(1, 13)), None), ("B", TWO_BLOCKS, None)]
    misses(student, [[("E", [1, 2, 3, 4, 5], None)], together], (4, [PARTIAL], 4), said)
    said = (
        "[reason_of_an_evicted_block] "
        "in a pool of 4 its second block was evicted, so nobody knows it now."
    )
    rounds = [first, [("B", [20 + i for i in range(12)], None)], [("A again", TWO_BLOCKS, None)]]
    misses(student, rounds, (4, [PARTIAL], 4), said, num_blocks=4)
    said = (
        "[reason_of_equal_hashes] "
        "were 5, 6, 7, 8 and 8, 7, 6, 5 two blocks with one hash, as they are in this trial, they "
        "would still be two: compare the ids."
    )
    other_order = [("B", [1, 2, 3, 4, 8, 7, 6, 5], None)]
    misses(student, [first, other_order], (4, [PARTIAL], 4), said, weak=True)
    misses(student, [first, [("A again", TWO_BLOCKS, None)]], (4, [LAST], 4), said, weak=True)


@pytest.mark.task("7.4", points=1)
def test_the_other_reasons_stay(student):
    first = ("A", TWO_BLOCKS, None)
    said = (
        "[reason_in_the_same_step] "
        "A came in the same step, and is computing it: nothing is known yet."
    )
    misses(student, [[first, ("B", TWO_BLOCKS, None)]], (0, ["computed now"], 0), said)
    said = "[reason_of_a_branch] B goes on otherwise than A from token 6, in its second block."
    rounds = [[first], [("B", [1, 2, 3, 4, 5, 6, 9, 9, 1, 2, 3, 4], None)]]
    misses(student, rounds, (4, [DIVERGED], 6), said)
    said = "[reason_after_an_eviction] in a pool of 4 blocks B's has taken all of A's."
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
            "[reason_in_a_random_case] "
            f"of {len(ids)} tokens {at} are found, and why no more is as the exercise says."
        )
        misses(student, rounds, due, said, size, 128)


NOW_YOURS = {
    "7.1": now_yours.names,
    "7.2": now_yours.matching,
    "7.3": now_yours.eviction,
    "7.4": now_yours.again,
}

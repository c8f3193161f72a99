"""BlockPool: every block is free or held, and none is ever lost or handed out twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import minibatch as mb


@pytest.mark.parametrize(
    ("num_blocks", "block_size", "says"),
    [(0, 16, "num_blocks is 0"), (-2, 16, "num_blocks is -2"), (4, 0, "block_size is 0")],
)
def test_a_pool_of_less_than_one_is_refused(num_blocks, block_size, says):
    with pytest.raises(ValueError, match=says):
        mb.BlockPool(num_blocks, block_size)


def test_a_new_pool_is_all_free():
    pool = mb.BlockPool(5, 16)
    assert pool.num_free == pool.num_blocks == 5
    assert [pool.ref_count(block) for block in range(5)] == [0] * 5


def test_the_lowest_free_ids_come_out_first():
    assert mb.BlockPool(5, 16).allocate(3) == [0, 1, 2]


def test_what_was_freed_longest_ago_is_taken_first():
    pool = mb.BlockPool(6, 16)
    a, b = pool.allocate(2), pool.allocate(2)
    pool.free(b)
    pool.free(a)
    assert pool.allocate(2) == [4, 5]  # never used
    assert set(pool.allocate(2)) == set(b)
    assert set(pool.allocate(2)) == set(a)


def test_of_a_table_given_back_the_end_is_taken_first():
    pool = mb.BlockPool(3, 16)
    table = pool.allocate(3)
    pool.free(table)
    assert pool.allocate(3) == table[::-1]


def test_a_shared_block_is_free_when_its_last_holder_lets_go():
    pool = mb.BlockPool(3, 16)
    table = pool.allocate(2)
    pool.share(table[:1])
    assert [pool.ref_count(block) for block in range(3)] == [2, 1, 0]
    assert [pool.is_sole_holder(block) for block in table] == [False, True]
    pool.free(table)
    assert (pool.num_free, pool.is_sole_holder(table[0])) == (2, True)
    pool.free(table[:1])
    assert pool.num_free == 3


@pytest.mark.parametrize("ids", [[2], [0, 2], [-1], [3]])
def test_what_nobody_holds_cannot_be_shared(ids):
    pool = mb.BlockPool(3, 16)
    pool.allocate(2)
    with pytest.raises(ValueError, match="block -?[0-9] is free"):
        pool.share(ids)
    assert [pool.ref_count(block) for block in range(3)] == [1, 1, 0]


def test_holders_are_counted_from_tables():
    pool = mb.BlockPool(6, 16)
    pool.allocate(5)
    pool.rebuild([[3, 1], [1]])
    assert [pool.ref_count(block) for block in range(6)] == [0, 2, 0, 1, 0, 0]
    assert (pool.allocate(4), pool.num_shared) == ([0, 2, 4, 5], 1)


def test_a_pool_serves_one_engine():
    pool = mb.BlockPool(4, 16)
    mb.Engine(mb.PretendModel(), mb.Sequential(), pool=pool)
    scheduler = mb.Sequential()
    with pytest.raises(RuntimeError, match="this pool already serves an engine"):
        mb.Engine(mb.PretendModel(), scheduler, pool=pool)
    mb.Engine(mb.PretendModel(), scheduler)  # the refusal has not used it up


def test_asking_for_more_than_is_free_takes_nothing():
    pool = mb.BlockPool(5, 16)
    pool.allocate(3)
    with pytest.raises(MemoryError, match="3 blocks needed, 2 of 5 free"):
        pool.allocate(3)
    assert pool.num_free == 2
    assert pool.allocate(2) == [3, 4]


def test_asking_for_none_gives_none():
    pool = mb.BlockPool(1, 16)
    pool.allocate(1)
    assert pool.allocate(0) == []


@pytest.mark.parametrize("wrong", [[0, 0], [0, 4], [4], [5], [-1], [0, -5]])
def test_giving_back_what_is_not_held_changes_nothing(wrong):
    pool = mb.BlockPool(5, 16)
    pool.allocate(3)
    with pytest.raises(ValueError, match="freed more often than it is held"):
        pool.free(wrong)
    assert pool.num_free == 2
    assert [pool.ref_count(block) for block in range(5)] == [1, 1, 1, 0, 0]


def test_blocks_may_be_given_back_from_an_iterator():
    pool = mb.BlockPool(5, 16)
    pool.free(iter(pool.allocate(3)))
    assert pool.num_free == 5


@given(st.lists(st.integers(0, 6), max_size=8))
def test_what_is_allocated_is_never_handed_out_twice(sizes):
    pool, held = mb.BlockPool(20, 4), []
    for n in sizes:
        if n <= pool.num_free:
            held += pool.allocate(n)
    assert len(set(held)) == len(held)
    assert pool.num_free == 20 - len(held)


class PoolAgainstModel(RuleBasedStateMachine):
    """The pool beside a plain set of held ids."""

    @initialize(num_blocks=st.integers(1, 12), block_size=st.integers(1, 4))
    def make(self, num_blocks, block_size):
        self.pool = mb.BlockPool(num_blocks, block_size)
        self.held = set()

    @rule(n=st.integers(0, 13))
    def allocate(self, n):
        room = self.pool.num_blocks - len(self.held)
        if n > room:
            with pytest.raises(MemoryError):
                self.pool.allocate(n)
            return
        taken = self.pool.allocate(n)
        assert len(taken) == len(set(taken)) == n
        assert not self.held.intersection(taken)
        assert all(0 <= block < self.pool.num_blocks for block in taken)
        self.held |= set(taken)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def free(self, data):
        some = data.draw(st.lists(st.sampled_from(sorted(self.held)), unique=True))
        self.pool.free(some)
        self.held -= set(some)

    @rule(data=st.data())
    def free_wrongly(self, data):
        ids = st.integers(-2, self.pool.num_blocks + 1)
        wrong = data.draw(ids.filter(lambda block: block not in self.held))
        right = (
            data.draw(st.lists(st.sampled_from(sorted(self.held)), unique=True))
            if self.held
            else []
        )
        with pytest.raises(ValueError, match=f"block {wrong} "):
            self.pool.free([*right, wrong])

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def free_twice(self, data):
        block = data.draw(st.sampled_from(sorted(self.held)))
        with pytest.raises(ValueError, match=f"block {block} "):
            self.pool.free([block, block])

    @invariant()
    def adds_up(self):
        assert self.pool.num_free == self.pool.num_blocks - len(self.held)
        for block in range(self.pool.num_blocks):
            assert self.pool.ref_count(block) == (block in self.held)


TestPoolAgainstModel = PoolAgainstModel.TestCase
TestPoolAgainstModel.settings = settings(max_examples=60, stateful_step_count=30)

"""Exercises of lesson 05: paged KV blocks.

A KV block stores the keys and values of `block_size` tokens that follow one another, in every
layer. A sequence's block table lists its blocks in the order of its tokens: [7, 2] says that the
first block_size tokens lie in block 7, and the next ones in block 2.

Change none of your arguments: they belong to the caller, who goes on using them. What you return
belongs to the caller, too: make a new list in each call, and remember nothing from call to call.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 5.1`.
"""

from collections import Counter, deque

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 5.1: From positions to slots
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# The pool is one long array of slots, block after block: block 0 has the slots 0 to
# block_size - 1, block 1 the next ones. A forward pass takes the tokens of several sequences, row
# after row, without gaps. Into which slot do each token's key and value go?
#
# Row i computes num_tokens[i] tokens of its sequence, 0 or more. The num_computed_tokens[i] tokens
# before them are in the cache, so the first new one has that position: positions count from 0.
# ---------------------------------------------------------------------------------------------
def slot_mapping(
    block_tables: list[list[int]],
    num_computed_tokens: list[int],
    num_tokens: list[int],
    block_size: int,
) -> list[int]:
    """The slot of every new token, row after row, in one flat list of ints.

    Example: Blocks of 4. Row 0 has the table [7, 2], 3 tokens in the cache, and computes 2:
    positions 3 and 4. Row 1 has the table [5], nothing in the cache, and computes 2: positions 0
    and 1. slot_mapping([[7, 2], [5]], [3, 0], [2, 2], block_size=4) is [31, 8, 20, 21].
    """
    # YOUR CODE for Exercise 5.1 begins here
    raise NotImplementedError("Exercise 5.1: From positions to slots: not written yet")
    # YOUR CODE for Exercise 5.1 ends here


class MyPool(mb.BlockPool):
    """Which blocks are free, and how many hold each of the others. Two books, and no more:

        self.free_ids   a deque: the blocks that nobody holds, the one to take next on the left
        self.holders    a list: how many sequences hold block 0, block 1, …; 0 for a free one

    Ids go from 0 to self.num_blocks - 1. What stands below is written; the engine and you ask it.
    """

    num_cached = 0  # that free blocks can be found by what they hold is lesson 07

    @property
    def num_free(self) -> int:
        return len(self.free_ids)

    @property
    def num_shared(self) -> int:
        return sum(num_holders > 1 for num_holders in self.holders)

    def ref_count(self, block_id: int) -> int:
        return self.holders[block_id]

    def is_sole_holder(self, block_id: int) -> bool:
        return self.holders[block_id] == 1

    def rebuild(self, block_tables: list[list[int]]) -> None:
        """Count the holders again from all block tables; without tables every block is free, and 0
        comes first. (Called when the pool is made, and when it is reset.)"""
        held = Counter(block_id for table in block_tables for block_id in table)
        self.holders = [held[block_id] for block_id in range(self.num_blocks)]
        self.free_ids = deque(i for i in range(self.num_blocks) if not held[i])

    # -----------------------------------------------------------------------------------------
    # Exercise 5.2: The pool
    # 5 points, 30 minutes, difficulty 3 of 5
    # lessons/05_paged_kv_blocks.ipynb, "Your turn"
    #
    # Three methods, each a place of its own. A sequence takes blocks (`allocate`); another begins
    # alike and holds the same ones (`share`); each gives up its hold when it leaves (`free`), and
    # only with the last hold is a block free again.
    #
    # Which free block is taken first? The one that has been free for longest. Of a table that is
    # given back in one call, its last block counts as freed first, and so is taken again first: a
    # table's beginning is what others are likeliest to ask for again.
    #
    # Misuse is a ValueError, and too few free blocks are a MemoryError. Either changes nothing:
    # neither the blocks that are named before the wrong one in the same call, nor those after it.
    # -----------------------------------------------------------------------------------------
    def allocate(self, num_blocks: int) -> list[int]:
        """Take so many free blocks, 0 or more; returns their ids, in the order in which they were
        taken. Raises MemoryError, and takes none, if fewer are free."""
        # YOUR CODE for Exercise 5.2 (allocate) begins here
        raise NotImplementedError("Exercise 5.2: The pool: not written yet")
        # YOUR CODE for Exercise 5.2 (allocate) ends here

    def share(self, block_ids: list[int]) -> None:
        """One more hold on each of these blocks.
        Raises ValueError if one of them is held by nobody, or does not exist."""
        # YOUR CODE for Exercise 5.2 (share) begins here
        raise NotImplementedError("Exercise 5.2: The pool: not written yet")
        # YOUR CODE for Exercise 5.2 (share) ends here

    def free(self, block_ids: list[int]) -> None:
        """Give up one hold on each of these blocks, from the last to the first; one that nobody
        holds any more is free. Raises ValueError if one of them is named more often than it is
        held, or does not exist.

        Example: In a pool of 4, allocate(3) is [0, 1, 2]; after share([0]) and free([0, 1, 2])
        block 0 is held once; allocate(3) is then [3, 2, 1]: 3 was never taken, 2 freed before 1.
        """
        # YOUR CODE for Exercise 5.2 (free) begins here
        raise NotImplementedError("Exercise 5.2: The pool: not written yet")
        # YOUR CODE for Exercise 5.2 (free) ends here


# ---------------------------------------------------------------------------------------------
# Exercise 5.3: Copy on write
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# A sequence is about to compute num_tokens more tokens, and writes their keys and values behind
# the num_computed_tokens that it has. Into a block that another holds, too, it must not write: it
# first takes a free block, has the old one copied into it, and names the new one in its table.
#
# Which copies are due, and what does its table say then? Blocks that it only reads stay shared,
# however many hold them. Tokens past the table's end need no copy: they get new blocks later.
# ---------------------------------------------------------------------------------------------
def copy_on_write(
    block_table: list[int],
    holders: list[int],
    free_ids: list[int],
    num_computed_tokens: int,
    num_tokens: int,
    block_size: int,
) -> tuple[list[tuple[int, int]], list[int]]:
    """The copies, (from, to) each, in the order of the table; and the table as it is then.

    holders: how many sequences hold block 0, block 1, …; this one included. free_ids: free blocks,
    enough of them, the one to take first in front. All three lists are the caller's: change none,
    and return a table of your own, even if it says the same.

    Example: Blocks of 4; two sequences share the blocks 7 and 2, with 6 tokens in them. One writes
    its token at position 6, which lies in block 2; block 9 is free:
    copy_on_write([7, 2], [0, 0, 2, 0, 0, 0, 0, 2, 0, 0], [9, 1], 6, 1, 4) is ([(2, 9)], [7, 9]).
    """
    # YOUR CODE for Exercise 5.3 begins here
    raise NotImplementedError("Exercise 5.3: Copy on write: not written yet")
    # YOUR CODE for Exercise 5.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 5.4: How many sequences fit
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# The memory has room for `capacity` tokens. Requests come in, first come first served, and nobody
# overtakes: how many of the first fit, all at once, each with room for all the tokens that it will
# ever have? That depends on what an allocator sets aside for each, in tokens:
#
#     "maximum"        what the model can take, max_model_len: nobody knows the answer's length
#     "power of two"   the prompt, and for the answer the next power of two: 25 tokens get 32,
#                      even if that is more than the model can take
#     "told"           the prompt and the answer: somebody told the length
#     "paged"          the prompt and the answer, in blocks of block_size
# ---------------------------------------------------------------------------------------------
def how_many_fit(
    allocator: str,
    requests: list[tuple[int, int]],
    capacity: int,
    max_model_len: int,
    block_size: int,
) -> int:
    """How many of the first requests, (tokens of prompt, of answer) each, fit at the same time.
    capacity: in tokens, a multiple of block_size.

    Example: Two requests, (10, 5) and (20, 9), a capacity of 48, max_model_len 32, blocks of 4.
    "maximum" takes 32 for each: 1 fits. "power of two" takes 10 + 8 and 20 + 16: 1 fits. "told"
    takes 15 and 29, "paged" 16 and 32: 2 fit.
    """
    # YOUR CODE for Exercise 5.4 begins here
    raise NotImplementedError("Exercise 5.4: How many sequences fit: not written yet")
    # YOUR CODE for Exercise 5.4 ends here

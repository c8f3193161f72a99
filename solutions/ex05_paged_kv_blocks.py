"""Exercises of lesson 05: paged KV blocks.

A KV block stores the keys and values of `block_size` consecutive tokens, in every layer. A
sequence's block table lists its blocks in the order of its tokens: [7, 2] means that the first
block_size tokens are in block 7, and the next tokens in block 2.

Change none of your arguments: the caller still uses them. The caller may change what you return:
make a new list in each call, and keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 5.1`.
"""

from collections import Counter, deque

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 5.1: From positions to slots
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# The pool is one long array of slots, block after block: block 0 has the first `block_size` slots,
# and block 1 has the next `block_size` slots. A forward pass computes the tokens of several
# sequences, row after row, without gaps. Into which slot does it write the key and value of each
# token?
#
# Row `i` computes `num_tokens[i]` tokens (0 or more) of its sequence. The `num_computed_tokens[i]`
# earlier tokens are in the cache. Positions count from 0, so the first new token is at position
# `num_computed_tokens[i]`.
#
# HINT Begin with one token, at position p. How many whole blocks of its sequence come before the
#      token, and at which offset in its own block is the token?
# HINT The table maps p // block_size to a block of the pool; a block begins at the slot block *
#      block_size; the offset inside it is p % block_size.
# HINT for table, start, n in zip(block_tables, num_computed_tokens, num_tokens):
#          for p in range(start, start + n):
#              slots.append(table[...] * block_size + ...)
# ---------------------------------------------------------------------------------------------
def slot_mapping(
    block_tables: list[list[int]],
    num_computed_tokens: list[int],
    num_tokens: list[int],
    block_size: int,
) -> list[int]:
    """Returns the slot of every new token, row after row, in one flat list of ints.

    Example: Blocks of 4. Row 0 has the table [7, 2], 3 tokens in the cache, and computes 2
    tokens, at positions 3 and 4. Row 1 has the table [5], nothing in the cache, and computes 2
    tokens, at positions 0 and 1. slot_mapping([[7, 2], [5]], [3, 0], [2, 2], block_size=4) is
    [31, 8, 20, 21].
    """
    # BEGIN SOLUTION
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for position in range(start, start + n):
            slots.append(table[position // block_size] * block_size + position % block_size)
    return slots
    # END SOLUTION


class MyPool(mb.BlockPool):
    """Knows which blocks are free, and how many sequences hold each of the other blocks. The pool's
    state is two fields:

        self.free_ids   a deque of the blocks without a holder; the left block is taken next
        self.holders    a list: how many sequences hold block 0, block 1, …; 0 for a free block

    Ids go from 0 to self.num_blocks - 1. The methods below are given; the engine and you may use
    them.
    """

    num_cached = 0  # lesson 07 finds free blocks by their content

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
        """Count the holders again from all block tables; without tables every block is free, and
        block 0 is taken next. (Called when the pool is made, and when it is reset.)"""
        held = Counter(block_id for table in block_tables for block_id in table)
        self.holders = [held[block_id] for block_id in range(self.num_blocks)]
        self.free_ids = deque(i for i in range(self.num_blocks) if not held[i])

    # -----------------------------------------------------------------------------------------
    # Exercise 5.2: The pool
    # 5 points, 30 minutes, difficulty 3 of 5
    # lessons/05_paged_kv_blocks.ipynb, "Your turn"
    #
    # Write three methods. A sequence takes blocks (`allocate`). Another sequence with the same
    # beginning holds the same blocks (`share`). When a sequence ends, it gives up its holds
    # (`free`). A block is free again when its last hold is given up.
    #
    # Which free block is taken first? The block that has been free for longest. A call of `free`
    # gives up its last block first, so this block is also the first to be taken again. The blocks
    # at the beginning of the table stay free longest. This is on purpose: other prompts are most
    # likely to need their content (lesson 7).
    #
    # A wrong call raises a `ValueError`, and too few free blocks raise a `MemoryError`. A call that
    # raises an error changes nothing: neither the blocks before the wrong block nor the blocks
    # after it.
    #
    # HINT Each method has two parts: first check the whole call, and raise the error; then
    #      change the two fields. The pool does not use a block's content, and erases nothing.
    # HINT Only two calls move a block. `allocate` takes it from the left of `free_ids` and sets its
    #      number of holders to 1. `free` lowers this number; at 0 it appends the block on the
    #      right. For `free([3, 3])`, `Counter(block_ids)` counts how often each block is named.
    # HINT def free(self, block_ids):
    #          for block_id, times in Counter(block_ids).items():
    #              if not 0 <= block_id < self.num_blocks or times > ...:
    #                  raise ValueError(...)
    #          for block_id in reversed(block_ids):
    #              self.holders[block_id] -= 1
    #              if ...:
    #                  self.free_ids.append(block_id)
    # -----------------------------------------------------------------------------------------
    def allocate(self, num_blocks: int) -> list[int]:
        """Takes num_blocks free blocks, 0 or more; returns their ids, in the order in which they
        were taken. If fewer blocks are free, it takes none and raises MemoryError."""
        # BEGIN SOLUTION of allocate
        if num_blocks > len(self.free_ids):
            raise MemoryError(f"{num_blocks} blocks asked, {len(self.free_ids)} free")
        taken = [self.free_ids.popleft() for _ in range(num_blocks)]
        for block_id in taken:
            self.holders[block_id] = 1
        return taken
        # END SOLUTION

    def share(self, block_ids: list[int]) -> None:
        """Adds one hold to each of these blocks.
        Raises ValueError if one of these blocks has no holder, or does not exist."""
        # BEGIN SOLUTION of share
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks or self.holders[block_id] == 0:
                raise ValueError(f"block {block_id} is held by nobody")
        for block_id in block_ids:
            self.holders[block_id] += 1
        # END SOLUTION

    def free(self, block_ids: list[int]) -> None:
        """Gives up one hold on each of these blocks, from the last to the first; a block without
        holders is free. Raises ValueError if one of these blocks is named more often than it is
        held, or does not exist.

        Example: In a pool of 4 blocks, allocate(3) is [0, 1, 2]; after share([0]) and
        free([0, 1, 2]) block 0 is held once. Then allocate(3) is [3, 2, 1]: block 3 was never
        taken, and block 2 was freed before block 1.
        """
        # BEGIN SOLUTION of free
        for block_id, times in Counter(block_ids).items():
            if not 0 <= block_id < self.num_blocks or times > self.holders[block_id]:
                raise ValueError(f"block {block_id} is not held as often as it is given back")
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
        # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 5.3: Copy on write
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# A sequence will compute `num_tokens` more tokens. It writes their keys and values after those of
# its `num_computed_tokens` earlier tokens. The sequence must not write into a block that another
# sequence also holds. Before such a write, it takes a free block, copies the old block into the
# free block, and puts the new block into its table.
#
# Which copies are needed, and what is the sequence's table after the copies? Blocks that the
# sequence reads but does not write stay shared, however many sequences hold them. Tokens beyond
# the table's end need no copy: they get new blocks later. If `num_tokens` is 0, nothing is written,
# so no copy is needed.
#
# HINT Into which places of the table does the sequence write? Into all places from that of the
#      first new token to that of the last new token.
# HINT The num_tokens new tokens begin at position num_computed_tokens. Each token is at the
#      place position // block_size. Which of the blocks at these places have more than one holder?
# HINT copies, table = [], list(block_table)
#      for place in sorted({p // block_size for p in range(...)}):
#          if place < len(table) and holders[table[place]] > 1:
#              copies.append((table[place], ...))
#              table[place] = ...
#      return copies, table
# ---------------------------------------------------------------------------------------------
def copy_on_write(
    block_table: list[int],
    holders: list[int],
    free_ids: list[int],
    num_computed_tokens: int,
    num_tokens: int,
    block_size: int,
) -> tuple[list[tuple[int, int]], list[int]]:
    """Returns the list of copies, each a pair (from, to), in the order of the table; and the new
    table.

    holders: how many sequences hold block 0, block 1, …, including this one. free_ids: enough free
    blocks; take them from the beginning of the list. Change none of the three lists, and return a
    new table, even if it is equal to the old table.

    Example: Blocks of 4 tokens. Two sequences share the blocks 7 and 2, which hold 6 tokens. One
    sequence writes its token at position 6, which is in block 2. Block 9 is the first free block:
    copy_on_write([7, 2], [0, 0, 2, 0, 0, 0, 0, 2, 0, 0], [9, 1], 6, 1, 4) is ([(2, 9)], [7, 9]).
    """
    # BEGIN SOLUTION
    copies, table, free = [], list(block_table), iter(free_ids)
    positions = range(num_computed_tokens, num_computed_tokens + num_tokens)
    for place in sorted({position // block_size for position in positions}):
        if place < len(table) and holders[table[place]] > 1:
            copies.append((table[place], next(free)))
            table[place] = copies[-1][1]
    return copies, table
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 5.4: How many sequences fit
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/05_paged_kv_blocks.ipynb, "Your turn"
#
# The memory has room for `capacity` tokens. Take the requests from the start of the list, until one
# does not fit; no request overtakes another. How many requests fit at the same time, if each has
# room for all the tokens that it will ever have? The answer depends on the tokens that an allocator
# reserves for each request:
#
#     "maximum"        max_model_len, because the answer's length is not known
#     "power of two"   the prompt, and for the answer the next power of two: 25 tokens
#                      get 32, and 16 get 16; a sum above max_model_len is allowed
#     "told"           the prompt and the answer: the length is known in advance
#     "paged"          the prompt and the answer, in blocks of block_size
#
# HINT Write two parts. First compute the tokens that one request takes, by the allocator's name.
#      Then subtract them from the capacity, request after request, until one does not fit.
# HINT The next power of two is the smallest power of two that is not below the number: 32 for 32,
#      and 1 for 1. Blocks are rounded up, too: -(-tokens // block_size) * block_size.
# HINT for count, (prompt, answer) in enumerate(requests):
#          capacity -= (what it takes)
#          if capacity < 0: return count
#      power = 1; while power < answer: power *= 2. And if all fit: len(requests).
# ---------------------------------------------------------------------------------------------
def how_many_fit(
    allocator: str,
    requests: list[tuple[int, int]],
    capacity: int,
    max_model_len: int,
    block_size: int,
) -> int:
    """Returns the number of requests before the first one that does not fit.

    requests: each is (prompt tokens, answer tokens). capacity: in tokens, a multiple of block_size.

    Example: Two requests, (10, 5) and (20, 9), a capacity of 48, max_model_len 32, blocks of 4.
    "maximum" takes 32 tokens for each request: 1 request fits. "power of two" takes 10 + 8 and
    20 + 16: 1 request fits. "told" takes 15 and 29, "paged" takes 16 and 32: 2 requests fit.
    """
    # BEGIN SOLUTION
    for count, (prompt, answer) in enumerate(requests):
        takes = {
            "maximum": max_model_len,
            "power of two": prompt + 2 ** (answer - 1).bit_length(),
            "told": prompt + answer,
            "paged": -(-(prompt + answer) // block_size) * block_size,
        }
        capacity -= takes[allocator]
        if capacity < 0:
            return count
    return len(requests)
    # END SOLUTION

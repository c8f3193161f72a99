"""Exercises of lesson 07: prefix caching.

You write three decisions as plain functions: the name of a block, the blocks that a prompt finds,
the blocks that are evicted. In the engine these decisions are in `minibatch/memory/prefix.py` and
`minibatch/memory/blocks.py`. Exercise 7.4 changes the engine itself.

Change none of your arguments: the caller still uses them. The caller may change what you return:
make a new list in each call, and keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 7.1`.
"""

import hashlib


def sha256_of(text: str) -> str:
    """A name made from a text: 64 letters and digits, always the same for the same text."""
    return hashlib.sha256(text.encode()).hexdigest()


# ---------------------------------------------------------------------------------------------
# Exercise 7.1: A block's name
# 4 points, 15 minutes, difficulty 2 of 5
# lessons/07_prefix_caching.ipynb, "A block's name is its whole past"
#
# Give every full block of a prompt a name. A name is a text, and stands for all tokens from the
# beginning of the prompt to the end of the block. Two blocks have the same name if these tokens
# (and the salts) are the same, and different names otherwise. So compute the name from the ids in
# the block and from the name of the block before it.
#
# The first block has no block before it: use the salt instead of a name. Prompts with different
# salts share no name. Any string is a valid salt, even `""` and `"None"`. The value `None` means no
# salt: a prompt without a salt shares no name with a prompt that has one.
#
# A block that is not full has no name: its content may still change.
#
# `sha256_of(text)`, defined at the beginning of the exercise file, computes a name from a text. Do
# not use Python's own `hash()`: its result for a text differs from process to process.
#
# HINT Go from block to block: start = 0, block_size, 2 * block_size … while the block is full. In
#      each round, use the name from the previous round.
# HINT Write the input of the hash so that two different inputs are never equal:
#      f"{parent}{ids}" with a list `ids` is right; digits joined without a separator are not.
# HINT name = "" if salt is None else "salt:" + salt
#      for end in range(block_size, len(token_ids) + 1, block_size):
#          ids = list(token_ids[end - block_size : end])
#          name = ...   # of name and ids; then append it
# ---------------------------------------------------------------------------------------------
def block_hashes(token_ids: list[int], block_size: int, salt: str | None = None) -> list[str]:
    """The names of the full blocks of a prompt, in order.

    Example: block_hashes([5, 6, 5, 6, 9], 2) has two names. The names differ, although both
    blocks hold 5, 6. The first name is also the first name of block_hashes([5, 6, 7, 8], 2). With
    salt="hers", every name differs from the name without a salt.
    """
    # BEGIN SOLUTION
    name = "" if salt is None else "salt:" + salt
    names = []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = list(token_ids[end - block_size : end])
        name = sha256_of(f"{name}{ids}")
        names.append(name)
    return names
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 7.2: The longest cached prefix
# 4 points, 15 minutes, difficulty 2 of 5
# lessons/07_prefix_caching.ipynb, "The same prompt, word for word"
#
# A prompt has num_tokens tokens, and `names` are the names of its full blocks, in order. block_of
# maps a name to the id of the pool's block that holds the content. Which blocks of the pool can the
# prompt use, without computing them?
#
# Take blocks from the beginning of the prompt, and stop at the first block that is missing: the
# blocks after it cannot be used. Never take the block with the prompt's last token: this token
# must be computed, even if the cache holds the block.
#
# HINT The prefix has two limits: the first name that is not in block_of, and the last token.
# HINT How many full blocks come before the last token? (num_tokens - 1) // block_size.
# HINT for name in names[: (num_tokens - 1) // block_size]:
#          if name not in block_of: ...
# ---------------------------------------------------------------------------------------------
def cached_prefix(
    names: list[str], num_tokens: int, block_size: int, block_of: dict[str, int]
) -> list[int]:
    """The ids of the blocks that the prompt can use, in order.

    Example: cached_prefix(["a", "b", "c"], 13, 4, {"a": 7, "c": 2, "b": 0}) is [7, 0, 2]. Without
    "b" in block_of it is [7]. With num_tokens=12 it is [7, 0], because "c" holds the last token.
    """
    # BEGIN SOLUTION
    found = []
    for name in names[: (num_tokens - 1) // block_size]:
        if name not in block_of:
            break
        found.append(block_of[name])
    return found
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 7.3: Which blocks to evict
# 5 points, 15 minutes, difficulty 3 of 5
# lessons/07_prefix_caching.ipynb, "Which block to evict"
#
# The pool is full, and n blocks are needed. Every block is a tuple of five integers:
#
#     (block_id, depth, holders, taken, released)
#
# depth: the block's place in its chain; 0 is the first block of a prompt. holders: the number of
# requests whose tables name the block. taken, released: the times of the block's latest allocation
# and latest release, in nanoseconds; a later event has a larger number.
#
# Evict only blocks without a holder. First evict the block that was released longest ago. All
# blocks of a table are released at the same time: evict the deepest block first, because a
# look-up follows a chain from its beginning. If time and depth are equal, evict the lower block_id
# first. (A request that uses a block also uses the blocks before it in the chain. So, if each name
# belongs to one block, the blocks before it are released at the same time or later.)
#
# HINT Leave out the blocks that have a holder. Then sort the others by three numbers. Which
#      numbers are they, and which of them is in reverse order?
# HINT A key for sorted: the time of release, then the depth, deepest first, then the id.
# HINT free = [block for block in blocks if block[2] == 0]
#      if len(free) < n: raise MemoryError(...)
#      order = sorted(free, key=lambda block: (..., -block[1], block[0]))
# ---------------------------------------------------------------------------------------------
def evict(blocks: list[tuple[int, int, int, int, int]], n: int) -> list[int]:
    """The ids of the n blocks to evict, in the order in which they are evicted.

    Raises MemoryError if fewer than n are free.

    Example: Block 4 (depth 0) and block 9 (depth 1) were released at time 20, block 2 at time 30:
    evict([(4, 0, 0, 1, 20), (9, 1, 0, 1, 20), (2, 0, 0, 5, 30)], 2) is [9, 4].
    """
    # BEGIN SOLUTION
    free = [block for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} blocks asked, {len(free)} of {len(blocks)} free")
    order = sorted(free, key=lambda block: (block[4], -block[1], block[0]))
    return [block[0] for block in order[:n]]
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 7.4: A new reason for a cache miss
# 5 points, 20 minutes, difficulty 3 of 5
# lessons/07_prefix_caching.ipynb, "The same prompt, word for word"
# changes minibatch/: memory
#
# This exercise changes the engine itself; there is nothing to write in the exercise file. When A
# sends the same prompt again, the trace says "partial block". That is not the true reason: the
# prompt's last block is full and in the cache. There is only one reason why the engine does not use
# it: it holds the last token. Give this miss its own reason,
#
#     "last token"
#
# in `_why` of `minibatch/memory/prefix.py`. Give this reason if all blocks before the last one were
# found, and the last block is full and in the cache: the cache holds a block with the same ids and
# the same tokens before it. Keep the old reason in all other cases: for example if the last block
# is full but not in the cache, or if another request is computing it at that time. As in `find`, an
# equal hash is not enough: the ids must be equal. Do not change which blocks are found. Do not
# change the field `at` either.
#
# Example, blocks of 4: a prompt of 8 tokens comes twice. The second time, 4 tokens are found, and
# the reason is "last token", at token 4. With a prompt of 7 tokens, the reason is "partial block",
# at token 4, as before.
#
# Only your changes in minibatch/memory are judged. `python -m minibatch diff` shows your change,
# and `python -m minibatch restore minibatch/memory/prefix.py` undoes it.
#
# HINT One line of `_why` says "partial block". The engine reaches it when it has found all blocks
#      before the block with the last token: distinguish two cases there.
# HINT A block is identified by its parent's hash and its ids. The parent is the last link that was
#      found. If no link was found, the parent is root(sequence.request.cache_salt), as in `_chain`.
# HINT parent = chain.links[num_found - 1].hash if num_found else root(sequence.request.cache_salt)
#      rest = tuple(sequence.token_ids[at:])
#      blocks = self._blocks_of.get(hash_of(parent, rest), ())
#      The last block is known if one of these blocks holds the same ids:
#      self._known[i][0].ids == rest.
# ---------------------------------------------------------------------------------------------

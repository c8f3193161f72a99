"""Exercises of lesson 07: prefix caching.

Three decisions, as plain functions: what a block is called, what is found, who has to go. What
they do in the engine stands in `minibatch/memory/prefix.py` and `minibatch/memory/blocks.py`. The
last task changes the engine itself.

Change none of your arguments: they belong to the caller, who goes on using them. What you return
belongs to the caller, too: make a new list in each call, and remember nothing from call to call.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 7.1`.
"""

import hashlib


def sha256_of(text: str) -> str:
    """A name made of a text: 64 letters and digits, the same for the same text, always."""
    return hashlib.sha256(text.encode()).hexdigest()


# ---------------------------------------------------------------------------------------------
# Exercise 7.1: A block's name
# 4 points, 15 minutes, difficulty 2 of 5
# lessons/07_prefix_caching.ipynb, "A block's name is its whole past"
#
# Give every full block of a prompt a name, a text, which stands for all the tokens up to its end:
# two blocks have one name just if their prompts are equal up to there. So a name is made of the
# ids in the block and of the name of the block before it. The first block has none before it: there
# the salt goes, and prompts with different salts share no name at all. Any text is a salt, ""
# and "None", too; None says that there is none, and such prompts share no name with salted ones.
#
# A block that is not full has no name: its content still changes.
#
# sha256_of(text), above, makes a name of a text. Python's own hash() does not do: of a text it is
# another in every process.
#
# HINT Go from block to block: start = 0, block_size, 2 * block_size … as long as the block is full.
#      Carry the name of the block before along.
# HINT What goes into the hash has to be written so that no two different things look alike:
#      f"{parent}{ids}" with ids a list does; joining digits without a separator does not.
# HINT name = "" if salt is None else "salt:" + salt
#      for end in range(block_size, len(token_ids) + 1, block_size):
#          ids = list(token_ids[end - block_size : end])
#          name = ...   # of name and ids; then append it
# ---------------------------------------------------------------------------------------------
def block_hashes(token_ids: list[int], block_size: int, salt: str | None = None) -> list[str]:
    """The names of the full blocks of a prompt, in order.

    Example: block_hashes([5, 6, 5, 6, 9], 2) has two names, and they differ, although both blocks
    hold 5, 6; the first is also the first of block_hashes([5, 6, 7, 8], 2). With salt="hers" all
    are others.
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
# A prompt of num_tokens tokens comes in; `names` are those of its full blocks, in order. block_of
# says which block of the pool holds what, by name. Which blocks can the prompt hold at once?
#
# From the beginning, without a gap: keys and values after a gap are of no use until it is filled.
# And never all of the prompt: its last token has to be computed, whatever the cache holds.
#
# HINT Two limits: the first name that nobody knows, and the last token.
# HINT How many full blocks lie before the last token? (num_tokens - 1) // block_size.
# HINT for name in names[: (num_tokens - 1) // block_size]:
#          if name not in block_of: ...
# ---------------------------------------------------------------------------------------------
def cached_prefix(
    names: list[str], num_tokens: int, block_size: int, block_of: dict[str, int]
) -> list[int]:
    """The ids of the blocks that it can hold, in order.

    Example: cached_prefix(["a", "b", "c"], 13, 4, {"a": 7, "c": 2, "b": 0}) is [7, 0, 2];
    without "b" it is [7]; and with 12 tokens it is [7, 0]: "c" holds the last token.
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
# Exercise 7.3: Whom to evict
# 5 points, 15 minutes, difficulty 3 of 5
# lessons/07_prefix_caching.ipynb, "Whom to evict"
#
# The pool is full, and n blocks are needed. Every block is a tuple of five whole numbers:
#
#     (block_id, depth, holders, taken, released)
#
# depth: its place in its chain, 0 is the first block of a prompt. holders: how many tables name it.
# taken, released: when it was last allocated, and when it was last given back, in whole
# nanoseconds, which only grow.
#
# Evict only what nobody holds; who has been given back longest ago goes first. A whole table is
# given back at one time: among those, the tail goes before the trunk, since a chain is found from
# its beginning. (Who used a block has used those before it, so a trunk is never given back before
# its tail.) Two of the same time and depth: the lower block_id first.
#
# HINT Leave out the blocks that are held. Then it is a question of order: which three numbers, and
#      which of them the other way round?
# HINT A key for sorted: the time of release, then the depth, deepest first, then the id.
# HINT free = [block for block in blocks if block[2] == 0]
#      if len(free) < n: raise MemoryError(...)
#      order = sorted(free, key=lambda block: (..., -block[1], block[0]))
# ---------------------------------------------------------------------------------------------
def evict(blocks: list[tuple[int, int, int, int, int]], n: int) -> list[int]:
    """The ids of the n blocks to give away, in the order in which they go.

    Raises MemoryError if fewer than n are free.

    Example: Block 4 (depth 0) and block 9 (depth 1) were given back at time 20, block 2 at time 30:
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
# Exercise 7.4: A reason of its own
# 5 points, 20 minutes, difficulty 3 of 5
# lessons/07_prefix_caching.ipynb, "The same prompt, word for word"
# changes minibatch/: memory
#
# This one changes the engine itself: the exercise file has no place for it. When A asks again, word
# for word, the trace says "partial block". That is not why: her last block is full, and the cache
# knows it. It is left out only since it holds the last token. Give this miss a reason of its own,
#
#     "last token"
#
# in `_why` of `minibatch/memory/prefix.py`. It is the reason if all blocks before the last one were
# found, and the last one is full and known, too: its ids behind this very past. In all other cases
# the reason stays what it was, a full last block that nobody knows included, or that somebody is
# still computing. As in `find`, a hash alone is not trusted: the ids have to be the same. What is
# found stays as it is, and so does `at`, the first token that was not found.
#
# Example, blocks of 4: a prompt of 8 tokens comes twice; the second finds 4, and misses for "last
# token" at 4. Of 7 tokens it would be "partial block" at 4, as before.
#
# Judged is what you change in minibatch/memory. `python -m minibatch diff` shows your change, and
# `python -m minibatch restore minibatch/memory/prefix.py` undoes it.
#
# HINT One line of `_why` says "partial block". It is reached when all blocks before the last
#      token's were found: there are two cases to tell apart there.
# HINT A block is known by its past: its parent's hash, and its ids. The parent is the last link
#      that was found; where nothing was, it is root(sequence.request.cache_salt), as in `_chain`.
# HINT parent = chain.links[num_found - 1].hash if num_found else root(sequence.request.cache_salt)
#      rest = tuple(sequence.token_ids[at:])
#      blocks = self._blocks_of.get(hash_of(parent, rest), ())
#      It is known if one of these blocks holds the same ids: self._known[i][0].ids == rest.
# ---------------------------------------------------------------------------------------------

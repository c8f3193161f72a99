"""KV memory: which blocks are free, which sequences hold the others, and the tensors behind them.

blocks.py         the pool: which block ids are free, and how many tables hold each of the others
block_manager.py  the only writer of block tables: share, append, release
prefix.py         the prefix cache: what full blocks hold, found by a chain of hashes
kv_cache.py       the K and V tensors of every layer
contiguous.py     allocators from before blocks: one unbroken stretch of memory for each request
available.py      how much memory the machine has left
"""

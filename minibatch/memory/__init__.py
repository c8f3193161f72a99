"""KV memory: which blocks are free and who holds the others, and the tensors behind their ids.

blocks.py     ids: free, held, shared
prefix.py     what a block holds: hashes of full blocks, for requests that begin alike
sharing.py    one block, several holders: the cache's, forks', and copies on write
kv_cache.py   the K and V tensors of every layer
contiguous.py how it was before blocks: one unbroken stretch for each request
"""

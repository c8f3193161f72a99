"""KV memory: which blocks are free and who holds the others, and the tensors behind their ids.

blocks.py     ids: free, held, shared
kv_cache.py   the K and V tensors of every layer
"""

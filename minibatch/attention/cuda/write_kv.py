"""The kernel that stores new tokens' K and V: each goes to its slot of the paged cache."""

from .shim import cuda, uint32


def write_kv(
    key,  # int32 or int16 [tokens, words]: the bits of the tokens' numbers, of all KV heads
    value,
    slot_mapping,  # int64 [tokens]
    key_cache,  # as key, [slots, words]
    value_cache,
):
    """Launch with a grid of [tokens, 2]: K, V. Any number of threads, which copy adjacent words."""
    token = cuda.blockIdx.x
    slot = slot_mapping[token]
    for i in range(uint32(cuda.threadIdx.x), uint32(key.shape[1]), uint32(cuda.blockDim.x)):
        if cuda.blockIdx.y == 0:
            key_cache[slot, i] = key[token, i]
        else:
            value_cache[slot, i] = value[token, i]

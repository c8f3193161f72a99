"""The kernel that stores new tokens' K, or V: each goes to its slot of the paged cache."""

from .shim import cuda, uint32


def write_kv(
    new,  # int32 or int16 [tokens, words]: the bits of the tokens' numbers, of all KV heads
    slot_mapping,  # int64 [tokens]
    kv_cache,  # as new, [slots, words]
):
    """Launch with a grid of [tokens]; any number of threads, which copy side by side."""
    token = cuda.blockIdx.x
    slot = slot_mapping[token]
    for i in range(uint32(cuda.threadIdx.x), uint32(new.shape[1]), uint32(cuda.blockDim.x)):
        kv_cache[slot, i] = new[token, i]

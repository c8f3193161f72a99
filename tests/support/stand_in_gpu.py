"""In a GPU's place: what torch.cuda has for graphs, and a launcher that computes with numpy.

A graph here is a list of calls. While one is recorded nothing is written that was there before. A
replay overwrites all memory that the graph itself took, and then makes the calls again, in order,
on the same tensors: one that needs anything but what lies there then, shows it.
"""

import inspect
from collections import Counter
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
WAIT = {
    *(aten._local_scalar_dense, aten.item, aten.nonzero, aten.masked_select, aten.equal),
    *(aten._unique2, aten.unique_dim, aten.repeat_interleave),
}
LOWEST = np.float32(-1e30)


class StandInCUDA:
    """Puts itself in the place of what minibatch.model.graphs calls of torch.cuda.

    graphs: those recorded, in their order; each knows its pool and stream. log: ("tried" or
    "recorded", stream), in order. num_replays: how many there were; before_replay: called then.
    """

    def __init__(self, monkeypatch):
        self.graphs, self.num_replays, self.before_replay = [], 0, lambda: None
        self.log, self.recording, self._streams, self._refusal = [], None, [Stream()], None
        for name in ("graph", "stream", "current_stream", "set_sync_debug_mode"):
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))
        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "device", nullcontext)
        monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: Graph(self))
        monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)

    def current_stream(self):
        return self._streams[-1]

    @contextmanager
    def stream(self, stream):
        self._streams.append(stream)
        try:
            yield
        finally:
            self._streams.pop()

    @contextmanager
    def graph(self, graph, pool, stream):
        graph.pool, graph.stream = pool, stream
        self.log.append(("recorded", stream))
        self.recording = graph
        try:
            with self.stream(stream), graph:
                yield
        finally:
            self.recording = None
        self.graphs.append(graph)

    def set_sync_debug_mode(self, mode):
        if mode == "error":
            self.log.append(("tried", self.current_stream()))
            self._refusal = Refusal()
            self._refusal.__enter__()
        elif self._refusal is not None:
            self._refusal.__exit__(None, None, None)
            self._refusal = None


class Stream:
    def wait_stream(self, other):
        pass


class Refusal(TorchDispatchMode):
    """Of what makes the host wait for the GPU."""

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if function.overloadpacket in WAIT:
            raise RuntimeError("called a synchronizing CUDA operation")
        return function(*arguments, **(keywords or {}))


class Graph(TorchDispatchMode):
    """own: the tensors whose memory it took. outside: what it reads or writes besides."""

    def __init__(self, cuda):
        super().__init__()
        self.cuda, self.calls, self.own, self.outside = cuda, [], {}, {}

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        if function.overloadpacket in WAIT:
            raise RuntimeError("operation not permitted when stream is capturing")
        given = tensors((arguments, keywords))
        self.note(given)
        written = [
            keywords.get(each.name, arguments[i] if i < len(arguments) else None)
            for i, each in enumerate(function._schema.arguments)
            if each.alias_info is not None and each.alias_info.is_write
        ]
        if any(memory(each) not in self.own for each in written):
            self.calls.append(lambda: function(*arguments, **keywords))
            return written[0] if len(written) == 1 else tuple(written)
        result, known = function(*arguments, **keywords), {memory(each) for each in given}
        taken = [each for each in tensors(result) if memory(each) not in known]
        self.own |= {memory(each): each for each in taken}

        def again():
            new = tensors(function(*arguments, **keywords))
            for each, now in zip(tensors(result), new, strict=True):
                if memory(each) not in known:
                    each.copy_(now)

        self.calls.append(again)
        return result

    def note(self, given):
        for each in given:
            if each.numel() and memory(each) not in self.own:
                self.outside[memory(each)] = each

    def replay(self):
        self.cuda.before_replay()
        self.cuda.num_replays += 1
        spoil(self.own.values())
        for call in self.calls:
            call()


def tensors(tree):
    return [each for each in tree_leaves(tree) if isinstance(each, torch.Tensor)]


def memory(tensor):
    return tensor.untyped_storage().data_ptr()


def spoil(those):
    """What is read of them from now on shows: NaN, and indices of nothing."""
    for each in those:
        each.fill_(float("nan") if each.is_floating_point() else 2**20)


class Launcher:
    """A launcher whose launches can be recorded, and of kernels that numpy computes."""

    num_multiprocessors, compute_capability, num_threads = 2, (9, 0), 32

    def __init__(self, cuda):
        self.cuda, self.num_launches = cuda, 0

    def launch(self, kernel, grid, num_threads, *arguments):
        self.num_launches += 1

        def call():
            with torch._C.DisableTorchFunction():  # of modes, too: what is counted is the engine's
                arrays = [a.numpy() if isinstance(a, torch.Tensor) else a for a in arguments]
            BY_NUMPY[kernel.__name__](kernel, grid, *arrays)

        if self.cuda.recording is None:
            call()
        else:
            self.cuda.recording.note(tensors(arguments))
            self.cuda.recording.calls.append(call)


def write_kv(kernel, grid, key, value, slots, key_cache, value_cache):
    key_cache[slots[: grid[0]]], value_cache[slots[: grid[0]]] = key, value


def attend(query, keys, values, scale):
    """query [heads, head_dim]; keys, values [tokens, kv_heads, head_dim]: result, not yet divided,
    [heads, head_dim]; and of each head the highest score, and the sum of weights."""
    group = len(query) // keys.shape[1]
    keys, values = keys.repeat(group, axis=1), values.repeat(group, axis=1)
    scores = np.einsum("hd,khd->hk", query, keys) * np.float32(scale)
    highest = scores.max(axis=1, initial=LOWEST)
    weights = np.exp(scores - highest[:, None])
    return np.einsum("hk,khd->hd", weights, values), highest, weights.sum(axis=1)


def simple(kernel, grid, query, keys, values, tables, token_rows, positions, scale, output):
    for token in range(grid[0]):
        places = np.arange(positions[token] + 1)
        blocks, size = tables[token_rows[token]], keys.shape[1]
        at = blocks[places // size], places % size
        result, _, total = attend(query[token], keys[at], values[at], scale)
        output[token] = result / total[:, None]


def tiled(kernel, grid, query, keys, values, tables, positions, chunks, scale, output, top, total):
    shape = inspect.getclosurevars(kernel).nonlocals
    heads, head_dim, size = shape["NUM_HEADS"], shape["HEAD_DIM"], shape["BLOCK_SIZE"]
    query = query.reshape(-1, heads, head_dim)
    keys, values = (each.reshape(-1, size, shape["KV_HEADS"], head_dim) for each in (keys, values))
    for chunk in range(grid[0]):
        row, first, number, begin, end = chunks[chunk].tolist()
        for place in range(number):
            token = first + place
            places = np.arange(begin, min(end, positions[token] + 1))
            at = tables[row, places // size], places % size
            found = attend(query[token], keys[at], values[at], scale)
            if shape["split"]:
                output[chunk, place], top[chunk, place], total[chunk, place] = found
            else:
                output[token] = found[0] / found[2][:, None]


def merge(kernel, grid, parts, highest, totals, merges, output):
    for token, place, first, last in merges[: grid[0]].tolist():
        if first < last:
            own = slice(first, last), place
            shares = np.exp(highest[own] - highest[own].max(axis=0))
            result = (parts[own] * shares[..., None]).sum(axis=0)
            output[token] = result / (totals[own] * shares).sum(axis=0)[:, None]


BY_NUMPY = {
    "write_kv": write_kv,
    "paged_attention_simple": simple,
    "paged_attention_tiled": tiled,
    "merge_chunks": merge,
}


class Waits(TorchFunctionMode):
    """Counts what would make the host wait for a GPU: copies to it, and those from it that block.

    On a CPU nothing waits; but the calls are the same."""

    BLOCKING = """cpu item tolist numpy nonzero masked_select unique argwhere equal allclose
        is_nonzero __bool__ __int__ __float__ __index__ __array__"""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, kwargs = getattr(function, "__name__", ""), kwargs or {}
        blocks = name in self.BLOCKING.split()
        blocks |= name in ("tensor", "as_tensor") and kwargs.get("device") is not None
        blocks |= name in ("to", "cuda") and not kwargs.get("non_blocking") and is_a_move(args)
        if blocks:
            self.seen[name] += 1
        return function(*args, **kwargs)


def is_a_move(args):
    return any(isinstance(each, torch.device | str) for each in args[1:])

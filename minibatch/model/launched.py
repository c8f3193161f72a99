"""A step that was begun, and whose tokens are taken later: what `Engine(overlap=True)` waits for.

    main thread     build inputs(n + 1) ─ launch ─ … ─ tokens(n) ─ …
    the device      ───── forward(n), sample(n) ─────┬─ newest tokens ─> forward(n + 1) …

On a CPU the device is one worker thread of the runner. On a GPU it is the GPU itself: the main
thread starts its kernels and goes on. Either executes one step after the other, so step n + 1 reads
the K, V and tokens of step n. Between launch and `tokens` nothing here waits for a GPU: sampled
tokens stay there as the next step's input ids, and a copy for the host is under way.

Before changing this file: between launch and collect the main thread changes sequences. So all that
a forward pass needs of them is read in `__init__`, in the main thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import torch

from ..attention.cpu_threads import num_threads
from ..attention.metadata import places_in_flight
from ..core.plan import StepPlan
from .sampling import checked, choose, draws

if TYPE_CHECKING:
    from .runner import ModelRunner


class Launched:
    """One step. before: the step in flight when this one was launched. now: a clock.

    times: begin and end of the forward pass with sampling, on that clock, once `wait` has returned;
    on a GPU from the launch to the end of the wait, which is later than the pass itself.
    """

    def __init__(
        self,
        runner: ModelRunner,
        plan: StepPlan,
        before: Launched | None,
        now: Callable[[], float],
    ) -> None:
        self._reaches_end = [row.reaches_end for row in plan.rows]
        ending = [row for row in plan.rows if row.reaches_end]
        self._sequences = [row.sequence for row in ending]
        self._places = {sequence: i for i, sequence in enumerate(self._sequences)}
        self._draws = draws(
            self._sequences, [row.seq_len - row.sequence.num_prompt_tokens for row in ending]
        )
        self._before, self._now, self.times = before, now, (0.0, 0.0)
        self._awaited = places_in_flight(plan)
        self._logits = runner.prepare(plan, self._put_newest if self._awaited else None)
        self._is_on_gpu = runner.hf.device.type == "cuda"
        self._tokens: torch.Tensor | None = None  # int64 [rows that reach the end], on the device
        self._future: Future[None] | None = None
        if self._is_on_gpu:
            self._compute()
        else:
            threads = num_threads()
            self._future = runner.worker.submit(lambda: self._compute_with(threads))

    def wait(self) -> None:
        """Return when the step has been executed, or has failed. Raises nothing but an interrupt;
        an error comes from `tokens`."""
        if self._is_on_gpu:
            self._copied.synchronize()
            self.times = self.times[0], self._now()
        else:
            with suppress(Exception):
                self._future.result()

    def tokens(self) -> list[list[int]]:
        """Wait; a list of tokens for each row of the plan, as `ModelRunner.run` returns. Raises the
        error of the forward pass, or FloatingPointError (`sampling.checked`)."""
        self.wait()
        if self._future is not None:
            self._future.result()
        own = iter(checked(self._on_host.tolist(), self._highest, self._sequences))
        return [[next(own)] if ends else [] for ends in self._reaches_end]

    def _compute_with(self, threads: int) -> None:
        """In the worker: PyTorch keeps the number of threads for each thread apart."""
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        self._compute()

    @torch.inference_mode()
    def _compute(self) -> None:
        begin = self._now()
        self._tokens, self._highest = choose(self._logits(), self._draws)
        self._before = self._logits = None  # so that a chain of steps is not kept
        self._on_host = self._tokens.to("cpu", non_blocking=True)  # on a CPU it is the same tensor
        if self._is_on_gpu:
            self._copied = torch.cuda.Event()
            self._copied.record()
        self.times = begin, self._now()

    def _put_newest(self, input_ids: torch.Tensor) -> None:
        """Write what the step before has sampled into the input ids, int64 [T]. A token of -1 (its
        logits were not finite) becomes 0: that step fails when it is collected."""
        before = self._before
        if before._tokens is None:
            raise RuntimeError("the previous step failed, so this one has no input")
        places = [i for i, _ in self._awaited]
        rows = [before._places[sequence] for _, sequence in self._awaited]
        device = input_ids.device
        places, rows = (torch.tensor(each).to(device, non_blocking=True) for each in (places, rows))
        input_ids[places] = before._tokens[rows].clamp(min=0)


def new_worker() -> ThreadPoolExecutor:
    """The one thread that executes a runner's steps on a CPU; it starts with the first of them."""
    return ThreadPoolExecutor(1, "minibatch-step")

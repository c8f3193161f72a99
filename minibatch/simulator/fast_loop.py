"""The loop of the fast simulator: the schedulers' decisions again, in O(1) for a step.

A row of a running batch is only touched when its request is admitted, preempted or finished. In
between, three sums describe a step: how many requests decode, how many tokens they have in the
cache, and how many of them need a block. Before changing this file: the arithmetic of time and its
order are `VirtualClock`'s, and `run` is compiled by numba as it is.

    wheel    [ . | s -> s | . | s | … ]   slots, by the step of their last token % length
    border   [ 3 | 0 | 5 | … ]            how many need a block, by step % block_size
    order    oldest <-> … <-> newest      running slots in order of admission (earlier, later)
    stack    preempted slots; the last one is the queue's head
"""

import math
from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.clock import SAME_TIME

Array = array | np.ndarray


class Rules(NamedTuple):
    """What never changes. size: most rows; budget: most tokens of a step. padded: a batch stays
    until all have ended, as under Static. constant: all steps take the same time, so they are
    counted."""

    size: int
    budget: int
    num_blocks: int
    block_size: int
    padded: bool
    constant: bool


class State(NamedTuple):
    """All that changes, but the arrays, at the start of step number `step`.

    now, base, counted: the clock: its time, and what `VirtualClock` calls _base and _steps.
    admitted: how many requests have left the queue, in order of arrival. running, preempted: how
    many slots. partial: the slot whose prompt is half computed, or -1; partial_computed: its
    computed tokens. free: blocks. computed: tokens in the cache, of all other slots. ended: members
    of a padded batch that have ended. finished: requests. refused: a step time that was not above
    0, else 1. began, free_before: when the newest step began, and the free blocks before it.
    """

    now: float = 0.0
    base: float = 0.0
    counted: int = 0
    step: int = 0
    admitted: int = 0
    running: int = 0
    preempted: int = 0
    partial: int = -1
    partial_computed: int = 0
    free: int = 0
    computed: int = 0
    ended: int = 0
    finished: int = 0
    refused: float = 1.0
    began: float = 0.0
    free_before: int = 0


def run(
    rules: Rules,
    state: State,
    columns: tuple[Array, ...],
    slots: tuple[Array, ...],
    seconds: Callable[..., float],
    numbers: tuple[float, ...],
    until: float,
    most_steps: int,
    to_change: bool = False,
) -> State:
    """Take the steps that begin before `until`, at most so many; returns the new state. to_change:
    stop also after a step that changes who runs, or brings a first token.

    columns: one place for each request; slots: one for each place in the batch, and the wheel and
    the border. Both are written. seconds(numbers, rows, prompt_tokens, context, pairs): of a step.
    """
    size, budget, num_blocks, block_size, padded, constant = rules
    now, base, counted, step, admitted, running, preempted = state[:7]
    partial, partial_computed, free, computed, ended, finished, refused = state[7:14]
    began, free_before = state[14:]
    arrival, prompt, output, first_scheduled, first_token, finish, preemptions, received = columns
    request, made, last_step, linked, earlier, later, vacant, stack, fresh, wheel, border = slots
    num_requests, turn, stop = len(arrival), len(wheel), step + most_steps
    while step < stop and now < until:
        began, free_before = now, free
        decodes = running - ended - (partial >= 0)
        shall_admit = running == 0 or not padded
        if not padded:
            place = step % block_size
            while border[place] > free:  # preempt the newest that decodes
                slot = earlier[size]
                if slot == partial:
                    slot = earlier[slot]
                earlier[later[slot]], later[earlier[slot]] = earlier[slot], later[slot]
                bucket, other = last_step[slot] % turn, wheel[last_step[slot] % turn]
                if other == slot:
                    wheel[bucket] = linked[slot]
                else:
                    while linked[other] != slot:
                        other = linked[other]
                    linked[other] = linked[slot]
                i = request[slot]
                stored = prompt[i] + output[i] - 2 - (last_step[slot] - step)
                made[slot] = stored + 1 - prompt[i]
                preemptions[i] += 1
                free += -(-stored // block_size)
                border[(step - stored) % block_size] -= 1
                stack[preempted] = slot
                computed, decodes = computed - stored, decodes - 1
                running, preempted, shall_admit = running - 1, preempted + 1, False
            free -= border[place]
        context, left = computed + decodes, budget - decodes
        prompt_tokens = pairs = squares = longest = num_fresh = 0
        if partial >= 0:  # the next chunk of a long prompt
            i, start = request[partial], partial_computed
            chunk = min(prompt[i] + made[partial] - start, left)
            partial_computed, left = start + chunk, left - chunk
            context += partial_computed
            if chunk > 1 or start < prompt[i]:
                prompt_tokens += chunk
                pairs += chunk * (start + 1 + partial_computed) // 2
            if partial_computed == prompt[i] + made[partial]:
                fresh[num_fresh] = partial
                num_fresh, partial = num_fresh + 1, -1
        while shall_admit and running < size and left > 0:
            if preempted:
                slot = stack[preempted - 1]
            elif admitted < num_requests and arrival[admitted] <= now:
                slot = vacant[size - running - 1]
                request[slot], made[slot] = admitted, received[admitted] > 0
            else:
                break
            i = request[slot]
            num_tokens = prompt[i] + made[slot]
            known = 0 if preempted else received[i]
            blocks = -(-(num_tokens + (output[i] - 1 if padded else 0)) // block_size)
            if blocks > free:
                break
            free, running = free - blocks, running + 1
            if preempted:
                preempted -= 1
            else:
                first_scheduled[i] = now
                admitted += 1
            newest = earlier[size]
            later[newest], earlier[slot], later[slot], earlier[size] = slot, newest, size, slot
            chunk = min(num_tokens - known, left)
            left, context = left - chunk, context + known + chunk
            if known == 0:
                prompt_tokens, pairs = prompt_tokens + chunk, pairs + chunk * (chunk + 1) // 2
                squares, longest = squares + chunk * chunk, max(longest, chunk)
            if known + chunk == num_tokens:
                fresh[num_fresh] = slot
                num_fresh += 1
            else:
                partial, partial_computed = slot, chunk
        if running == 0:  # sleep until the next request arrives
            if admitted == num_requests or arrival[admitted] >= until:
                break
            now = base = now + max(arrival[admitted] - now, SAME_TIME)
            counted = 0
            continue
        if padded and num_fresh:
            prompt_tokens, pairs = longest * running, pairs + longest * context - squares
        taken = seconds(numbers, running, prompt_tokens, context, pairs)
        if not 0.0 < taken < math.inf:
            refused = taken
            break
        if constant:
            counted += 1
            now = base + counted * taken
        else:
            now = base = base + taken
        computed += decodes
        for k in range(num_fresh):  # their prompts are computed: from now on they decode
            slot = fresh[k]
            i = request[slot]
            num_tokens = prompt[i] + made[slot]
            if made[slot] == 0:
                first_token[i] = now
            computed += num_tokens
            last_step[slot] = step + output[i] - made[slot] - 1
            bucket = last_step[slot] % turn
            linked[slot], wheel[bucket] = wheel[bucket], slot
            if not padded:
                border[(step + 1 - num_tokens) % block_size] += 1
        bucket = step % turn
        slot, before = wheel[bucket], -1
        while slot >= 0:  # those whose last token this was
            following = linked[slot]
            if last_step[slot] != step:
                before = slot
            else:
                if before < 0:
                    wheel[bucket] = following
                else:
                    linked[before] = following
                i = request[slot]
                finish[i] = now
                finished += 1
                if padded:
                    ended += 1
                else:
                    stored = prompt[i] + output[i] - 1
                    computed, free = computed - stored, free - (-stored // block_size)
                    border[(step + 1 - stored) % block_size] -= 1
                    earlier[later[slot]], later[earlier[slot]] = earlier[slot], later[slot]
                    vacant[size - running - preempted] = slot
                    running -= 1
            slot = following
        if padded and ended == running:
            running = ended = computed = 0
            free, earlier[size] = num_blocks, size
        step += 1
        changed = num_fresh > 0 or running != state.running or finished != state.finished
        if to_change and (changed or preempted != state.preempted):
            break
    return State(
        now,
        base,
        counted,
        step,
        admitted,
        running,
        preempted,
        partial,
        partial_computed,
        free,
        computed,
        ended,
        finished,
        refused,
        began,
        free_before,
    )

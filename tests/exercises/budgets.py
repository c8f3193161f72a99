"""What a policy under a token budget did, step by step, and what may be wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serving import Ask, drawn, serve

import minibatch as mb
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised
from minibatch.schedulers.admission import ReserveMaximum

NO_ROWS = ("[running_have_no_rows]", "[waiting_counted_as_slots]", "[waits_for_a_full_batch]")


@dataclass(frozen=True)
class Step:
    """needs: of those who run, in the order of admission, what they have left to compute as the
    step begins. decodes: those of them who have begun to write. rows: who computes how many tokens.
    """

    number: int
    needs: dict[str, int]
    decodes: list[str]
    rows: dict[str, int]
    waiting: list[str]

    @property
    def prompts(self) -> dict[str, int]:
        """The rows of prompts, whole or in part."""
        return {name: n for name, n in self.rows.items() if name not in self.decodes}

    @property
    def num_tokens(self) -> int:
        return sum(self.rows.values())

    def told(self) -> str:
        return ", ".join(f"{name}: {n}" for name, n in self.rows.items())


def steps_of(engine: mb.Engine, requests: list[Ask]) -> Iterator[Step]:
    """What each step of a run was, from its records and the lengths of the prompts."""
    prompts = {r.name: r.prompt if isinstance(r.prompt, int) else len(r.prompt) for r in requests}
    came = list(prompts)
    computed, written, running = dict.fromkeys(prompts, 0), dict.fromkeys(prompts, 0), []
    for number, step in enumerate(engine.trace.steps, 1):
        for name in step.preempted:
            computed[name] = 0
        running = [name for name in running if name not in step.preempted]
        running += sorted(step.admitted, key=came.index)  # a record has them as the rows come
        needs = {name: prompts[name] + written[name] - computed[name] for name in running}
        rows = {row.request_id: row.num_tokens for row in step.rows}
        decodes = [name for name in running if written[name] and needs[name] == 1]
        yield Step(number, needs, decodes, rows, list(step.waiting))
        for name, num_tokens in rows.items():
            computed[name] += num_tokens
            written[name] += num_tokens == needs[name]
        running = [name for name in running if name not in step.finished]


def budgeted(student, slots: int, budget: int) -> RemoteScheduler:
    """The learner's policy, with so many slots and tokens a step."""
    return RemoteScheduler(student, "MyBudget", slots, max_batch_tokens=budget)


def ours(slots: int, budget: int) -> mb.Budget:
    """What is asked for, made from minibatch's own: blocks for the longest answer at once."""
    return mb.Budget(slots, budget, admission=ReserveMaximum())


def served(student, slots: int, budget: int, requests: list[Ask], **options) -> mb.Engine:
    """The learner's policy serves them; whatever it forbids itself is told in words of a budget."""
    scheduler = budgeted(student, slots, budget)
    try:
        return serve(scheduler, requests, **options)
    except Wrong as error:
        error.sentence = _in_words_of_a_budget(scheduler, budget, error.sentence)
        error.args = (error.sentence,)
        raise
    except Raised as error:
        if not error.sentence.startswith("MemoryError"):
            raise
        raise Wrong(
            f"[pool_runs_dry] The pool ran out of blocks ({error.sentence}). When a sequence "
            "joins, take blocks for max_num_tokens: its prompt and its longest possible answer. "
            "Ask self.can_grow for the same number first, and let the sequence wait if the answer "
            "is no."
        ) from None


def _in_words_of_a_budget(scheduler: RemoteScheduler, budget: int, otherwise: str) -> str:
    """What the engine refuses: an empty row; or no row at all, as a rule because somebody needs
    more than a step may compute."""
    step = otherwise.partition(":")[0]
    empty = [row.sequence.request_id for row in scheduler.planned.rows if not row.num_tokens]
    if empty and step.startswith("In step"):
        return (
            f"[row_of_no_tokens] {step}: {empty[0]} has a row of 0 tokens. When nothing is left "
            "of the budget, add no more rows: a sequence without a row waits for the next step."
        )
    if not any(code in otherwise for code in NO_ROWS):
        return otherwise
    who = [*scheduler.running, *scheduler.waiting][0]
    left = who.num_uncomputed_tokens
    if left > budget:
        return (
            f"[prompt_is_not_cut] {step}: no sequence has a row, and {who.request_id} has {left} "
            f"tokens to compute, more than the budget of {budget}. Give {who.request_id} a chunk "
            "of min(num_uncomputed_tokens, left), where `left` is what is left of the budget, and "
            "the rest in the next steps."
        )
    if left == 1 and who in scheduler.running:
        return (
            f"[one_token_gets_no_row] {step}: no sequence has a row, and {who.request_id} has one "
            "token left to compute. It gets a row like any other, whether the token belongs to "
            "its answer or to its prompt."
        )
    return otherwise


def fits_the_budget(step: Step, budget: int, drawing: object = None) -> None:
    """No step computes more than it may."""
    if step.num_tokens <= budget:
        return
    most = max(step.prompts.values(), default=0)
    num_decodes, num_prompts = len(step.decodes), len(step.prompts)
    said = (
        "[rows_not_all_counted] count the tokens of all rows, and give the last row only what "
        "is left."
    )
    if most == max(step.needs[name] for name in step.prompts) and most > budget:
        said = (
            "[long_prompt_is_not_cut] cut a prompt that is longer than what is left: its row gets "
            "min(num_uncomputed_tokens, left), and the rest of the prompt waits for the next step."
        )
    elif step.num_tokens - budget == num_decodes:
        said = (
            f"[decodes_not_counted] {num_decodes} of these tokens belong to decodes, and each "
            "decode takes one token of the same budget. Prompts can have max_batch_tokens minus "
            "the number of decodes."
        )
    elif num_prompts > 1 and most <= budget - num_decodes:
        said = (
            f"[prompts_do_not_share] each of the {num_prompts} prompts alone would fit beside the "
            "decodes, but the prompts share one budget: after each row, subtract its tokens from "
            "what is left."
        )
    raise Wrong(
        "[over_the_budget] "
        f"Step {step.number} computes {step.num_tokens} tokens, and max_batch_tokens is {budget}: "
        f"{said}",
        expected=f"{budget} tokens at most",
        got=step.told(),
        drawing=drawing,
    )


def stalls_nobody(step: Step, drawing: object = None) -> None:
    """Who writes gets a token in every step."""
    stalled = [name for name in step.decodes if name not in step.rows]
    if not stalled:
        return
    prompts = ", ".join(step.prompts)
    while_ = f"while prompts of {prompts} were computed" if prompts else "though it runs"
    raise Wrong(
        f"[chunk_stalls_a_decode] In step {step.number} {stalled[0]} decodes, but had no row "
        f"{while_}. A chunk must never stall a decode: in every step, first give a row to each "
        "sequence that has one token to compute.",
        expected=f"a row each for {', '.join(step.decodes)}",
        got=step.told(),
        drawing=drawing,
    )


def keeps_the_order(step: Step, drawing: object = None) -> None:
    """Prompts are computed in the order of admission: one is done before the next gets a token."""
    short = [n for n in step.needs if n not in step.decodes and step.rows.get(n, 0) < step.needs[n]]
    if not short:
        return
    behind = list(step.needs)[list(step.needs).index(short[0]) + 1 :]
    passed = [name for name in behind if name in step.prompts]
    if not passed:
        return
    first, other = short[0], passed[0]
    raise Wrong(
        f"[prompt_out_of_order] In step {step.number} {other}'s prompt got {step.rows[other]} "
        f"tokens. {first} was admitted before {other}, and its prompt got only "
        f"{step.rows.get(first, 0)} of the {step.needs[first]} tokens that it still needs. Prompts "
        "share the budget in the order of admission: the first gets all it needs, the next gets "
        "from what is left. Admit in the order of arrival.",
        expected=f"{first} before {other}",
        got=step.told(),
        drawing=drawing,
    )


def wastes_nothing(step: Step, budget: int, slots: int, drawing: object = None) -> None:
    """While somebody could use it, no token of the budget stays idle. (The pool must be large.)"""
    idle = budget - step.num_tokens
    if idle <= 0:
        return
    needs = {name: need for name, need in step.needs.items() if name not in step.decodes}
    cut = [name for name, need in needs.items() if step.rows.get(name, 0) < need]
    begin = f"In step {step.number}, {idle} of {budget} tokens of the budget stayed unused"
    if cut:
        got, need = step.rows.get(cut[0], 0), needs[cut[0]]
        said = (
            f"[chunk_is_too_small] {begin}, and {cut[0]}'s prompt got {got} of the {need} tokens "
            "it still needs: a prompt gets all tokens that are left, and may be cut at any token."
        )
        if any(name in step.prompts for name in needs if name not in cut):
            said += (
                " [next_prompt_not_begun] When one prompt is complete and tokens are left, the "
                "next prompt gets them in the same step."
            )
    elif step.waiting and len(step.needs) < slots:
        said = (
            f"[nobody_joins_though_tokens_are_left] {begin}, a slot was free, and "
            f"{step.waiting[0]} waited: let it join in the same step, and give its first chunk "
            "what is left."
        )
    else:
        return
    raise Wrong(said, expected=f"{budget} tokens", got=step.told(), drawing=drawing)


def looked_at(student, slots: int, budget: int, requests: list[Ask], *checks) -> mb.Engine:
    """Served to the end, every step of it looked at: whatever else it does, within the budget."""
    engine = served(student, slots, budget, requests)
    drawing = drawn(serve(ours(slots, budget), requests), engine)
    for step in steps_of(engine, requests):
        fits_the_budget(step, budget, drawing)
        for check in checks:
            check(step, drawing)
    return engine

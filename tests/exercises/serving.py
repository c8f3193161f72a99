"""What the graders of policies share: a made-up model with secret lengths, and one way to serve."""

from __future__ import annotations

from dataclasses import dataclass

import minibatch as mb
from minibatch.course.judging.books import Pool
from minibatch.course.judging.drawing import Drawing, difference
from minibatch.course.judging.verdict import Wrong

WORD, END = 5, 1
MOST_STEPS = 400
MAX_TOKENS = 20  # what every request allows; the real lengths are the model's secret


@dataclass(frozen=True)
class Ask:
    """One request of a grader: how long its prompt is, how long its answer will turn out to be."""

    name: str
    prompt: int | list[int]
    answer: int
    arrival: float = 0.0


def asks(*triples: tuple) -> list[Ask]:
    return [Ask(*triple) for triple in triples]


class SecretLengths(mb.PretendModel):
    """A pretend model whose answers end by themselves, at lengths that no policy can look up."""

    eos_token_ids = frozenset({END})
    vocab_size = 8

    def __init__(self, requests: list[Ask]) -> None:
        self.lengths = {ask.name: ask.answer for ask in requests}

    def runner(self, pool: object, attention: object) -> SecretLengths:
        return self

    def run(self, plan: mb.StepPlan) -> list[list[int]]:
        return [[self.next_token(row.sequence)] if row.reaches_end else [] for row in plan.rows]

    def next_token(self, sequence: mb.Sequence) -> int:
        last = sequence.num_output_tokens + 1 >= self.lengths[sequence.request_id]
        return END if last else WORD


def serve(
    scheduler: mb.Scheduler,
    requests: list[Ask],
    *,
    num_blocks: int = 64,
    block_size: int = 4,
    max_tokens: int = MAX_TOKENS,
    steps: int | None = None,
    model: object | None = None,
) -> mb.Engine:
    """Run a policy, the learner's or one of ours; each step takes one second.

    steps: no more than so many; None is to the end. model: one that really computes.
    What the engine refuses (a plan that would be computed wrongly) is the learner's to hear.
    """
    engine = mb.Engine(
        model or SecretLengths(requests),
        scheduler,
        pool=Pool(num_blocks, block_size),
        clock=mb.VirtualClock(step_time=1.0),
        trace=mb.Trace(names=True),
    )
    for ask in requests:
        prompt = ask.prompt if isinstance(ask.prompt, list) else [WORD] * ask.prompt
        request = mb.Request(
            prompt,
            max_tokens=max_tokens if model is None else ask.answer,
            request_id=ask.name,
            arrival_time=ask.arrival,
            ignore_eos=model is not None,
        )
        engine.add(request)
    while engine.has_work and len(engine.trace.steps) != steps:
        number = len(engine.trace.steps) + 1
        if number > MOST_STEPS:
            running = ", ".join(s.request_id for s in scheduler.running) or "nobody"
            raise Wrong(f"After {MOST_STEPS} steps there is still no end; {running} runs.")
        try:
            engine.step()
        except (ValueError, RuntimeError) as error:
            if "gave no rows" in str(error) and scheduler.running:
                running = ", ".join(s.request_id for s in scheduler.running)
                raise Wrong(
                    f"In step {number} the plan has no rows, though {running} runs: everyone in "
                    "self.running has a row, and who has just joined too."
                ) from None
            said = str(error).replace("RemoteScheduler.plan", "your plan")
            raise Wrong(f"In step {number}: {said}.") from None
    return engine


def same_plan(expected: mb.Engine, got: mb.Engine, sentence: str) -> None:
    """Wrong, with both drawn, at the first step whose rows differ."""
    drawing = drawn(expected, got)
    if drawing is not None:
        raise Wrong(
            f"Step {drawing.differs} differs. {sentence}",
            expected=rows_of(expected, drawing.differs),
            got=rows_of(got, drawing.differs),
            drawing=drawing,
        )


def some_requests(rng, n: int = 9) -> list[Ask]:
    """Random ones, of very different lengths, some of them late."""
    arrival, found = 0.0, []
    for i in range(n):
        arrival += rng.choice([0, 0, 0, 1, 2, 7])
        found.append(Ask("ABCDEFGHIJKLMNOP"[i], rng.randint(1, 9), rng.randint(1, 15), arrival))
    return found


def rows_of(engine: mb.Engine, number: int) -> str:
    if number > len(engine.trace.steps):
        return "no such step"
    rows = engine.trace.steps[number - 1].rows
    return ", ".join(
        f"{row.request_id}: {row.num_tokens}"
        + (f" + {row.num_padding_tokens} padding" if row.num_padding_tokens else "")
        for row in sorted(rows, key=lambda row: row.request_id)
    )


def drawn(expected: mb.Engine, got: mb.Engine) -> Drawing | None:
    """The drawing of the first difference, if there is one, for a sentence of one's own."""
    return difference(expected.trace.steps, got.trace.steps)


def plans_alike_twice(scheduler: mb.Scheduler, requests: list[Ask]) -> None:
    """The engine may ask again without an update: nothing may be admitted twice or lost."""
    scheduler.bind(Pool(64, 4), mb.VirtualClock(1.0))
    for ask in requests:
        ids = [WORD] * ask.prompt
        request = mb.Request(ids, max_tokens=MAX_TOKENS)
        scheduler.add(mb.Sequence(request, ask.name, list(ids), len(ids)))
    first, second = (
        sorted((row.sequence.request_id, row.num_tokens) for row in scheduler.plan(0.0).rows)
        for _ in range(2)
    )
    if first != second:
        raise Wrong(
            "plan was called twice without an update in between, as after a failed forward pass, "
            "and gave other rows: ask each sequence what it still needs, remember nothing.",
            expected=first,
            got=second,
        )

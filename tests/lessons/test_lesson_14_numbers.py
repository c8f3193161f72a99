"""Numbers in lesson 14's text and questions are what its matches come to."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest

import minibatch as mb
from minibatch import arena
from minibatch.arena.cheaters import CHEATERS
from minibatch.schedulers import admission, chunks, orders, victims

LESSON = Path(__file__).parents[2] / "lessons" / "14_the_arena.ipynb"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
}
RULES = arena.DIVISIONS["engine"]
MATCH = arena.Match("engine", "day", 0.9, seed=1)


@pytest.fixture(scope="module")
def played():
    return {
        name: arena.play(MATCH, arena.BASELINES[name], trace=True)
        for name in ("FCFS", "Shortest prompt")
    }


def the_tenth(outcome):
    (fate,) = [fate for fate in outcome.fates if fate.request_id == "10"]
    return fate


def test_the_rules_are_those_of_the_division():
    matches = arena.matches("engine")
    text = CELLS["start"]
    assert f"{len(matches)} matches. Each match has {len(matches[0].requests)} requests" in text
    assert f"at most {RULES.max_batch_size} rows and {RULES.max_batch_tokens} tokens" in text
    assert f"{RULES.num_blocks} KV blocks" in text
    assert "0.6, 0.9 and 1.3" in text
    assert RULES.loads == (0.6, 0.9, 1.3)
    assert {request.max_tokens for match in matches for request, _ in match.requests} == {RULES.cap}
    ten = {10: "ten"}[len(CHEATERS)]
    assert f"The arena has {ten} cheating policies" in CELLS["yours-after"]
    assert f"{RULES.slo.ttft:g} s + i × {RULES.slo.tpot:g} s" in CELLS["pays-intro"]


def test_questions_give_the_scores_of_the_run():
    crowded = [match for match in arena.matches("engine") if match.load == 1.3]
    marks = arena.marks("engine")

    def total(name):
        outcomes = [arena.play(match, arena.BASELINES[name]) for match in crowded]
        return f"{arena.score(outcomes, marks).total:.2f}"

    assert f"shortest prompt has a score of {total('Shortest prompt')}" in CELLS["predict-fcfs"]
    assert f"FCFS has a score of {total('FCFS')}" in CELLS["predict-starve"]


def scored(factory, keep):
    matches = [match for match in arena.matches("engine") if keep(match)]
    return arena.score([arena.play(match, factory) for match in matches], arena.marks("engine"))


def crowded(match):
    return match.load == 1.3


def test_of_the_last_requests_few_are_in_time_under_fcfs():
    result = scored(arena.BASELINES["FCFS"], crowded)
    last = [value for match in result.matches for value in match.values[64:]]
    share = mean(value.reason == "in time" for value in last)
    assert f"only {100 * share:.0f} % are in time" in CELLS["first-why"]


@pytest.fixture(scope="module")
def rules():
    """The classes of the cell."""
    names = {"mb": mb, "orders": orders}
    exec(CELLS["starve"].split("CROWDED")[0], names)
    return names


@pytest.mark.full
def test_refusing_early_pays_what_the_text_says(rules):
    with_order, early = rules["with_order"], rules["RefusingEarly"]
    newest = scored(with_order(rules["NewestFirst"]), crowded)
    late = scored(with_order(rules["StarveTheLate"]), crowded)
    fcfs, short = (
        scored(with_order(order, early), crowded)
        for order in (rules["OldestFirst"], orders.ShortestPrompt)
    )
    for seed, score in short.by_seed.items():  # "more than both with each seed"
        assert score > max(newest.by_seed[seed], late.by_seed[seed])
    assert f"{fcfs.total:.2f}" == f"{newest.total:.2f}"  # "scores as much as"
    quiet = with_order(orders.ShortestPrompt, early), with_order(orders.ShortestPrompt)
    refusing, serving = (scored(each, lambda match: match.load == 0.6).total for each in quiet)
    assert refusing < serving  # "refuses too many requests"
    assert not {"ten times late", "unfinished"} & {*fcfs.reasons, *short.reasons}


@pytest.mark.full
def test_the_file_in_the_text_scores_what_it_says():
    text, names = CELLS["yours-intro"], {}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], names)
    mine = scored(names["make_policy"], lambda match: True)
    short = scored(arena.BASELINES["Shortest prompt"], lambda match: True)
    scores = f"scores {mine.total:.3f}, and shortest prompt scores {short.total:.3f}"
    assert f"This policy {scores}" in text
    mine, short = (result.reasons["ten times late"] for result in (mine, short))
    assert f"only {mine} requests are ten times late, instead of {short}" in text


@pytest.mark.full
def test_the_order_adds_much_with_each_seed():
    parts = {
        "order": orders.ShortestPrompt,
        "admission": lambda: admission.Watermark(0.05),
        "chunks": lambda: chunks.equal_progress,
        "victim": lambda: victims.least_computed,
    }

    def policy(**left_out):
        chosen = {part: make() for part, make in (parts | left_out).items()}
        return lambda size, tokens: mb.Budget(size, tokens, **chosen)

    def of(part, seed):
        def keep(match):
            return match.load > 0.6 and match.seed == seed

        makes = {"order": orders.FirstCome, "chunks": lambda: chunks.first_come_first_served}
        without = scored(policy(**{part: makes[part]}), keep)
        return scored(policy(), keep).total - without.total

    text = CELLS["ablation-why"]
    assert f"the order adds {of('order', 2):.2f} and {of('order', 3):.2f}" in text
    assert "the effect of the shared budget changes its sign" in text
    assert of("chunks", 3) > 0.005


def test_seeds_do_not_agree_on_the_best_router():
    by_seed = arena.public_scores()["fleet"]["by_seed"]
    best = [max(by_seed, key=lambda name: by_seed[name][seed]) for seed in range(3)]
    assert best == ["Prefix affinity", "Power of two", "Prefix affinity"]
    first, second, third = zip(by_seed["Prefix affinity"], by_seed["Power of two"], strict=True)
    assert first[0] > first[1]
    assert second[1] > second[0]
    assert f"{third[1]:.3f}" == f"{third[0]:.3f}"
    assert (
        "prefix affinity is first with seed 1, and power of two with seed 2" in CELLS["fleet-why"]
    )
    assert max(by_seed["Consistent hash"]) < 0.45


def test_half_of_the_match_is_lost(played):
    result = arena.score([played["FCFS"]], arena.marks("engine")).matches[0]
    assert "loses half of the requests" in CELLS["lost-intro"]
    assert mean(value.reason != "in time" for value in result.values) == pytest.approx(
        0.5, abs=0.02
    )


def test_the_lost_request_is_what_the_text_says(played):
    lost, saved = the_tenth(played["FCFS"]), the_tenth(played["Shortest prompt"])
    assert f"a {lost.kind} of {lost.prompt} tokens" in CELLS["lost-read"]
    text = CELLS["lost-ask"]
    assert f"needs only {-(-lost.prompt // RULES.block_size)} blocks" in text
    assert f"its first token comes after {saved.token_times[0] - saved.arrival:.2f} s" in text


def test_a_document_at_the_head_leaves_a_quarter_of_the_blocks_free(played):
    fates = {fate.request_id: fate for fate in played["FCFS"].fates}
    assert {fates[name].kind for name in "346"} == {"document"}
    steps = played["FCFS"].trace.steps
    (preempted,) = [step.start_time for step in steps if "6" in step.preempted]
    waits = [s.num_free_blocks for s in steps if preempted < s.start_time < fates["3"].ended_at]
    assert "a quarter of the blocks were free" in CELLS["lost-ask"]
    assert mean(waits) / RULES.num_blocks == pytest.approx(0.25, abs=0.05)
    again = next(
        (step.start_time, row.num_tokens)
        for step in steps
        for row in step.rows
        if row.request_id == "6" and step.start_time > preempted
    )
    assert again[0] >= fates["3"].ended_at
    assert f"the last {again[1]} tokens of request 6" in CELLS["lost-ask"]


def test_another_victim_does_not_help_the_lost_request(played):
    def least_computed(size, tokens):
        return mb.Budget(size, tokens, victim=victims.least_computed)

    other = arena.play(MATCH, least_computed, trace=True)
    lost = the_tenth(played["FCFS"])
    first = next(step for step in other.trace.steps if step.preempted)
    assert first.preempted == ("0",)
    assert first.start_time < lost.token_times[0]
    assert the_tenth(other).token_times[0] == pytest.approx(lost.token_times[0], abs=0.01)
    assert "with `least_computed`, request 0 is preempted" in CELLS["lost-ask"]

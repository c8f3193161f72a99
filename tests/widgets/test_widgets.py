"""The player steps a real engine and replays its trace; the playground plans on real policies."""

import re
from itertools import pairwise
from pathlib import Path

import ipywidgets
import pytest
from byte_tokenizer import make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

import minibatch as mb
from minibatch.plots.colours import WASTE
from minibatch.schedulers import orders
from minibatch.simulator.cost import CostModel
from minibatch.widgets import frame, policies
from minibatch.widgets import playground_panels as panels
from minibatch.widgets.run_film import Film

TEMPLATES = Path(frame.__file__).with_name("templates")


@pytest.fixture
def player(tiny_model):
    """Two slots, three requests of four tokens each: eight steps."""
    return play(tiny_model, mb.Continuous(2))


def without_pattern_ids(html):
    """Hatch patterns are numbered, since an id must be the only one of its kind in a page."""
    return re.sub(r"(prefill|padding|waiting)\d+", r"\1", html)


def play(model, policy, names="ABC", num_blocks=None, **options):
    requests = [
        mb.Request([0, 0, 0], max_tokens=4, ignore_eos=True, request_id=name) for name in names
    ]
    engine = mb.Engine(
        model, policy, attention="gather", num_blocks=num_blocks, clock=mb.VirtualClock()
    )
    return mb.widgets.EnginePlayer(engine, requests, **options)


def test_nothing_is_computed_before_the_first_step(player):
    assert player.trace.steps == []
    assert "before the first step" in player.still
    assert "3 requests wait" in player.still
    assert player.back_button.disabled


def meter_of(player):
    """How many blocks the meter says are in use, of how many, and which share of it is drawn."""
    found = re.search(
        r'role="meter".*valuemax="(\d+)" aria-valuenow="(\d+)".*<span style="[^"]*width: ([\d.]+)%',
        player.view.value,
    )
    total, used, share = map(float, found.groups())
    return used, total, share


def test_the_meter_of_blocks_is_drawn_as_full_as_the_pool_is(tiny_model):
    player = play(tiny_model, mb.Continuous(2), num_blocks=3)
    player.step_button.click()
    used, total, share = meter_of(player)
    assert total == 3
    assert used == total - player.trace.steps[-1].num_free_blocks > 0
    assert share == pytest.approx(100 * used / total, rel=1e-3)
    assert f"{used:.0f} of {total:.0f} in use" in player.view.value


def test_a_meter_of_a_pool_that_stays_nearly_empty_is_not_drawn(player):
    player.go_to(10**6)
    assert 'role="meter"' not in player.view.value


@pytest.mark.parametrize("page", sorted(TEMPLATES.glob("*.html")), ids=lambda page: page.name)
def test_every_colour_of_a_card_is_the_theme_s(page):
    text = re.sub(r"var\(--jp-[\w-]+, #\w+\)", "", page.read_text(encoding="utf-8"))
    assert re.findall(r"#[0-9a-fA-F]{3,6}\b", text) == []


def test_the_step_button_makes_the_engine_take_one_step(player):
    player.step_button.click()
    assert len(player.trace.steps) == 1
    assert "<b>step 1:</b> A and B join: 6 tokens of prompt." in player.line.value
    assert "2 rows, 6 tokens computed, 2 new" in player.view.value


def test_back_shows_the_earlier_step_and_leaves_the_engine_alone(player):
    player.step_button.click()
    first = without_pattern_ids(player.still)
    player.step_button.click()
    assert without_pattern_ids(player.still) != first
    player.back_button.click()
    assert without_pattern_ids(player.still) == first
    assert len(player.trace.steps) == 2


def test_what_play_counts_is_stepped(player):
    player.play.value = 3  # as the browser does, once every `interval`
    assert player.position == len(player.trace.steps) == 3
    assert player.go_to_box.value == player.scrubber.value == 3


def test_speed_is_how_long_play_waits_between_steps(player):
    before = player.play.interval
    player.speed.label = "fast"
    assert player.play.interval < before


def test_at_the_end_play_stops_and_step_is_disabled(player):
    player.play.playing = True
    player.go_to(10**6)
    assert player.position == len(player.trace.steps) == 8
    assert not player.play.playing
    assert player.step_button.disabled
    assert player.play.max == 8
    assert "finished</b> (3)" in player.view.value
    assert "All three have finished." in player.line.value


@pytest.fixture(scope="module")
def straight():
    """What a player shows that goes from the first step to the last."""
    player = play(PRETEND, mb.Continuous(2))
    player.go_to(8)
    return player.film.frames


@given(moves=st.lists(st.integers(-2, 12), max_size=12))
def test_any_walk_shows_what_a_straight_one_shows(straight, moves):
    walked = play(PRETEND, mb.Continuous(2))
    for move in moves:
        walked.go_to(move)
        assert walked.position == min(max(0, move), 8)
        assert walked.film.frames[walked.position] == straight[walked.position]


def test_texts_grow_to_what_the_engine_answers():
    model = mb.load_model("wayfarer", device="cpu")
    requests = mb.workload.agents(model, 3, prompt_scale=0.1)
    engine = mb.Engine(model, mb.Continuous(2))
    player = mb.widgets.EnginePlayer(engine, requests)
    player.go_to(30)
    half = player.film.frames[30].texts["A"]
    assert half == next(c.text for c in engine.trace.completions if c.request_id == "A")
    player.go_to(10**6)
    assert player.film.frames[-1].texts == {c.request_id: c.text for c in engine.trace.completions}


class Saying(mb.PretendModel):
    """Answers every request with the ids of one text."""

    def __init__(self, text):
        self.tokenizer, self.vocab_size = make_tokenizer(), 10_000
        self.ids = self.tokenizer.encode(text, add_special_tokens=False)

    def runner(self, pool, attention):
        return self

    def run(self, plan):
        return [[self.ids[row.sequence.num_output_tokens]] for row in plan.rows]


def test_a_request_s_own_stop_tokens_are_not_shown():
    model = Saying("days in Porto.")
    requests = [
        mb.Request([5], max_tokens=len(model.ids), stop_token_ids=stops, request_id=name)
        for name, stops in (("A", ()), ("B", model.ids[-1:]))
    ]
    player = mb.widgets.EnginePlayer(mb.Engine(model, mb.Continuous(2), num_blocks=64), requests)
    player.go_to(10**6)
    assert player.film.frames[-1].texts == {"A": "days in Porto.", "B": "days in Porto"}
    completions = player.trace.completions
    assert player.film.frames[-1].texts == {c.request_id: c.text for c in completions}


def test_a_player_of_what_is_no_request_says_what_to_give(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), attention="gather")
    with pytest.raises(
        TypeError, match=r"'hotels' is not a request; make one: Request\('hotels'\)"
    ):
        mb.widgets.EnginePlayer(engine, ["hotels"])


def test_a_refused_request_leaves_none_of_them_live(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), attention="gather")
    requests = [mb.Request([2], max_tokens=n, request_id=str(n)) for n in (3, 4, 10_000)]
    with pytest.raises(ValueError, match="'10000' needs 1 . 10,000 tokens"):
        mb.widgets.EnginePlayer(engine, requests)
    assert not engine.has_work
    mb.widgets.EnginePlayer(engine, requests[:2]).go_to(10**6)


def test_a_player_shows_a_run_of_which_the_trace_keeps_only_the_end(tiny_model):
    trace = mb.Trace(keep=2)
    engine = mb.Engine(tiny_model, mb.Continuous(2), attention="gather", trace=trace)
    engine.run([mb.Request([2], max_tokens=5, ignore_eos=True)])
    player = mb.widgets.EnginePlayer(engine, [mb.Request([2], max_tokens=4, ignore_eos=True)])
    player.go_to(10**6)
    assert player.position == 4
    assert "<b>step 4:</b>" in player.line.value


def test_steps_taken_elsewhere_are_shown_too(player):
    player.engine.step()
    player.engine.step()
    player.step_button.click()
    assert player.position == 1
    player.go_to(3)
    assert len(player.trace.steps) == 3


def test_a_player_of_a_used_engine_begins_at_its_next_step(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), attention="gather")
    engine.run([mb.Request([2], max_tokens=5, ignore_eos=True)])
    player = mb.widgets.EnginePlayer(engine, [mb.Request([2], max_tokens=2, ignore_eos=True)])
    player.go_to(10**6)
    assert player.position == 2
    assert len(engine.trace.steps) == 7


def test_after_a_reset_of_the_engine_a_player_keeps_its_run_and_stops(player):
    player.go_to(2)
    player.engine.reset()
    player.step_button.click()
    assert player.position == 2
    assert player.step_button.disabled


class Stumbling(mb.Continuous):
    """Raises once, at its third step."""

    stumbled = False

    def plan(self, now):
        if len(self.running) and self.running[0].num_output_tokens == 2 and not self.stumbled:
            self.stumbled = True
            raise LookupError("no <row> found")
        return super().plan(now)


def test_what_a_policy_raises_is_shown_and_the_next_step_tries_again(tiny_model):
    player = play(tiny_model, Stumbling(2))
    player.play.playing = True
    player.go_to(5)
    assert player.position == 2
    assert 'role="alert"' in player.view.value
    assert "LookupError: no &lt;row&gt; found" in player.view.value
    assert not player.play.playing
    player.step_button.click()
    assert player.position == 3
    assert 'role="alert"' not in player.view.value


def test_padding_is_named_counted_and_loud(tiny_model):
    engine = mb.Engine(tiny_model, mb.Static(2), attention="gather")
    requests = [mb.Request([2], max_tokens=n, ignore_eos=True, request_id=str(n)) for n in (1, 3)]
    player = mb.widgets.EnginePlayer(engine, requests)
    player.go_to(3)
    assert re.search(f"background: {WASTE};[^>]*>padding ×2<", player.view.value)
    assert "url(#padding" in player.view.value


def test_text_of_an_answer_cannot_become_markup(tiny_model):
    name = "<script>alert(1)</script>"
    player = play(tiny_model, mb.Continuous(1), [name])
    player.go_to(4)
    assert "<script>" not in player.view.value


def test_a_saved_notebook_holds_a_still(player):
    bundle = player._repr_mimebundle_()
    assert bundle["text/html"] == player.still == player.line.value + player.view.value
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_a_picture_says_what_it_shows(player):
    player.go_to(3)
    alt = "Slots by steps, so far: 3 steps, 6 rows, 0 of them padding."
    assert f'aria-label="{alt}"' in player.view.value


def test_a_window_slider_serves_the_stream_anew_and_marks_it_on_the_curve():
    traffic = {"load 0.3": mb.streams.poisson(0.3, count=2, n=40)}
    slider = mb.widgets.WindowSlider(traffic, mb.streams.by_window(traffic, (0, 2)))
    assert slider.window.value == 0.5
    before = slider.view.value
    slider.window.value = 0.0
    assert slider.view.value != before
    assert "requests 25 to 30: " in slider.view.value
    assert slider.view.value.count("<img") == 1  # on one screen


PRETEND = mb.PretendModel()


@pytest.fixture(scope="module")
def playground():
    return mb.widgets.Playground(num_requests=12)


def crowd(**controls):
    """Continuous alone, with sixteen requests that come all at once."""
    playground = mb.widgets.Playground(mb.Continuous, num_requests=16)
    playground.menus[1].value = "nothing"
    for name, value in {"rate": "all at once", "batch_size": 16, "prompt": 100, **controls}.items():
        getattr(playground, name).value = value
    return playground


def num_rows_at_first(playground):
    (trace,) = playground.traces().values()
    assert len(trace.completions) == 16
    return len(trace.steps[0].rows)


def test_a_playground_s_pool_of_memory_lets_in_who_fits():
    assert num_rows_at_first(crowd()) == 16
    small = crowd(pool=1024)
    assert num_rows_at_first(small) == 64 // 7  # blocks of 16; a prompt of 100 takes 7
    assert "held at most, of 64" in small.view.value
    assert "preemptions" in small.view.value


def test_a_playground_s_memory_is_empty_while_no_request_runs():
    (trace,) = crowd(rate=2).traces().values()
    idle = [a.end_time for a, b in pairwise(trace.steps) if b.start_time > a.end_time]
    markup = panels.memory(trace, trace.steps[-1].end_time, 100_000, 16, False)
    (held,) = re.findall(r'<polygon points="(.*?)"', markup)
    corners = held.split()
    for time in idle:
        assert f"{100 * time / trace.steps[-1].end_time:.5g},100" in corners
    assert idle


def test_a_block_for_a_whole_request_lets_in_fewer():
    whole = crowd(pool=2048, block_size="a whole request")
    num_blocks, block_size = whole.blocks()
    assert block_size == max(100 + request.max_tokens for request in whole.requests())
    assert num_rows_at_first(whole) == num_blocks == 2048 // block_size
    assert num_rows_at_first(crowd(pool=2048)) > num_blocks


def test_prompts_that_begin_alike_are_found_with_the_prefix_cache_on():
    alike = {"prompt": 1300, "common": 0.5, "rate": 2, "batch_size": 8}
    assert "found in the cache" not in crowd(**alike).view.value
    (trace,) = crowd(**alike, caching=True).traces().values()
    hits = {lookup.num_hits for step in trace.steps for lookup in step.sharing.lookups}
    assert hits == {0, 640}  # 40 full blocks of 16 in 650 tokens; the first found none


def test_a_playground_s_budget_is_for_the_policies_that_take_one():
    playground = crowd(budget=64, prompt=1300, batch_size=4)
    (trace,) = playground.traces().values()
    assert max(sum(row.num_tokens for row in step.rows) for step in trace.steps) == 64
    assert "Continuous(4, 64 tokens a step)" in playground.view.value
    assert "where no budget cuts it" in playground.view.value
    playground.menus[0].value = "Dynamic"
    assert "tokens a step)" not in playground.view.value


def test_a_smaller_budget_shortens_the_longest_wait_for_a_next_token():
    playground = mb.widgets.Playground(
        mb.Budget, policies=(mb.PrefillFirst, mb.Budget), num_requests=12, cost=COST
    )
    playground.prompt.value, playground.takes.value, playground.rate.value = 1300, True, 2

    def longest_waits():
        traces = playground.traces()
        return [trace.summary()["itl_max_s"] for trace in traces.values()]

    budget_256, prefill_first = longest_waits()
    playground.budget.value = 64
    budget_64, same = longest_waits()
    assert prefill_first == same
    assert "PrefillFirst(8):" in playground.view.value
    assert "has a slot, and waits" in playground.view.value
    assert budget_64 < budget_256 < prefill_first
    assert "time to a next token, the longest" in playground.view.value


def test_a_playground_says_when_a_request_can_never_fit():
    small = crowd(prompt=1300, pool=1024)
    assert "<b>No request is served.</b>" in small.view.value
    assert "blocks" in small.view.value


def test_a_playground_says_that_it_is_an_idealisation(playground):
    assert "An idealisation" in playground.view.value
    assert "no model runs" in playground.view.value


@pytest.mark.parametrize(
    ("control", "value"),
    [
        ("batch_size", 2),
        ("window", 2.0),
        ("budget", 32),
        ("rate", "all at once"),
        ("spread", 0.0),
        ("prompt", 100),
        ("pool", 1024),
        ("block_size", 64),
        ("caching", True),
        ("common", 0.9),
    ],
)
def test_every_control_of_a_playground_plans_anew(playground, control, value):
    before = playground.view.value
    getattr(playground, control).value = value
    assert playground.view.value != before


def test_equal_lengths_all_at_once_leave_nothing_to_gain():
    playground = mb.widgets.Playground(num_requests=16)
    playground.spread.value = 0.0
    playground.rate.value = "all at once"
    dynamic, continuous = playground.traces().values()
    assert len(dynamic.steps) == len(continuous.steps) == 2 * playground.mean_length


def test_a_playground_serves_the_same_tokens_under_both_policies():
    playground = mb.widgets.Playground(num_requests=20)
    totals = {trace.summary()["output_tokens"] for trace in playground.traces().values()}
    assert totals == {sum(request.max_tokens for request in playground.requests())}


COST = CostModel(0.005, 0.0002, 0.0002, 4e-10, 6144, "made up for a test")


def first_token_after(playground):
    return [trace.summary()["ttft_mean_s"] for trace in playground.traces().values()]


def chosen(playground):
    return [menu.value for menu in playground.menus]


def test_a_playground_offers_no_policy_of_a_later_lesson():
    playground = mb.widgets.Playground(policies=(mb.Static, mb.Dynamic), num_requests=3)
    assert list(playground.traces()) == ["Static(8)", "Dynamic(8, max_wait=0.25)"]
    assert playground.menus[0].options == ("Static", "Dynamic")


class Lazy(mb.Continuous):
    """Admits nobody beside another."""

    def can_admit(self):
        return not self.running and super().can_admit()


def test_a_playground_takes_a_policy_of_your_own():
    playground = mb.widgets.Playground(Lazy, num_requests=3)
    assert chosen(playground) == ["Lazy", "Continuous"]
    playground.menus[1].value = "nothing"
    (trace,) = playground.traces().values()
    assert max(len(step.rows) for step in trace.steps) == 1


def test_a_policy_that_raises_is_shown_with_what_it_raised():
    playground = mb.widgets.Playground(Stumbling, num_requests=3)
    assert 'role="alert"' in playground.view.value
    assert "LookupError: no &lt;row&gt; found" in playground.view.value


class Unmade(mb.Continuous):
    def __init__(self, max_batch_size=8):
        raise LookupError("no slots found")


def test_a_policy_that_cannot_be_made_is_shown_with_what_it_raised():
    playground = mb.widgets.Playground(Unmade, num_requests=3)
    assert "LookupError: no slots found" in playground.view.value


def test_a_prompt_costs_nothing_more_where_every_step_takes_the_same():
    playground = mb.widgets.Playground(num_requests=12, cost=COST)
    before = first_token_after(playground)
    playground.prompt.value = 1300
    assert first_token_after(playground) == before
    assert "a prompt of 1,300 tokens takes one step" in playground.view.value


def test_a_long_prompt_costs_what_was_measured():
    playground = mb.widgets.Playground(num_requests=12, cost=COST)
    playground.takes.label = "measured here"
    assert "5 ms in any case; 0.2 ms for each row" in playground.view.value
    assert "made up for a test" in playground.view.value
    short = first_token_after(playground)
    playground.prompt.value = 1300
    assert all(
        long > 0.26 + first
        for long, first in zip(first_token_after(playground), short, strict=True)
    )
    assert "takes one step; without other rows this step takes 268 ms" in playground.view.value


def test_costs_are_measured_once_when_first_asked_for_and_the_view_says_so(monkeypatch):
    measured = []
    monkeypatch.setattr(mb.measure, "cost_model", lambda model: measured.append(model) or COST)
    playground = mb.widgets.Playground(num_requests=3)
    assert playground.cost is None
    shown = []
    playground.view.observe(lambda change: shown.append(change["new"]), "value")
    playground.takes.label = "measured here"
    assert "Wayfarer's steps are measured on this machine" in shown[0]
    assert "measurements of Wayfarer" in shown[-1]
    playground.takes.index = 0
    playground.takes.index = 1
    assert len(measured) == 1
    assert measured[0].tokenizer is not None


def test_every_control_has_a_name(player, playground):
    def controls(widget):
        for child in getattr(widget, "children", ()):
            yield from controls(child)
        if isinstance(widget, ipywidgets.ValueWidget | ipywidgets.Button):
            yield widget

    for widget in (player, playground):
        for control in controls(widget):
            hidden = control is getattr(widget, "play", None)
            assert hidden or isinstance(control, ipywidgets.HTML) or control.description, control


def test_a_policy_made_anew_keeps_its_default_for_what_it_has_under_another_name():
    class Thrifty(mb.Scheduler):
        plan = mb.Continuous.plan

        def __init__(self, max_batch_size=8, max_batch_tokens=256):
            super().__init__(max_batch_size)
            self.budget = max_batch_tokens

    again = policies.new(Thrifty, policies.settings(Thrifty(4)))
    assert (again.max_batch_size, again.budget) == (4, 256)


def test_a_film_shot_again_keeps_all_options_of_its_engine():
    engine = mb.Engine(
        mb.PretendModel(),
        mb.Continuous(2),
        num_blocks=64,
        clock=mb.VirtualClock(),
        prefix_caching=True,
        speculation=mb.PromptLookup(num_guesses=3),
    )
    film = Film(engine, [mb.Request([0] * 20, max_tokens=6) for _ in range(2)])
    again = film.remade(mb.Continuous(1)).engine
    assert again.pool.prefixes is not None
    assert again.pool.prefixes is not engine.pool.prefixes
    assert again.drafting.proposer.num_guesses == 3
    assert again.drafting.proposer is not engine.drafting.proposer


def test_a_draft_model_for_another_engine_has_the_same_settings_and_no_engine(tiny_model):
    draft = mb.DraftModel(tiny_model, 2, num_blocks=9, block_size=4)
    mb.Engine(tiny_model, mb.Continuous(2), num_blocks=9, speculation=draft)
    another = draft.unused()
    assert (another.num_guesses, another.num_blocks, another.block_size) == (2, 9, 4)
    assert another.pool is None


def test_a_new_policy_shares_no_part_with_the_one_it_is_made_of():
    order = orders.FairShare()
    used = mb.Budget(2, order=order)
    mb.Engine(mb.PretendModel(), used, num_blocks=64)
    order.computed["a"] = 9
    policy = policies.new(used)
    assert policy.order is not order
    assert dict(policy.order.computed) == {}

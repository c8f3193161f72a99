"""Trace: what a step's record says, which slot a request gets, what the two files hold."""

import json

import pytest

import minibatch as mb


def engine_of(model, scheduler, **kwargs):
    kwargs = {"attention": "gather", "block_size": 4, "clock": mb.VirtualClock(0.025)} | kwargs
    return mb.Engine(model, scheduler, **{"trace": mb.Trace(names=True)} | kwargs)


def request(name, num_prompt_tokens=3, max_tokens=4, **kwargs):
    prompt = [2 + i % 100 for i in range(num_prompt_tokens)]
    return mb.Request(prompt, max_tokens=max_tokens, ignore_eos=True, request_id=name, **kwargs)


def slots(record):
    return {row.request_id: row.slot for row in record.rows}


def test_a_record_tells_rows_kinds_and_times(tiny_model):
    engine = engine_of(tiny_model, mb.Static(2), num_blocks=10)
    engine.add(request("A", 2, 1))
    engine.add(request("B", 5, 2))
    engine.add(request("C"))
    first, second = engine.step(), engine.step()
    (a,), b = (completion.token_ids for completion in engine.trace.completions)
    assert [first.index, second.index] == [0, 1]
    assert (first.start_time, first.end_time) == (0.0, 0.025)
    assert (second.start_time, second.end_time) == (0.025, 0.05)
    assert first.rows == (
        mb.RowRecord("A", 0, "prefill", 2, 3, (a,)),
        mb.RowRecord("B", 1, "prefill", 5, 0, (b[0],)),
    )
    assert second.rows == (
        mb.RowRecord("A", 0, "padding", 0, 1, ()),
        mb.RowRecord("B", 1, "decode", 1, 0, (b[1],)),
    )
    assert (first.admitted, second.admitted) == (("A", "B"), ())
    assert (first.finished, second.finished) == (("A",), ("B",))
    assert first.waiting == second.waiting == ("C",)
    assert (first.num_free_blocks, second.num_free_blocks) == (7, 7)  # while they ran
    assert (first.num_output_tokens, second.num_output_tokens) == (2, 1)


def test_a_chunk_that_does_not_reach_the_end_puts_no_token_out(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2, max_batch_tokens=2))
    engine.add(request("A", num_prompt_tokens=3))
    rows = [engine.step().rows[0] for _ in range(3)]
    assert [(r.kind, r.num_tokens, len(r.token_ids)) for r in rows] == [
        ("prefill", 2, 0),
        ("prefill", 1, 1),
        ("decode", 1, 1),
    ]


def test_a_prompt_of_one_token_is_prefill(tiny_model):
    engine = engine_of(tiny_model, mb.Sequential())
    engine.add(request("A", num_prompt_tokens=1))
    assert [engine.step().rows[0].kind for _ in range(2)] == ["prefill", "decode"]


def test_a_request_gets_the_lowest_free_slot_and_keeps_it(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    for name, answer in (("A", 4), ("B", 1), ("C", 2), ("D", 9), ("E", 9)):
        engine.add(request(name, max_tokens=answer))
    assert slots(engine.step()) == {"A": 0, "B": 1, "C": 2}
    assert slots(engine.step()) == {"A": 0, "D": 1, "C": 2}
    assert slots(engine.step()) == {"A": 0, "D": 1, "E": 2}


def test_preemption_frees_a_slot_and_coming_back_is_being_admitted_again(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2), num_blocks=3)
    engine.add(request("A", 4, 3))
    engine.add(request("B", 4, 2))
    first, second, third, fourth = (engine.step() for _ in range(4))
    assert slots(first) == {"A": 0, "B": 1}
    assert (first.preempted, second.preempted, third.preempted) == ((), ("B",), ())
    assert slots(second) == slots(third) == {"A": 0}
    assert second.waiting == ("B",)
    assert third.finished == ("A",)
    assert slots(fourth) == {"B": 0}
    assert fourth.admitted == ("B",)
    assert fourth.rows[0].kind == "prefill"  # recomputing is prefill again
    assert engine.trace.summary()["num_preemptions"] == 1


@pytest.mark.parametrize(
    "make", [mb.Static, mb.Dynamic, mb.Continuous], ids=["static", "dynamic", "continuous"]
)
def test_no_slot_lies_beyond_the_batch_size(tiny_model, make):
    engine = engine_of(tiny_model, make(max_batch_size=3))
    engine.run([request(str(i), 1 + i % 4, 1 + i % 5) for i in range(12)])
    assert {row.slot for step in engine.trace.steps for row in step.rows} == {0, 1, 2}


def test_an_aborted_request_gives_its_slot_back(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(1))
    engine.add(request("A"))
    engine.step()
    engine.abort("A")
    engine.add(request("B"))
    record = engine.step()
    assert slots(record) == {"B": 0}
    assert record.admitted == ("B",)


def test_an_id_used_again_after_an_abort_was_not_preempted(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(1))
    engine.add(request("A"))
    engine.step()
    engine.abort("A")
    engine.add(request("B"))
    engine.add(request("A"))
    record = engine.step()
    assert record.preempted == ()
    assert engine.trace.summary()["num_preemptions"] == 0


def test_an_id_used_again_beside_its_own_padding_row_is_another_request(tiny_model):
    engine = engine_of(tiny_model, mb.Static(2))
    engine.add(request("A", max_tokens=1))
    engine.add(request("B", max_tokens=3))
    engine.step()
    engine.add(request("A", max_tokens=1))  # its namesake has finished, and pads until B ends
    record = engine.step()
    assert record.preempted == ()
    assert record.admitted == ()
    assert slots(record) == {"A": 0, "B": 1}


def test_json_lines_hold_every_step_as_one_object(tiny_model, tmp_path):
    engine = engine_of(tiny_model, mb.Continuous(2))
    engine.run([request(name, max_tokens=3) for name in ("A", "São", "C")])
    engine.trace.to_jsonl(tmp_path / "trace.jsonl")
    lines = (tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line) for line in lines]
    assert [step["index"] for step in steps] == list(range(len(engine.trace.steps)))
    assert steps[0]["admitted"] == ["A", "São"]
    assert steps[0]["rows"][0] == {
        "request_id": "A",
        "slot": 0,
        "kind": "prefill",
        "num_tokens": 3,
        "num_padding_tokens": 0,
        "token_ids": [engine.trace.completions[0].token_ids[0]],
        "draft": [],
    }


@pytest.fixture
def chrome_trace(tiny_model, tmp_path):
    engine = engine_of(tiny_model, mb.Static(2), num_blocks=10)
    engine.run([request("A", 2, 1), request("São", 5, 2), request("C", 3, 1)])
    engine.trace.to_chrome_trace(tmp_path / "trace.json")
    return json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))


def test_every_chrome_event_has_a_phase_a_name_and_a_process(chrome_trace):
    for event in chrome_trace["traceEvents"]:
        assert event["ph"] in {"M", "X", "C"}
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)


def test_chrome_times_are_numbers_in_microseconds(chrome_trace):
    slices = [event for event in chrome_trace["traceEvents"] if event["ph"] == "X"]
    for event in chrome_trace["traceEvents"]:
        if event["ph"] != "M":
            assert type(event["ts"]) in {int, float}
            assert event["ts"] >= 0
    assert all(type(event["dur"]) in {int, float} for event in slices)
    assert [event["dur"] for event in slices] == pytest.approx([25_000.0] * 5)
    assert [event["ts"] for event in slices] == pytest.approx([0, 0, 25_000, 25_000, 50_000])


def test_a_chrome_trace_has_one_named_thread_for_each_slot(chrome_trace):
    events = chrome_trace["traceEvents"]
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert threads == {0: "slot 0", 1: "slot 1"}
    assert {event["tid"] for event in events if event["ph"] == "X"} == set(threads)


def test_slices_of_one_slot_do_not_overlap(chrome_trace):
    for slot in (0, 1):
        ends = 0.0
        for event in chrome_trace["traceEvents"]:
            if event["ph"] == "X" and event["tid"] == slot:
                assert event["ts"] >= ends - 1e-6
                ends = event["ts"] + event["dur"]


def test_chrome_slices_say_whose_row_it_was_and_what_kind(chrome_trace):
    names = [event["name"] for event in chrome_trace["traceEvents"] if event["ph"] == "X"]
    assert names == ["A prefill", "São prefill", "A padding", "São decode", "C prefill"]


def test_chrome_counters_follow_queue_and_blocks(chrome_trace):
    counters = [event for event in chrome_trace["traceEvents"] if event["ph"] == "C"]
    queue = [event["args"] for event in counters if event["name"] == "requests"]
    blocks = [event["args"]["used"] for event in counters if event["name"] == "KV blocks"]
    assert queue == [
        {"running": 2, "waiting": 1},
        {"running": 2, "waiting": 1},
        {"running": 1, "waiting": 0},
    ]
    assert blocks == [3, 3, 1]  # while each step ran


def test_an_empty_trace_can_be_written(tiny_model, tmp_path):
    trace = engine_of(tiny_model, mb.Sequential()).trace
    trace.to_jsonl(tmp_path / "a.jsonl")
    trace.to_chrome_trace(tmp_path / "a.json")
    assert (tmp_path / "a.jsonl").read_text() == ""
    assert json.loads((tmp_path / "a.json").read_text())["displayTimeUnit"] == "ms"

"""The summary, on runs small enough to be added up by hand."""

import pytest

import minibatch as mb
from minibatch.engine.metrics import summarize

KEYS = [
    "num_requests",
    "num_steps",
    "duration_s",
    "output_tokens",
    "output_tokens_per_s",
    "slot_utilization",
    "batch_fill",
    *(
        f"{name}_{figure}_s"
        for name in ("ttft", "tpot", "e2e")
        for figure in ("mean", "p50", "p99")
    ),
    "queue_mean_s",
    "queue_p99_s",
    *(f"itl_{figure}_s" for figure in ("mean", "p50", "p99", "max")),
    "num_refused",
    "num_deadline",
    "num_preemptions",
    "recomputed_tokens",
    "peak_blocks",
    "prefix_hit_rate",
    "num_evictions",
    "num_requeued",
    "num_drafted",
    "num_accepted",
    "acceptance_rate",
    "tokens_per_draft",
    "num_wasted_rows",
]


def step(index, rows, free=10, preempted=(), step_time=1.0):
    """rows: 1 for a row that put a token out, 0 for one that did not."""
    return mb.StepRecord(
        index=index,
        start_time=index * step_time,
        end_time=(index + 1) * step_time,
        times=None,
        row_values=tuple(
            mb.RowRecord(str(i), i, "decode", 1, 0, (7,) * out) for i, out in enumerate(rows)
        ),
        num_waiting=0,
        waiting_names=None,
        sharing=None,
        recomputed=(),
        admitted=(),
        finished=(),
        preempted=preempted,
        requeued=(),
        num_free_blocks=free,
    )


def completion(token_times, arrival=0.0, scheduled=None, reason="length", finish_time=None):
    return mb.Completion(
        request_id="A",
        prompt_token_ids=[1],
        token_ids=[7] * len(token_times),
        text="",
        finish_reason=reason,
        arrival_time=arrival,
        first_scheduled_time=arrival if scheduled is None else scheduled,
        first_token_time=token_times[0] if token_times else None,
        finish_time=token_times[-1] if finish_time is None else finish_time,
        token_times=token_times,
    )


def summary(steps=(), completions=(), max_batch_size=2, num_blocks=10):
    return summarize(list(steps), list(completions), max_batch_size, num_blocks)


def test_a_summary_has_the_keys_of_the_design_in_their_order():
    assert list(summary()) == KEYS
    assert list(summary([step(0, [1])], [completion([1.0])])) == KEYS


def test_an_empty_summary_counts_nothing_and_divides_by_nothing():
    assert {key: value for key, value in summary().items() if value} == {}
    assert summary()["output_tokens_per_s"] is None
    assert summary()["slot_utilization"] is None
    assert summary()["batch_fill"] is None
    assert summary()["ttft_mean_s"] is None


def test_throughput_utilisation_and_fill_are_counted_from_rows():
    # two slots, three steps: 5 rows of 6 possible, 3 of them put a token out
    got = summary([step(0, [1, 0]), step(1, [1, 0]), step(2, [1])])
    assert got["num_steps"] == 3
    assert got["duration_s"] == 3.0
    assert got["output_tokens"] == 3
    assert got["output_tokens_per_s"] == 1.0
    assert got["slot_utilization"] == pytest.approx(3 / 5)
    assert got["batch_fill"] == pytest.approx(5 / 6)


def test_duration_runs_from_the_first_arrival():
    steps = [step(4, [1]), step(5, [1])]
    assert summary(steps, [completion([5.0, 6.0], arrival=3.0)])["duration_s"] == 3.0
    assert summary(steps, [completion([5.0, 6.0], arrival=4.5)])["duration_s"] == 2.0


def test_latencies_are_means_medians_and_99th_percentiles():
    done = [completion([1.0, 2.0, 3.0]), completion([2.0, 4.0]), completion([6.0, 6.5])]
    got = summary([step(0, [1])], done)
    assert got["num_requests"] == 3
    assert got["ttft_mean_s"] == pytest.approx(3.0)  # 1, 2, 6
    assert got["ttft_p50_s"] == pytest.approx(2.0)
    assert got["ttft_p99_s"] == pytest.approx(2 + 0.98 * 4)  # 98 % of the way from 2nd to 3rd
    assert got["tpot_mean_s"] == pytest.approx((1.0 + 2.0 + 0.5) / 3)
    assert got["tpot_p50_s"] == pytest.approx(1.0)
    assert got["e2e_mean_s"] == pytest.approx((3.0 + 4.0 + 6.5) / 3)
    assert got["e2e_p50_s"] == pytest.approx(4.0)


def test_one_request_is_its_own_median_and_percentile():
    got = summary([step(0, [1])], [completion([1.0, 3.0])])
    for figure in ("mean", "p50", "p99"):
        assert got[f"ttft_{figure}_s"] == 1.0
        assert got[f"tpot_{figure}_s"] == 2.0
        assert got[f"e2e_{figure}_s"] == 3.0


def test_queueing_ends_when_a_request_is_first_scheduled():
    got = summary(
        [step(0, [1])], [completion([3.0], 1.0, scheduled=2.0), completion([3.0], 0.0, 2.0)]
    )
    assert got["queue_mean_s"] == pytest.approx(1.5)
    assert got["queue_p99_s"] == pytest.approx(1.99)


def test_answers_of_one_token_have_no_part_in_tpot():
    got = summary([step(0, [1])], [completion([1.0]), completion([1.0, 4.0])])
    assert got["tpot_mean_s"] == 3.0
    assert summary([step(0, [1])], [completion([1.0])])["tpot_mean_s"] is None


def test_aborted_requests_are_left_out_of_latencies_and_of_the_count():
    aborted = completion([50.0], arrival=0.0, reason="abort")
    never_ran = completion([], reason="abort", finish_time=9.0)
    got = summary([step(0, [1])], [completion([1.0, 2.0]), aborted, never_ran])
    assert got["num_requests"] == 1
    assert got["ttft_p99_s"] == 1.0
    assert got["e2e_p99_s"] == 2.0


def test_a_run_of_aborted_requests_only_has_no_latencies():
    got = summary([step(0, [1])], [completion([], reason="abort", finish_time=1.0)])
    assert got["num_requests"] == 0
    assert got["ttft_mean_s"] is got["queue_p99_s"] is None


def test_preemptions_are_added_up():
    steps = [step(0, [1], preempted=("A", "B")), step(1, [1]), step(2, [1], preempted=("A",))]
    assert summary(steps)["num_preemptions"] == 3


def test_peak_blocks_is_the_most_in_use_after_any_step():
    steps = [step(0, [1], free=9), step(1, [1], free=2), step(2, [1], free=10)]
    assert summary(steps, num_blocks=10)["peak_blocks"] == 8


def test_figures_are_plain_numbers_that_json_can_write():
    got = summary([step(0, [1])], [completion([1.0, 2.0])])
    for key in ("prefix_hit_rate", "acceptance_rate", "tokens_per_draft"):
        assert got.pop(key) is None  # nothing was looked up, nothing guessed
    assert all(type(value) in {int, float} for value in got.values())


def test_inter_token_times_are_those_of_all_answers_together():
    done = [completion([1.0, 2.0, 4.0]), completion([1.0, 1.5]), completion([9.0])]
    got = summary([step(0, [1])], done)
    assert got["itl_mean_s"] == pytest.approx(3.5 / 3)
    assert (got["itl_p50_s"], got["itl_max_s"]) == (1.0, 2.0)


def test_a_completion_noted_twice_leaves_its_gaps_once():
    from minibatch.engine.metrics import Latencies

    latencies = Latencies()
    for number in (0, 1, 1, 2):
        latencies.put(number, completion([1.0, 2.0]))
    assert list(latencies.columns()["itl"]) == [1.0, 1.0, 1.0]

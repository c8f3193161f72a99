"""Traffic is three columns: when requests arrive, and how many tokens they have."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator.traffic import AZURE_CODE, AZURE_CONVERSATION, Lengths

SHORT = Lengths.equal(3, 2)


def test_traffic_becomes_requests_and_traffic_again():
    traffic = mb.traffic.poisson(2.0, 20, SHORT)
    requests = traffic.requests()
    assert [r.request_id for r in requests] == [str(i) for i in range(20)]
    again = mb.Traffic.of(requests)
    for name in ("arrival", "prompt", "output"):
        assert (getattr(again, name) == getattr(traffic, name)).all()


def test_requests_are_sorted_by_arrival_and_those_without_a_time_come_first():
    requests = [mb.Request([0] * n, arrival_time=t) for n, t in ((1, 2.0), (2, None), (3, 0.5))]
    assert mb.Traffic.of(requests).prompt.tolist() == [2, 3, 1]


@pytest.mark.parametrize("lengths", [AZURE_CONVERSATION, AZURE_CODE], ids=lambda some: some.name)
def test_drawn_lengths_have_the_quantiles_of_the_trace(lengths):
    traffic = mb.traffic.all_at_once(20_000, lengths)
    for column, wanted in ((traffic.prompt, lengths.prompt), (traffic.output, lengths.output)):
        found = np.quantile(column, lengths.shares[1:-1])
        np.testing.assert_allclose(found, wanted[1:-1], rtol=0.15)
        assert (column.min(), column.max()) == (wanted[0], wanted[-1])


def test_scaled_lengths_are_a_share_of_the_published_ones():
    assert max(mb.traffic.all_at_once(1000, AZURE_CODE.scaled(0.25)).prompt) == 7436 // 4


@pytest.mark.parametrize("cv", [0, 1, 5])
def test_gaps_have_the_rate_and_the_variation_asked_for(cv):
    gaps = np.diff(mb.traffic.gamma(4.0, 100_000, cv, SHORT).arrival)
    assert gaps.mean() == pytest.approx(0.25, rel=0.1)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.1, abs=1e-6)


def test_bursts_are_those_of_the_trace_unless_said():
    code, chat = mb.traffic.AZURE_CODE, mb.traffic.AZURE_CONVERSATION
    assert (code.gap_cv, chat.gap_cv, SHORT.gap_cv) == (13.0, 1.09, 1.0)
    given, left_out = mb.traffic.gamma(4.0, 50, 13.0, code), mb.traffic.gamma(4.0, 50, lengths=code)
    assert left_out.arrival.tolist() == given.arrival.tolist()


def test_a_ramp_begins_at_one_rate_and_ends_at_another():
    gaps = np.diff(mb.traffic.ramp(1.0, 10.0, 20_000, SHORT).arrival)
    assert gaps[:1000].mean() == pytest.approx(1.0, rel=0.2)
    assert gaps[-1000:].mean() == pytest.approx(0.1, rel=0.2)


def test_azures_trace_is_read_from_its_csv(tmp_path):
    (tmp_path / "trace.csv").write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:47.1805900,396,109\n"
        "2023-11-16 18:15:46.6805900,374,44\n"
    )
    traffic = mb.traffic.from_csv(tmp_path / "trace.csv")
    assert traffic.arrival.tolist() == [0.0, 0.5]
    assert (traffic.prompt.tolist(), traffic.output.tolist()) == ([374, 396], [44, 109])


def test_mooncakes_trace_is_read_from_its_lines(tmp_path):
    (tmp_path / "trace.jsonl").write_text(
        '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0]}\n'
        '{"timestamp": 3000, "input_length": 7322, "output_length": 490, "hash_ids": [0]}\n'
    )
    traffic = mb.traffic.from_jsonl(tmp_path / "trace.jsonl")
    assert traffic.arrival.tolist() == [0.0, 3.0]
    assert (traffic.prompt.tolist(), traffic.output.tolist()) == ([6758, 7322], [500, 490])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0.0], [-1], [1]), "prompt is empty"),
        (([0.0], [1], [0]), "max_tokens is 0; it must be 1 or more"),
        (([-1.0], [1], [1]), "arrival_time is -1.0; it must be 0 or more seconds"),
        (([np.nan], [1], [1]), "arrival_time is nan"),
        (([1.0, 0.5], [1, 1], [1, 1]), "request '1' arrives at 0.5 s, the one before it at 1.0 s"),
        (([0.0], [1, 2], [1]), "give three of the same length"),
    ],
)
def test_what_can_be_no_traffic_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        mb.Traffic(*map(np.array, columns))


def test_lengths_are_integers():
    with pytest.raises(TypeError, match="prompt has float64 values"):
        mb.Traffic([0.0], [1.5], [1])


def test_a_prompt_of_text_has_no_known_length():
    with pytest.raises(ValueError, match="give prompts as lists of token ids"):
        mb.Traffic.of([mb.Request("hello")])

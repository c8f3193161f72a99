"""The table of claims: each row that can be run is, and none is tuned."""

from math import prod
from statistics import median

import pytest

from minibatch.simulator import anyscale, orca
from minibatch.simulator.claims import CORNERS, SEEDS, TABLE

# value, low, high. A change of these numbers changes what the course says.
EXPECTED = {
    "vLLM / naive batching, answers up to 1,536": (21.4, 19.1, 23.3),
    "vLLM / naive batching, answers up to 512": (6.6, 5.9, 7.16),
    "vLLM / naive batching, answers up to 128": (2.55, 2.27, 2.82),
    "vLLM / naive batching, answers up to 32": (1.45, 1.33, 1.6),
    "FasterTransformer / naive batching": (3.65, 3.6, 3.68),
    "TGI and Ray / naive batching": (16.5, 15.1, 17.6),
    "Orca / FasterTransformer, batch 1": (43.0, 26.9, 58.7),
    "Orca / FasterTransformer, batch 8": (22.2, 14.3, 28.9),
    "Orca with 32 slots / FasterTransformer, batch 1": (30.2, 23.7, 37.3),
}
ROWS = {claim.name: claim for claim in TABLE}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_row_is_what_its_presets_say(name):
    found = ROWS[name].simulate()
    value, low, high = EXPECTED[name]
    assert found.value == pytest.approx(value, rel=0.03)
    assert found.low == pytest.approx(low, rel=0.03)
    assert found.high == pytest.approx(high, rel=0.03)


def test_every_row_that_can_be_run_is_in_this_test():
    assert {claim.name for claim in TABLE if claim.run} == set(EXPECTED)
    assert len(ROWS) == len(TABLE)


def test_all_rows_have_the_same_efficiencies_and_no_other_preset_number():
    machines = {claim.machine for claim in TABLE if claim.run}
    assert machines == {anyscale.MACHINE, orca.MACHINE}
    assert {(m.efficiency, m.compute_efficiency) for m in machines} == {(0.75, None)}
    assert CORNERS == ((0.75, 0.75), (0.6, 0.9), (0.9, 0.6))


def test_the_factors_in_the_text_are_those_of_the_simulation():
    row = ROWS["vLLM / naive batching, answers up to 1,536"]
    found = [anyscale.factors(seed=seed) for seed in SEEDS]
    factors = [median(one[switch] for one in found) for switch in anyscale.SWITCHES]
    assert [f"{factor:.1f}" for factor in factors] == ["3.6", "2.0", "2.9"]
    assert all(f"{factor:.1f} (" in row.because for factor in factors)
    assert prod(factors) == pytest.approx(row.simulate().value, rel=0.03)


def test_a_row_prints_what_was_published_what_was_simulated_and_why():
    text = str(ROWS["FasterTransformer / naive batching"])
    assert text.startswith(
        "FasterTransformer / naive batching: published 4 · simulated 3.65 (3.6–3.68 for "
        "efficiencies 0.6–0.9) · because a batch runs until its own longest answer ends"
    )


def test_a_row_that_cannot_be_run_says_why():
    left_out = [claim for claim in TABLE if claim.run is None]
    assert len(left_out) == 6
    for claim in left_out:
        assert claim.simulate() is None
        assert f"published {claim.published} · not simulated · because {claim.because}" in str(
            claim
        )
    assert all(claim.settings and claim.source and claim.because for claim in TABLE)

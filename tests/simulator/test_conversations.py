"""The made-up hour of a chat service: what it has to look like, and what a pool finds of it."""

import numpy as np
import pytest

from minibatch.simulator.conversations import (
    LONGEST,
    PUBLISHED,
    PUBLISHED_REQUESTS,
    conversations,
    hit_rate,
    hits_by_size,
)


@pytest.fixture(scope="module")
def hour():
    return conversations()


def test_every_turn_begins_with_the_turn_before(hour):
    prompts = {request.request_id: request.prompt for request in hour}
    pairs = [
        (prompts[f"{session}.{int(turn) - 1}"], prompt)
        for name, prompt in prompts.items()
        for session, turn in [name.split(".")]
        if f"{session}.{int(turn) - 1}" in prompts
    ]
    assert len(pairs) > 300
    assert all(later[: len(earlier)] == earlier for earlier, later in pairs)


def test_lengths_are_about_the_published_ones_in_blocks_of_512(hour):
    lengths = [len(request.prompt) for request in hour]
    assert np.median(lengths) == pytest.approx(6_909 / 512, rel=0.25)
    assert np.quantile(lengths, 0.9) == pytest.approx(27_367 / 512, rel=0.1)
    assert np.mean(lengths) == pytest.approx(12_035 / 512, rel=0.1)
    assert max(lengths) <= LONGEST


def test_hits_are_about_the_published_ones(hour):
    sizes = tuple(round(size * len(hour) / PUBLISHED_REQUESTS) for size in PUBLISHED)
    sizes = (max(sizes[0], LONGEST), *sizes[1:])
    found = hits_by_size(hour, sizes)
    assert list(found.values()) == pytest.approx(list(PUBLISHED.values()), abs=0.025)


def test_an_endless_pool_finds_whatever_was_there_before(hour):
    """But for the last token, which is always computed."""
    seen, found = set(), 0
    for request in hour[:200]:
        found += sum(token in seen for token in request.prompt[:-1])
        seen.update(request.prompt)
    total = sum(len(request.prompt) for request in hour[:200])
    assert hit_rate(hour[:200], 20_000) == pytest.approx(found / total)


def test_the_same_seed_gives_the_same_hour(hour):
    again, other = conversations(), conversations(seed=1)
    assert again == hour
    assert other != hour

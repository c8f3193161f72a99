"""Fairness, on runs small enough to be added up by hand."""

import pytest
from test_metrics import completion

from minibatch.engine.fairness import fairness, tokens_by_client


def of(client, token_times):
    done = completion(token_times)
    object.__setattr__(done, "client", client)
    return done


def test_fairness_is_jain_s_index_of_what_clients_have_got_by_then():
    done = [of("x", [1.0, 2.0, 3.0, 4.0]), of("y", [3.0, 4.0]), of("x", [4.0, 5.0])]
    assert tokens_by_client(done) == {"x": 6, "y": 2}
    assert fairness(done) == pytest.approx(64 / (2 * 40))
    assert fairness(done, until=2.0) == pytest.approx(0.5)  # one of two has everything
    assert fairness([]) == 1.0

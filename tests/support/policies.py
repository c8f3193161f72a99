"""Every policy of the course, for tests of what holds under all of them."""

import pytest

import minibatch as mb


def every_policy(max_batch_size, max_batch_tokens, max_wait=0.05):
    """Runs a test once for each, with `make` as what makes one of this size."""
    policies = {
        "sequential": mb.Sequential,
        "static": lambda: mb.Static(max_batch_size),
        "dynamic": lambda: mb.Dynamic(max_batch_size, max_wait),
        "continuous": lambda: mb.Continuous(max_batch_size),
        "chunked": lambda: mb.Continuous(max_batch_size, max_batch_tokens),
    }
    return pytest.mark.parametrize("make", policies.values(), ids=policies)

"""With and without guesses, in turns: only steps count in which every slot decodes."""

import minibatch as mb
from minibatch import measure


def test_rates_are_of_full_steps_and_tell_acceptance(tiny_model):
    def requests(size):
        return [mb.Request([3, 4, 5], max_tokens=9, ignore_eos=True) for _ in range(size + 1)]

    itself = {"itself": lambda: mb.DraftModel(tiny_model)}
    found = measure.speculation_rates(tiny_model, itself, requests, batch_sizes=(1, 2), most_s=60)
    rates = found["itself"]
    assert [rate.batch_size for rate in rates] == [1, 2]
    for rate in rates:
        assert rate.acceptance_rate == 1
        assert rate.tokens_per_draft == 4  # 8 tokens after the first: 5, and 3 that are left
        assert rate.plain_tokens_per_s > 0
        assert rate.speed_up == rate.tokens_per_s / rate.plain_tokens_per_s

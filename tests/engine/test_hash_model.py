"""The graders' model without tensors: its tokens show which K and V a row attended to."""

import pytest
from hash_model import HashModel, alone

import minibatch as mb

PROMPTS = ([3, 9, 27], [40], [7] * 11, [9, 9], [60] * 5)


def engine(policy, num_blocks=99):
    return mb.Engine(HashModel(), policy, num_blocks=num_blocks, block_size=2)


def requests(max_tokens=6):
    return [mb.Request(prompt, max_tokens=max_tokens) for prompt in PROMPTS]


@pytest.mark.parametrize(
    ("policy", "num_blocks"),
    [(mb.Static(3), 99), (mb.Continuous(3), 12), (mb.Continuous(3, max_batch_tokens=4), 12)],
)
def test_an_answer_is_the_same_in_any_batch(policy, num_blocks):
    for completion in engine(policy, num_blocks).run(requests()):
        assert completion.token_ids == alone(completion.prompt_token_ids, 6)


def test_a_block_that_another_row_writes_changes_the_answer():
    shared = engine(mb.Continuous(2))
    for name, prompt in ("A", [3, 9, 27]), ("B", [40, 41]):
        shared.add(mb.Request(prompt, max_tokens=6, request_id=name))
    shared.step()
    first, second = shared.scheduler.running
    own, _ = shared.runner.run(shared.scheduler.plan(0.0))
    assert own == [alone([3, 9, 27], 2)[1]]
    second.block_table[0], second.num_computed_tokens = first.block_table[0], 0
    after_it, _ = shared.runner.run(shared.scheduler.plan(0.0))
    assert after_it != own

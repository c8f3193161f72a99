"""Whoever comes from another engine is told what a thing is called here."""

import inspect

import pytest

import minibatch as mb
from minibatch.core import other_names

MODEL = mb.PretendModel()


class Own(mb.Continuous):
    """A policy of a learner's, without a constructor of its own."""


class OwnToo(mb.Continuous):
    def __init__(self, share=0.5, **others):
        super().__init__(**others)
        self.share = share


@pytest.mark.parametrize(
    ("make", "ours"),
    [
        (lambda: mb.Request("x", max_new_tokens=5), "max_tokens"),
        (lambda: mb.Request("x", stop=["\n"]), "stop_token_ids"),
        (lambda: mb.Request("x", n=2), "several requests"),
        (lambda: mb.Request("x", best_of=2), "several requests"),
        (lambda: mb.Request("x", do_sample=True), "temperature"),
        (lambda: mb.Request("x", sampling_params=object()), "max_tokens, temperature"),
        (lambda: mb.Request(messages=[]), r"model\.chat"),
        (lambda: mb.Engine(MODEL, mb.Static(), max_num_seqs=4), "max_batch_size of the policy"),
        (lambda: mb.Engine(MODEL, mb.Static(), max_batch_size=4), "max_batch_size of the policy"),
        (lambda: mb.Engine(MODEL, mb.Static(), max_model_len=99), "load_model"),
        (lambda: mb.Engine(MODEL, mb.Static(), gpu_memory_utilization=0.9), "num_blocks"),
        (lambda: mb.Static(max_num_seqs=4), "max_batch_size"),
        (lambda: mb.Sequential(max_num_seqs=4), "max_batch_size"),
        (lambda: mb.Dynamic(batch_size=4), "max_batch_size"),
        (lambda: mb.Continuous(max_num_batched_tokens=4), "max_batch_tokens"),
        (lambda: Own(max_num_seqs=4), "max_batch_size"),
        (lambda: OwnToo(max_num_seqs=4), "max_batch_size"),
        (lambda: mb.load_model("wayfarer", torch_dtype="float32"), "dtype"),
    ],
)
def test_another_engine_s_name_is_answered_with_ours(make, ours):
    with pytest.raises(TypeError, match=f"^[A-Za-z_]+ has no argument [a-z_]+: .*{ours}"):
        make()


def test_a_name_that_nobody_has_is_left_to_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        mb.Request("x", colour="blue")


@pytest.mark.parametrize(
    ("names", "takes"),
    [
        (other_names.REQUEST, mb.Request),
        (other_names.ENGINE, mb.Engine),
        (other_names.POLICY, mb.Continuous),
        (other_names.POLICY, mb.Dynamic),
        (other_names.LOADING, mb.load_model),
    ],
)
def test_what_we_do_take_is_never_called_another_s(names, takes):
    ours = inspect.signature(takes).parameters
    assert {"max_tokens", "scheduler", "max_batch_size", "name"} & set(
        ours
    )  # not (*args, **kwargs)
    assert not set(names) & set(ours)


def test_a_policy_of_one_s_own_may_take_any_name():
    class Batches(mb.Static):
        def __init__(self, batch_size):
            super().__init__(max_batch_size=batch_size)

    assert Batches(batch_size=3).max_batch_size == 3

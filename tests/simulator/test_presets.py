"""Presets: what data sheets and model configs say of memory and of a step's time."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import make_sequence

import minibatch as mb
from minibatch.simulator import presets
from minibatch.simulator.presets import GB, Preset

OPT = Preset(presets.OPT_13B, presets.A100_40)
ORCA = Preset(presets.GPT3_175B, presets.A100_40, num_gpus=16)
ALL = [
    Preset(shape, gpu, num_gpus)
    for shape, num_gpus in (
        (presets.OPT_13B, 1),
        (presets.LLAMA_3_8B, 1),
        (presets.LLAMA_3_70B, 4),
        (presets.GPT3_175B, 16),
    )
    for gpu in (presets.A100_40, presets.A100_80, presets.H100_80, presets.H200_141)
]
STEPS = [(1, 0, 600, 0), (8, 0, 5_000, 0), (1, 512, 512, 131_328), (40, 512, 30_000, 131_328)]


@pytest.mark.parametrize(
    ("shape", "parameters", "kv_bytes"),
    [
        (presets.OPT_13B, 12.85e9, 819_200),
        (presets.LLAMA_3_8B, 8.03e9, 131_072),
        (presets.LLAMA_3_70B, 70.55e9, 327_680),
        (presets.GPT3_175B, 174.6e9, 4_718_592),
    ],
)
def test_a_model_is_as_large_as_its_papers_say(shape, parameters, kv_bytes):
    assert shape.parameters == pytest.approx(parameters, rel=1e-3)
    assert shape.kv_bytes_per_token == kv_bytes


def test_the_pool_is_what_the_weights_leave_of_nine_tenths():
    left = 0.9 * 40 * GB - OPT.shape.memory
    assert left - 819_200 < OPT.pool_tokens * 819_200 <= left
    assert OPT.pool_tokens == 12_571
    assert OPT.num_blocks == 12_571 // 16


@pytest.mark.parametrize("preset", ALL, ids=lambda p: f"{p.shape.name} {p.roof.name}")
@pytest.mark.parametrize("step", STEPS)
def test_a_step_takes_the_time_of_its_roof_at_the_efficiency(preset, step):
    roof = preset.roof.time(preset.cost(*step))
    assert preset.seconds(*step) == pytest.approx(roof / 0.75)
    assert preset.at(0.6).seconds(*step) == pytest.approx(roof / 0.6)


def test_reading_and_computing_may_have_efficiencies_of_their_own():
    decode, prompt = STEPS[0], (1, 2048, 2048, 2048 * 2049 // 2)
    assert OPT.at(0.6, 0.9).seconds(*decode) == OPT.at(0.6).seconds(*decode)
    assert OPT.at(0.6, 0.9).seconds(*prompt) == OPT.at(0.9).seconds(*prompt)


def test_a_machine_that_does_not_mix_computes_prompts_and_then_decodes():
    apart = replace(OPT, mixes=False)
    decodes, prompt = (40, 0, 20_000, 0), (1, 512, 512, 131_328)
    both = (41, 512, 20_512, 131_328)
    total = apart.seconds(*decodes) + apart.seconds(*prompt)
    assert apart.seconds(*both) == pytest.approx(total, rel=2e-3)
    assert OPT.seconds(*both) < 0.75 * total
    assert apart.seconds(*decodes) == OPT.seconds(*decodes)


def test_it_is_the_time_of_prefill_first_by_the_engine():
    traffic = mb.Traffic(np.zeros(40), np.full(40, 512), np.arange(1, 161, 4))
    apart = mb.simulate(mb.Continuous(8), traffic, replace(OPT, mixes=False))
    engine = mb.simulate(mb.PrefillFirst(8), traffic, OPT)
    assert (apart.path, engine.path) == ("fast", "engine")
    assert apart.makespan_s == pytest.approx(engine.makespan_s, rel=0.02)


def test_one_row_waits_for_the_weights_and_a_long_prompt_for_arithmetic():
    assert OPT.seconds(1, 0, 1, 0) == pytest.approx(
        2 * OPT.shape.weights / 1.555e12 / 0.75, rel=1e-3
    )
    prompt = OPT.cost(1, 2048, 2048, 2048 * 2049 // 2)
    assert prompt.flops / 312e12 > (prompt.weight_bytes + prompt.kv_bytes) / 1.555e12


def test_tables_that_are_looked_up_take_memory_but_no_time():
    shape = presets.LLAMA_3_8B
    assert shape.memory // 2 - shape.weights == 128_256 * 4096


def test_gpus_share_the_work_of_a_step_and_stages_wait_for_one_another():
    alone = Preset(presets.LLAMA_3_8B, presets.H100_80).seconds(1, 0, 100, 0)
    four = Preset(presets.LLAMA_3_8B, presets.H100_80, num_gpus=4).seconds(1, 0, 100, 0)
    assert alone == pytest.approx(4 * four)
    staged = Preset(presets.GPT3_175B, presets.A100_40, num_gpus=16, stages=2)
    assert staged.seconds(1, 0, 100, 0) == pytest.approx(2 * ORCA.seconds(1, 0, 100, 0))
    assert staged.pool_tokens == ORCA.pool_tokens


def test_a_preset_prices_a_plan_for_a_clock():
    sequence = make_sequence(num_prompt_tokens=99)
    plan = mb.StepPlan([mb.Row(sequence, 99)])
    assert OPT(plan) == OPT.seconds(1, 99, 99, 99 * 100 // 2)


def test_the_fast_simulator_takes_a_preset_and_agrees_with_the_engine():
    traffic = mb.Traffic(np.zeros(12), np.full(12, 100), np.arange(1, 13))
    fast = mb.simulate(mb.Continuous(4), traffic, OPT, num_blocks=40)
    slow = mb.simulate(mb.Continuous(4), traffic, lambda plan: OPT(plan), num_blocks=40)
    assert (fast.path, slow.path) == ("fast", "engine")
    assert np.array_equal(fast.finish, slow.finish)


def test_a_model_that_does_not_fit_is_refused_with_its_numbers():
    with pytest.raises(ValueError, match=r"Llama-3-70B needs 141 GB .* offers 72 GB. Raise num"):
        Preset(presets.LLAMA_3_70B, presets.H100_80)
    with pytest.raises(ValueError, match=r"efficiency is 1.2; give a number above 0"):
        OPT.at(1.2)
    with pytest.raises(ValueError, match=r"efficiency is 0; give a number above 0"):
        OPT.at(0.75, 0)
    with pytest.raises(ValueError, match=r"4 GPUs cannot be divided into 3 equal stages"):
        Preset(presets.LLAMA_3_70B, presets.A100_80, num_gpus=4, stages=3)

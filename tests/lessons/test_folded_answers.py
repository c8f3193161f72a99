"""What a lesson folds away as the answer does what the lesson says of it."""

import json
import re
from pathlib import Path

import minibatch as mb

LESSONS = Path(__file__).parents[2] / "lessons"


def folded_code(lesson, cell_id):
    """The Python in the <details> of a cell."""
    cells = json.loads((LESSONS / lesson).read_text(encoding="utf-8"))["cells"]
    (text,) = ["".join(cell["source"]) for cell in cells if cell["id"] == cell_id]
    (code,) = re.findall(r"<details>.*```python\n(.*?)```.*</details>", text, re.DOTALL)
    return code


def num_steps(policy):
    engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(1.0))
    engine.run(mb.workload.agents(mb.PretendModel(), n=12, prompt_scale=0.1))
    return len(engine.trace.steps), engine.trace


def test_leaving_and_joining_at_once_takes_200_steps_and_leaving_alone_saves_none():
    space = {"mb": mb}
    exec(folded_code("02_static_batching.ipynb", "at-once-answer"), space)
    both = space["AtOnce"]
    steps, trace = num_steps(both(8))
    assert (num_steps(mb.Static(8))[0], steps) == (320, 200)
    (joined,) = [row for row in trace.steps[20].rows if row.request_id == "A2"]
    assert joined.slot == 0
    assert {row.num_padding_tokens for row in trace.steps[20].rows} == {0, 79}

    class LeavesAtOnce(mb.Static):
        retire = both.retire

    steps, trace = num_steps(LeavesAtOnce(8))
    assert steps == 320
    assert not any(row.kind == "padding" for step in trace.steps for row in step.rows)

"""What a lesson folds away as the answer does what the lesson says of it."""

import json
import re
from pathlib import Path

import nbformat
import pytest

import minibatch as mb
from minibatch.course.site.cells import cells

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


def shown_code(lesson):
    """(source, cell on the site) of every code cell of a lesson."""
    notebook = nbformat.read(LESSONS / lesson, as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    shown = [cell for cell in cells(notebook, LESSONS, str) if cell.code or cell.asks]
    return list(zip(sources, shown, strict=True))


@pytest.mark.parametrize("name", ["stride", "deal", "shuffle", "banks", "ahead", "waves", "join"])
def test_everything_between_a_question_about_kernels_and_its_answer_waits_for_the_guess(name):
    code = shown_code("06_a_paged_attention_kernel.ipynb")
    (asked,) = [i for i, (_, cell) in enumerate(code) if cell.asks == name]
    answer = re.compile(rf"(\bguess=|\bsaid\()[\"']{name}[\"']")
    last = max(i for i, (source, _) in enumerate(code) if answer.search(source))
    assert [cell.answers for _, cell in code[asked + 1 : last + 1]] == [name] * (last - asked)

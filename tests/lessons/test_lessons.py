"""Every lesson runs from top to bottom in a fresh kernel, without a model hub."""

import copy
import html
import json
import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from transformers import LlamaConfig, LlamaForCausalLM

LESSONS = Path(__file__).parents[2] / "lessons"


def committed(path):
    """The lesson as committed: a learner may have run and changed the file itself."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8")
    return path.read_text(encoding="utf-8") if shown.returncode else shown.stdout


@pytest.fixture(scope="module")
def run_lesson():
    """Executes a lesson, every cell so many times in a row; returns the text of all it showed."""
    done = {}

    def run(name: str, times: int, **variables: str) -> str:
        key = name, *variables.values()
        if key not in done:
            notebook = nbformat.reads(committed(LESSONS / name), as_version=4)
            notebook.cells.append(nbformat.v4.new_code_cell(ON_REQUEST.get(name, "")))
            notebook.cells = [copy.deepcopy(cell) for cell in notebook.cells for _ in range(times)]
            client = NotebookClient(
                notebook,
                timeout=240,
                kernel_name="python3",
                resources={"metadata": {"path": str(LESSONS)}},
            )
            offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
            solved = {"MINIBATCH_EXERCISES": str(LESSONS.parent / "solutions")}
            client.execute(env={**os.environ, **offline, **solved, **variables})
            done[key] = " ".join("\n".join(_texts(notebook)).split())
        return done[key]

    return run


def _texts(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            alt = re.search(r' alt="([^"]*)"', data.get("text/html", ""))
            if alt:
                yield html.unescape(alt[1])
            yield output.get("text") or data.get("text/markdown") or data.get("text/plain", "")


# What a learner starts with a button.
ON_REQUEST = {"04_continuous_batching.ipynb": "serve_fifty()"}

# Counts only: steps, rows, tokens, bytes. Seconds are for the learner's eyes.
FINDINGS = {
    "00_start_here": [
        "4,951,296 parameters in 6 layers,",
        "the engine took 78 steps",
        "765 tokens in",
        "200 steps, no padding rows, 52% of slots empty",
    ],
    "01_one_token_at_a_time": [
        "prefill: 1,300 tokens in",
        "decode: 199 tokens in",
        "For dinner in Marrakesh, send Rosa to Chez Lalla: 21 euros.",
        "6,144 bytes a token; H's prompt: 8.0 MB",
        "the weights: 19.8 MB = 3,224 tokens",
        "765 steps for 765 tokens",
        "This is yours: greedy_decode from",
        "20 tokens in",
    ],
    "02_static_batching": [
        "3 of 3 tokens are right with padding on the left",
        "1 of 3 tokens are right with padding on the right",
        "200 steps, 1,600 rows, 765 of them yield a token: 47.8%. Padding: 52.2%",
        "at step 100, 3 of 8 are still answering",
        "A's slot: 180 of 200 steps are padding, 90%",
        "the first step computed 10,400 tokens, 2,350 of them padding: 22.6%",
        "rows that yield a token: 47.8%",
        "the first eight: 5.0 s, 153 tokens/s",
        "the ninth waits 5.0 s, first word after 5.025 s",
        "This is yours: MyStatic from",
        "The same plan, step for step",
    ],
    "03_dynamic_batching": [
        "24 requests in 3.0 s",
        "quiet: first tokens after",
        "Static(8) 810 steps, 53.0% of rows useful",
        "Dynamic(8, max_wait=0.5) 805 steps, 51.6% of rows useful",
        "This is yours: MyDynamic from",
        "The same plan, step for step",
    ],
    "04_continuous_batching": [
        "553 of them padding",
        "the same next tokens: True",
        "B: Stella can have a gluten-free … D: 8 days in Lisbon for Ruben: / Day …",
        "B: Stella can have a gluten-free … D: 8 days in Kraków for Ruben. …",
        "Sequential takes 765 steps",
        "Static takes 200 steps",
        "Dynamic takes 200 steps",
        "Continuous takes 200 steps",
        "the same 765 tokens from all four",
        "200 steps, no padding rows, 52% of slots empty",
        "steps: Static(8) 1,245, Continuous(8) 710",
        "rows that yield a token: Static(8) 48%, Continuous(8) 100%",
        "slots with a row: Static(8) 97%, Continuous(8) 82%",
        "Fifty at random: 66% of the slots on average",
        "Static 765 tokens in 5.0 s = 153 tokens/s, 8 requests done,",
        "the ninth's first token after 5.025 s",
        "Continuous 1,600 tokens in 5.0 s = 320 tokens/s, 16 requests done,",
        "the ninth's first token after 0.525 s",
        "80 requests: 160 steps static, 160 continuous",
        "steps: Continuous 320, ShortestPromptFirst 395, LongestAnswerFirst 265",
        "D: 8 days in Lisbon for Ruben: / Day 1: Alfama costs 52 euros a night",
        "F: Within Samir's limit of 240 euros in Marrakesh: / Day 1: Alfama by tram 28",
        "10 of 50 were served.",
        "This is yours: MyContinuous from",
    ],
}


def test_every_lesson_s_findings_are_checked():
    assert sorted(FINDINGS) == [path.stem for path in sorted(LESSONS.glob("[0-9]*.ipynb"))]


@pytest.fixture(scope="module")
def times(pytestconfig):
    """How often each cell runs: twice in a row, since learners do that, unless time is short."""
    return 1 if "not full" in pytestconfig.getoption("markexpr") else 2


IN_SHORT = ("00_start_here", "04_continuous_batching")  # the first one, and the newest


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in IN_SHORT else pytest.mark.full) for n in FINDINGS],
)
def test_a_lesson_finds_what_it_says(run_lesson, times, name):
    text = run_lesson(f"{name}.ipynb", times)
    assert [finding for finding in FINDINGS[name] if finding not in text] == []


@pytest.fixture(scope="module")
def smollm_folder(tmp_path_factory):
    """A folder with random weights in the shape of SmolLM2-135M, and no tokenizer."""
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        rope_theta=100000,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("smollm")
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_lesson_04_runs_on_another_model(run_lesson, smollm_folder):
    text = run_lesson(
        "04_continuous_batching.ipynb",
        times=1,
        MINIBATCH_MODEL=str(smollm_folder),
        MINIBATCH_EXERCISES=str(smollm_folder),  # where no exercise is: nothing is solved yet
    )
    assert "No exercise file defines MyContinuous (any more); this is Continuous instead." in text
    assert "Sequential 102 steps" in text
    assert "Static 44 steps" in text
    assert "Continuous 32 steps" in text
    assert "the same tokens from each" in text


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_is_committed_clean(path):
    notebook = json.loads(committed(path))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert "widgets" not in notebook["metadata"]
    for cell in notebook["cells"]:
        assert cell["id"]
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_picture_has_a_file_and_alt_text(path):
    text = path.read_text(encoding="utf-8")
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text):
        assert len(alt) > 20
        assert (LESSONS / target).is_file()

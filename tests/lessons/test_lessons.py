"""Every lesson runs from top to bottom in a fresh kernel, without a model hub."""

import copy
import html
import json
import os
import re
from pathlib import Path

import nbformat
import pytest
import torch
from committed import committed
from nbclient import NotebookClient
from transformers import LlamaConfig, LlamaForCausalLM

LESSONS = Path(__file__).parents[2] / "lessons"


@pytest.fixture(scope="module")
def run_lesson():
    """Executes a lesson, every cell so many times in a row; returns the text of all it showed."""
    done = {}

    def run(name: str, times: int, **variables: str) -> str:
        key = name, *variables.values()
        if key not in done:
            notebook = nbformat.reads(committed(LESSONS / name), as_version=4)
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


# Counts only: steps, rows, tokens, bytes. Seconds are for the learner's eyes.
FINDINGS = {
    "00_start_here": [
        "4,951,296 parameters, contexts of up to 2,048 tokens",
        "A pass for two takes",
        "One after another: 96 steps",
        "Together: 78 steps, 38% of slots empty",
        "765 passes for 8 answers",
        "Together: 26% of the passes,",
        "200 steps, 52% of slots empty",
    ],
    "01_one_token_at_a_time": [
        "pass 1: A 800 pass 2: A 1 pass 3: A 1",
        "('For dinner in Marrakesh, send', 'length')",
        "1,300 tokens read in 1 pass, 199 written in 199",
        "For dinner in Marrakesh, send Rosa to Chez Lalla: 21 euros.",
        "the same 20 tokens, ",
        "This is yours: kv_bytes_per_token from",
        "6,144 bytes a token, 8.0 MB for H's prompt; the memory of all weights holds 2.5 such",
        "For. # Hotel Colibrí # Hotel Colibrí",
        "1 of 20 tokens as before",
        "64 tokens of context: 64 rows take",
        "passes by the number of their rows: {1: 765}",
        "This is yours: greedy_decode from",
        "20 tokens: For dinner",
    ],
    "02_static_batching": [
        "This is yours: pad_batch from",
        "15 of 52 places hold padding: 29%",
        "Padded on the right, read at the last place: 1 of 4 are right.",
        "no mask The best months for Lisbon are April to June.",
        "Without a mask 2 of 4 answers change.",
        "without position ids of their own: 0 of 4.",
        "11 steps, 21 of 29 rows yield a token",
        "step 180 · · · · · · · H",
        "200 steps, 1,600 rows",
        "47.8% of rows yield a token",
        "This is yours: padding_share from",
        "A's slot: 180 of 200 rows are padding, 90%",
        "step 100: 3 of 8 rows yield a token, 37.5%",
        "An eighth of the tokens, for ",
        "Your AtOnce still does what Static does.",
        "200 steps instead of 765,",
        "8,050 tokens; answers",
        "10,400 tokens, 2,350 of them padding",
        "the first eight: 5.0 s, 153 tokens/s",
        "the ninth waits 5.0 s, first word after 5.025 s",
        "AtOnce: 320 steps",
        "This is yours: MyStatic from",
        "The same plan, step for step",
    ],
    "03_dynamic_batching": [
        "s: a batch leaves with H",
        "The first batch holds 1 request.",
        "independent, load 0.3: from 1.5 s: later in 30 of 30 streams",
        "bursts, load 0.3: 0.5 s: sooner in 30 of 30 streams",
        "bursts, load 0.3: 99th percentile: 4.93 s without a window, 0.53 s at best",
        "load 0.7, a window of 4 s: sooner in 7 of 30 streams",
        "load 0.9, a window of 2 s: sooner in 13 of 30 streams",
        "Newest: the first batch leaves after 9.70 s",
        "bursts, load 0.3: MyRule: sooner than no window in 30 of 30",
        "This is yours: MyDynamic from",
        "The same agents leave at the same times",
    ],
    "04_continuous_batching": [
        "553 of them padding",
        "the same next tokens: True",
        "B: Stella can have a gluten-free … D: 8 days in Lisbon for Ruben: / Day …",
        "B: Stella can have a gluten-free … D: 8 days in Kraków for Ruben. …",
        "1 of 2 answers changed.",
        "The same tokens from all four. Steps: Sequential 765, Static 200, Dynamic 200, "
        "Continuous 200 Sooner under Continuous than under Static, in steps: 0 of 8.",
        "Continuous: 200 steps, no padding rows, 52% of slots empty",
        "710 steps instead of 1,245",
        "all slots busy up to step 525, 82% of the slots over the whole run",
        "Static 765 tokens in 5.0 s = 153 tokens/s, 8 requests done,",
        "the ninth's first token after 5.025 s",
        "Continuous 1,600 tokens in 5.0 s = 320 tokens/s, 16 requests done,",
        "the ninth's first token after 0.525 s",
        "Continuous completes 16.",
        "This is yours: MyContinuous from",
        "steps: Continuous 320, ShortestPromptFirst 395, LongestAnswerFirst 265",
        "10 of 50 were served.",
    ],
    "05_paged_kv_blocks": [
        "on average 325 of 4,096 places hold K and V",
        "reserve the maximum: 8% of what is taken holds tokens; 2,395 steps",
        "blocks of 16: 93.8 % hold tokens",
        "reserve the maximum at most 2 in memory; all fifty served in 2,395 steps",
        "blocks of 16 at most 39 in memory; all fifty served in 319 steps",
        "blocks of 16: 28 preemptions, and 3,116 tokens computed again, beside the 9,635 that",
        "told, first fit: 230 steps in which someone waits though enough is free",
        "blocks of 16: 0 steps in which someone waits though enough is free",
        "entry 4 of the table, offset 2 → block 11 of the pool, slot 46",
        "which names block 11; offset 2: slot 46.",
        "B: Milan can have dinner at Pod Dębem in Kraków for 19 euros.",
        "0 of 3 get their own answer; no error",
        "64 of 64 blocks are free; in block 0, 0 of 16 tokens have lost their K and V",
        "The same tokens from all four.",
        "the same tokens from all: True",
        "Blocks of 16: 4 % empty, 6 entries per 100 tokens, 98 % of the prefix shared",
        "63 blocks held; 59 of them by several. Without sharing: 240.",
        "tokens computed for C and its forks in that step: [1, 6, 6, 6]",
        "with the check: request 'F' would write into block",
        "temperature 0: 0 of 3 answers changed",
        "temperature 2: 2 of 3 answers changed",
        "Continuous: all 5 served",
        "KeepsTable: 2 of 5 served, then: block 28 is given back more often than it is held (1)",
        "This is yours: MyPool from",
    ],
    "06_a_paged_attention_kernel": [
        "stride 8: the lanes ask for 1,024 bytes",
        "own_stretch asks for 8,192 bytes, like_cards for 1,024 8 times as many",
        "line 10, keys: 32 of 32 lanes use 128 bytes and ask for 1,024: 12.5% is used",
        "keys: 4,096 bytes used of 4,096 touched, ×1.0 by thread blocks ×8.0 within each",
        "query: 4,096 bytes used of 4,096 touched, ×1.0 by thread blocks ×148.0 within each",
        "8 of 32 lanes use 16 bytes and ask for 128: 12.5% is used",
        "copy_keys: 4 thread blocks of 64 threads no faults 11,008 elements of keys never written",
        "key_cache: 37,888 bytes used of 37,888 touched, ×1.0 by thread blocks ×8.0 within each",
        "key_cache: 37,888 bytes used of 37,888 touched, ×2.0 by thread blocks ×8.0 within each",
        "None ································ ·✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗ 0 ·········",
        "Wrong at least once without the second: 32 of 32",
        "31 of 32 elements are wrong",
        "line 14 for the second time, thread 1 reads it in line 18 for the first time",
        "which works for row 0, reads key_cache[0, 0, 0, 0], a slot of row 1",
        "thread 63 reads it in line 7, and no barrier comes between",
        "both: 0 of 128 numbers are right",
        "output is wrong first at row 0, head 0, element 0: nan",
        "the lab complains about 1 of 2",
        "in one walk 1.101229, with the maximum known 1.101229",
        "After tile 1:",
        "scores times 0.1: right scores times 500: wrong, nan in lane 0",
        "rows of 32, passes: 32 rows of 33, passes: 1",
        "32 of 32 lanes meet 1 bank in 32 passes",
        "Round 2: element 0: thread 0 writes it in line 14, thread 1 reads it in line 18",
        "a thread per head ×8.0. a thread block per head ×9.0. a warp per token ×2.0. "
        "6.2: yours ×2.0. per KV head, V for each head ×1.5. 6.3: yours ×1.0.",
        "6% is used",
        "in 4 parts each: 39%; in chunks of at most 1,024 tokens: 96%",
        "In chunks of 8, row 0 is off by 0.",
        "This is yours: plan_chunks from",
        "This is yours: decode from",
        "decode answers 8 of 8 agents with the engine's own tokens",
        "window 6: as in torch, 1.7 from no window; 4 of 8 agents get other tokens",
        "window 2: as in torch, 2.8 from no window; 8 of 8 agents get other tokens",
        "With a window of 6, 4 of 8 agents get other tokens",
    ],
    "07_prefix_caching": [
        "A and H share 670 tokens; all eight share 670.",
        "5,360 of 8,050 prompt tokens are the manual: 67%.",
        "at the beginning of a prompt: d5d46b3a, not f6d8c76c",
        "D: 928 of 1100 tokens found; 172 computed",
        "The manual's 670 tokens: 656 of them fill blocks.",
        "5,776 of 8,050 prompt tokens were there already",
        "B found 656; diverged, at token 670: '# Money",
        "yours found 672; diverged, at token 676: 'passport:",
        "0 tokens found: A: never seen B: computed now",
        "784 of 800 found: partial block",
        "block 3 has 2 holders; 41 blocks have several",
        "turn 4: 1024 of 1048 tokens found",
        "the last turn finds 98 % of its prompt; the same answers both times",
        "4% of the tokens found with 1,066 blocks, 35% with 301,781",
        "trunk first 0 of 7 find the manual; B: 0 tokens, evicted",
        "A's blocks after one stranger: ····███",
        "tail first 7 of 7 find the manual; B: 656 tokens, diverged",
        "███····",
        "ids compared: 8 of 8 answers right",
        "hash trusted: 2 of 8",
        "D trusted 8 days in Lisbon for Rosa:",
        "Budget: Y finds 0 tokens No. With a German passport,",
        "TooEarly: request 'X' would write into block 0, which 2 hold",
        "Unchecked: Y finds 32 tokens No. With a British passport,",
        "P finds 0 tokens, Q 0, S 656",
        "another temperature: 784 of 800 found",
        "the time of day in front: 0 of 80",
        "This is yours: block_hashes from",
        "500 full blocks, 139 different ones; D shares 58 blocks with B",
    ],
    "08_chunked_prefill": [
        "7 answers of 60 tokens, and a prompt of 1,300 tokens",
        "prefill first: the longest wait for a next token is",
        "usually a token comes every ",
        "7 of them are the hitch",
        "ms; its rows: L: 1,300",
        "ms; its rows: C: 1, D: 1, E: 1, F: 1, H: 1, D2: 1, E2: 1, L: 1,300",
        "step 21: 7 decodes and 121 tokens of L",
        "step 31: 7 decodes and 90 tokens of L 11 chunks",
        "MyBudget(8, 128): the longest wait for a next token is",
        "the same in chunks: True",
        "after chunk 9, 128 tokens forgotten: 14 days in Athens for Hugo:",
        "after chunk 10, 16 tokens forgotten: Hugo has been to Marrakesh",
        "Over budgets of 32 to 2,048 tokens a step.",
        "a budget of 64: 106 steps,",
        "a budget of 2,048: 24 steps,",
        "FIRST_COME_FIRST_SERVED: S's prompt is computed after 19 steps",
        "EQUAL_PROGRESS: S's prompt is computed after 2 steps",
        "EQUAL_PROGRESS L1 0.475 s L2 0.425 s S 0.050 s",
        "a cap of 16 L1 0.325 s L2 0.475 s S 0.125 s",
        "a cap of 64 L1 0.475 s L2 0.400 s S 0.425 s",
        "capped_shares, a cap of 16: S's prompt is computed after 5 steps",
    ],
    "09_out_of_memory_out_of_time": [
        "newest: 176 tokens are computed twice, after 3 preemptions",
        "most computed: 328 tokens are computed twice, after 3 preemptions",
        "least computed 9,933, newest 11,106, SGLang's 11,958, random 12,759, oldest 15,045, most "
        "computed 16,252, yours 9,933",
        "the published order: the same here",
        "least computed wastes 11% less than newest, 39% less than most computed",
        "in 6 of 8 crowds it wastes less than newest",
        "without the guard: 0 tokens generated in 3,000 steps, 176 preemptions",
        "with the guard: 20 tokens generated in 250 steps, 15 preemptions",
        "Best in steps: MAX_UTILIZATION; seconds: watermark of 10%",
        "GUARANTEED_NO_EVICT: steps 2,337, seconds 19.1, preemptions 0.0, % computed twice 0.0",
        "MAX_UTILIZATION: steps 1,697, seconds 17.7, preemptions 43.9, % computed twice 42.2, "
        "mean TTFT, seconds 6.9, longest ITL, seconds 1.90",
        "watermark of 10%: steps 1,787, seconds 16.8, preemptions 10.4, % computed twice 11.8",
        "falling ratio: steps 1,927, seconds 17.2, preemptions 3.2, % computed twice 3.6",
        "This is yours: whom_to_preempt from",
        "This is yours: may_begin from",
        "2,503 steps, 0 preemptions 1,812 steps, 0 preemptions",
        "24% of the pool is promised and empty",
        "ValueError: request 'H' needs 1,400 + 20 tokens = 1,420; this model",
        "ValueError: request 'H' needs 1,400 + 20 tokens = 89 blocks",
        "strict priority: patient waits 4.02 s, every other request at most 0.03",
        "a priority that ages: patient waits 0.61 s, every other request at most 0.13",
        "max_waiting=8: median TTFT 1.8 s, the longest 3.6 s; 85 of 600 refused",
        "no limit 33% of all are served in time; 315 tokens/s, 98% of the slots busy",
        "deadline of 3 s 86% of all are served in time; 311 tokens/s",
        "QueueFull: request 'B' is refused: 400 tokens wait, and it brings 200",
        "This is yours: whom_to_refuse from",
        "6 requests 235 of 300 in time limit of 12,000 tokens 274 of 300 in time yours 281 of 300",
        "This is yours: who_is_next from",
        "yours: patient waits 0.61 s",
    ],
    "10_speculative_decoding": [
        "Junior 737,920 parameters, 2 layers, 2,048 token ids",
        "G: 59 tokens in 15 steps: 44 of 60 draft tokens accepted",
        "step 2 A 0/4 B 4/4 C 4/4",
        "greedy: 0 of 8 answers change",
        "drawn at temperature 0.9: the same tokens, ",
        "A believed: For a vegetarian dinner in Marrakesh",
        "0 of 8 answers stay as they are.",
        "step 21: 134 blocks during the pass, 130 after it, for 130 tokens with K and V",
        "D's answer is the same; extra blocks after 20 steps: 0",
        "This is yours: expected_tokens from",
        "the guide: 2.36 tokens, 1.69 times as fast",
        "and what it forgot: 3.36 tokens, 2.40 times as fast",
        "600 of 642 draft tokens accepted; of those judged 98% were right",
        "4.62 tokens a step for each request; the formula says 4.78",
        "then the fee … is 40 euros, then",
        "prompt lookup 114 of 1185 draft tokens accepted, 1.37 tokens a step for each request",
        "prompt lookup pays ",
        "This is yours: propose from",
        "Careless α = 0.75, E = 3.05",
    ],
    "11_measuring_honestly": [
        "requests: 20 of 24 served",
        "s from sent, ",
        "100 requests: 0.10 to 0.35 s",
        "Simulated within ",
        "knee at ",
        "Continuous(8), 64 blocks: up to ",
        "own_length 4.01 × continuous 1.95 × paged 2.94",
        "continuous 1.00 × paged 2.25 × own_length 10.21",
        "Continuous batching alone: 1.0 times",
        "All three, median of 20 draws of the lengths: 21.4 (20.2–22.1",
        "2 of 5 published ratios (diamond) are within the simulated range",
        "26 to 43 × against a batch of 1. 10 to 24 × against a batch of 8",
        "FasterTransformer / naive batching: published 4 ×, simulated 3.65 ×",
        "for Simulated(1,000,000 requests, 8,835,082 steps, path='fast')",
        "800,000 of 800,000 met TTFT ≤ 1 s",
        "The engine ran: the fast simulator knows Continuous, Static, Sequential, and this is",
        "One engine: 27.4 (27.1–27.7, 96% confidence, 20 seeds) requests/s",
    ],
    "12_a_server": [
        "data: [DONE]",
        "steps for 138 tokens",
        "outside the engine's step",
        "From the hang-up to free blocks:",
        "200 requests in",
        "40 requests in",
        "overlapped: 5 steps in 40 ms; the model waits 0% of the time.",
        "one after another: 4 steps in 40 ms; the model waits 20% of the time.",
        "block 2 is free, and a step in flight still writes into it for 'A'",
    ],
    "13_more_than_one_engine": [
        "1 in 100 waits longer than: a queue each 24.4 s, one queue 13.4 s",
        "requests at each replica: [300 300 300 300]",
        "the busiest of 4 replicas has 3.",
        "least requests 0.06 0.43 0.14 1.62",
        "2 of 4 replicas used: [158 0 0 142] requests",
        "round robin 95%",
        "Worse than Random: Least requests from 400 ms; Power of two at no age tried",
        "report + sent since",
        "prompts 512, answers 64:",
        "10 Gbit/s 335.6 ms to move;",
        "TTFT ≤ 0.4 s, TPOT ≤ 0.04 s: mixed ",
        "slow to stop 77% of the cost, 5 replicas started",
        "Ray 2.60.0",
        "of 166 ended with an error",
        "low 5,787 requests/s at the peak:",
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
    assert "There is no MyContinuous of yours; this is Continuous instead." in text
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


def test_a_lesson_takes_as_many_minutes_as_the_list_says():
    listed = (LESSONS / "README.md").read_text(encoding="utf-8")
    for path in sorted(LESSONS.glob("[0-9]*.ipynb")):
        title = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        said = r"\*About (\d+) minutes(?:[^.]*, and (\d+) more for the exercises)?"
        minutes = re.search(said, title)
        row = re.search(rf"\({path.name}\) \| (\d+)(?: \+ (\d+))? \|", listed)
        assert minutes.groups() == row.groups(), path.stem

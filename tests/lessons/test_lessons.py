"""Every lesson runs from top to bottom in a fresh kernel, without a model hub."""

import copy
import html
import json
import os
import random
import re
from pathlib import Path

import nbformat
import pytest
import torch
from committed import committed
from legible import UNREADABLE
from transformers import LlamaConfig, LlamaForCausalLM

from minibatch.course.notebooks.run_notebook import Client

LESSONS = Path(__file__).parents[2] / "lessons"
SUPPORT = str(Path(__file__).parents[1] / "support")
TELL = f"__import__('sys').path.append({SUPPORT!r}); __import__('legible').tell()"


@pytest.fixture(scope="module")
def run_lesson():
    """Executes a lesson, every cell so many times in a row; returns the text of all it showed."""
    done = {}

    def run(name: str, times: int, **variables: str) -> str:
        key = name, *variables.values()
        if key not in done:
            notebook = nbformat.reads(committed(LESSONS / name), as_version=4)
            notebook.cells = [copy.deepcopy(cell) for cell in notebook.cells for _ in range(times)]
            notebook.cells.insert(0, nbformat.v4.new_code_cell(TELL))
            client = Client(
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
        "4,951,296 parameters; prompt and answer: up to 2,048 tokens",
        "A pass for two people takes",
        "One after another: 96 steps",
        "Together: 78 steps, 38 % of slots empty",
        "765 passes for 8 answers",
        "Together: 26 % of the passes,",
        "200 steps, 52 % of slots empty",
    ],
    "01_one_token_at_a_time": [
        "pass 1: A 800 pass 2: A 1 pass 3: A 1",
        "('For dinner in Marrakesh, send', 'length')",
        "1,300 tokens read in 1 pass, 199 generated in 199 passes",
        "For dinner in Marrakesh, send Rosa to Chez Lalla: 21 euros.",
        "the same 20 tokens, ",
        "This is yours: kv_bytes_per_token from",
        "6,144 bytes a token, 8.0 MB for H's prompt; K and V of 2.5 such prompts take as many",
        "For. # Hotel Colibrí # Hotel Colibrí",
        "Tokens that stay the same: 1 of 20",
        "Reading all weights takes ",
        "1 row: 4.5 ms. 32 rows: 5.7 ms. 256 rows: 14.5 ms.",
        "64 tokens of context: 64 rows take",
        "Both are measured. One step of 8 rows takes ",
        "rows in a pass, and number of such passes: {1: 765}",
        "This is yours: greedy_decode from",
        "20 tokens: For dinner",
    ],
    "02_static_batching": [
        "This is yours: pad_batch from",
        "15 of 52 places hold padding: 29 %",
        "Padded on the right, read at the last place: 1 of 4 are correct.",
        "no mask The best months for Lisbon are April to June.",
        "Without a mask 2 of 4 answers change.",
        "but with positions that also count padding: 0 of 4 change.",
        "11 steps, 21 of 29 rows yield a token",
        "step 180 · · · · · · · H",
        "200 steps, 1,600 rows",
        "47.8 % of rows yield a token",
        "This is yours: padding_share from",
        "A's slot: 180 of 200 rows are padding, 90%",
        "step 100: 3 of 8 rows yield a token, 37.5%",
        "steps 182 to 200 give an eighth of the tokens and take ",
        "Your `AtOnce` does the same as `Static`.",
        "200 steps instead of 765,",
        "8,050 tokens; answers",
        "10,400 tokens, 2,350 of them padding",
        "the first eight: 5.0 s, 153 tokens/s",
        "the ninth waits 5.0 s, first token after 5.025 s",
        "AtOnce: 320 steps",
        "This is yours: MyStatic from",
        "The same plan, step for step",
    ],
    "03_dynamic_batching": [
        "s: a batch starts with H",
        "The first batch has 1 request.",
        "independent, load 0.3: A window of 1.5 s or more brings later first tokens in 30 of 30",
        "bursts, load 0.3: A window of 0.5 s brings earlier first tokens in 30 of 30 streams",
        "bursts, load 0.3: 99th percentile: 4.93 s without a window, 0.53 s at best",
        "A window of 0.25 s or more brings less machine time in 30 of 30 streams",
        "load 0.7, window 4 s: first tokens sooner in 7 of 30 streams",
        "load 0.9, window 2 s: first tokens sooner in 13 of 30 streams",
        "Newest: the first batch starts after 9.70 s",
        "bursts, load 0.3: MyRule beats window 0 s: 30 of 30",
        "This is yours: MyDynamic from",
        "The same agents start at the same times",
    ],
    "04_continuous_batching": [
        "553 of 8 × 80 cells are padding",
        "the same next tokens: True",
        "No prompt reads another: 13,365 of 52,900 pairs are allowed",
        "D leaves, E joins; B leaves, F joins: 7 steps, no padding rows",
        "B: Stella can have a gluten-free … D: 8 days in Lisbon for Ruben: / Day …",
        "B: Stella can have a gluten-free … D: 8 days in Kraków for Ruben. …",
        "1 of 2 answers changed.",
        "All four give the same tokens. Steps: Sequential 765, Static 200, Dynamic 200, "
        "Continuous 200 Answers that end in an earlier step under Continuous: 0 of 8.",
        "Continuous: 200 steps, no padding rows, 52 % of slots empty",
        "710 steps instead of 1,245",
        "all slots are busy up to step 525; over the whole run, 82% of the slots are",
        "Static 765 tokens in 5.0 s = 153 tokens/s, 8 requests done;",
        "the ninth request's first token came after 5.025 s",
        "Continuous 1,600 tokens in 5.0 s = 320 tokens/s, 16 requests done;",
        "the ninth request's first token came after 0.525 s",
        "request 9 joins in step 201, request 16 in step 201",
        "request 9 joins in step 21, request 16 in step 121",
        "Continuous completes 16 requests. It gives 2.09 times the tokens of Static.",
        "Continuous gives 1.75 times as many tokens a step.",
        "This is yours: MyContinuous from",
        "steps: Continuous 320, ShortestPromptFirst 395, LongestAnswerFirst 265",
        "10 of 50 agents were served.",
    ],
    "05_paged_kv_blocks": [
        "on average 325 of 4,096 places hold K and V",
        "reserve the maximum: 8 % of the allocated memory holds tokens",
        "blocks of 16: 93.8 % of the pool holds tokens",
        "reserve the maximum at most 2 requests in memory; all fifty are served in 2,395 steps",
        "blocks of 16 at most 39 requests in memory; all fifty are served in 319 steps",
        "blocks of 16: 28 preemptions; 3,116 tokens are computed again, in addition to the "
        "9,635 tokens that all fifty need",
        "oracle, first fit: 230 steps in which a request waits although enough memory is free",
        "blocks of 16: 0 steps in which a request waits although enough memory is free",
        "entry 4 of the table, offset 2 → block 11 of the pool, slot 46",
        "which names block 11; offset 2, so slot 46.",
        "B: Milan can have dinner at Pod Dębem in Kraków for 19 euros.",
        "0 of 3 get the same answer; no error is raised",
        "64 of 64 blocks are free; in block 0, 0 of 16 tokens have lost their K and V",
        "All four engines generate the same tokens.",
        "All block sizes give the same tokens: True",
        "Blocks of 16: 4 % is empty, 98 % of the prefix can be shared",
        "63 blocks have holders; 59 of them have several. Without sharing: 240 blocks.",
        "tokens computed for C and its forks in that step: [1, 6, 6, 6]",
        "with the check: request 'F' would write into block",
        "temperature 0: 0 of 3 answers changed",
        "temperature 2: 2 of 3 answers changed",
        "Continuous: all 5 requests are served",
        "KeepsTable: 2 of 5 requests are served; then: block 28 is freed more often than "
        "it is held (1)",
        "This is yours: MyPool from",
        "51.38 GiB / (16 · 131,072 bytes) is 26,306 blocks",
        "GPU KV cache size: 420,896 tokens",
        "Maximum concurrency for 16,000 tokens per request: 26.31x",
        "Llama-3-8B on 1 × H100: BF16 426,784 tokens, FP8 488,050 tokens",
        "Llama-3-70B on 1 × H100: BF16 - tokens, FP8 4,413 tokens",
        "Llama-3-70B on 8 × H100: BF16 1,327,186 tokens, FP8 1,542,499 tokens",
        "Llama-3-70B, a step of 32 rows: 83.9 MB in 160 all-reduces",
    ],
    "06_a_paged_attention_kernel": [
        "stride 8: the reads ask for 1,024 bytes",
        "own_stretch asks for 8,192 bytes, like_cards for 1,024 8 times as many bytes",
        "line 10, keys: 8 of 32 lanes use 32 of the 256 bytes asked for: 12.5 %",
        "keys: 256 bytes used of 256 touched; requests per sector: 8.0",
        "query: 4,096 bytes used of 4,096 touched; requests per sector: 148.0",
        "8 of 32 lanes use 16 of the 128 bytes asked for: 12.5 %",
        "copy_keys: 4 thread blocks of 64 threads no faults "
        "11,008 elements of the array keys were never written",
        "key_cache: 37,888 bytes used of 37,888 touched; requests per sector: 8.0",
        "thread block per head: 16.0 = 2.0 thread blocks × 8.0 2.0 = 2.0 thread blocks × 1.0",
        "None ································ ·✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗ 0 ·········",
        "Without the second barrier, 32 of 32 are wrong at least once",
        "31 of 32 elements are wrong",
        "line 14 for the second time, thread 1 reads it in line 18 for the first time",
        "which works for row 0, reads key_cache[0, 0, 0, 0], a slot of row 1",
        "thread 63 reads it in line 7, and no barrier is between them",
        "both: 0 of 128 numbers are right",
        "output is first wrong at row 0, head 0, element 0: it is nan",
        "the lab finds a fault in 1 of 2 kernels",
        "sum, with a running maximum 1.101229, with a known maximum 1.101229",
        "After tile 1:",
        "scores times 0.1: right scores times 500: wrong, nan in lane 0",
        "rows of 32 numbers, passes: 32 rows of 33 numbers, passes: 1",
        "32 of 32 lanes meet 1 bank in 32 passes",
        "Round 2: element 0: thread 0 writes it in line 14, thread 1 reads it in line 18",
        "a thread per head ×8.0. a thread block per head ×9.0. a warp per token ×2.0. "
        "6.2: yours ×2.0. per KV head, V read for each head ×1.5. 6.3: yours ×1.0.",
        "6 % of the 132 multiprocessors' time is used",
        "with each row in 4 parts: 39 %; with chunks of at most 1,024 tokens: 96 %",
        "In chunks of 8 tokens, the largest error is 0.",
        "This is yours: plan_chunks from",
        "This is yours: decode from",
        "decode answers 8 of 8 agents with the engine's tokens",
        "window 6: within 2e-5 of torch; differs from no window by up to 1.7; "
        "4 of 8 agents get other tokens",
        "window 2: within 2e-5 of torch; differs from no window by up to 2.8; "
        "8 of 8 agents get other tokens",
        "With a window of 6 tokens, 4 of 8 agents get other tokens",
    ],
    "07_prefix_caching": [
        "A and H share 670 tokens; all eight share 670.",
        "5,360 of 8,050 prompt tokens are this shared part: 67%.",
        "at the beginning of a prompt, get d5d46b3a, not f6d8c76c",
        "D: 928 of 1100 tokens found; 172 computed",
        "Of the manual's 670 tokens, 656 fill blocks.",
        "5,776 of 8,050 prompt tokens were found in the cache",
        "B found 656 tokens; diverged, at token 670: '# Money",
        "yours found 672 tokens; diverged, at token 676: 'passport:",
        "0 tokens found: A: never seen B: computed now",
        "784 of 800 tokens found: partial block",
        "block 3 has 2 holders; 41 blocks have several holders",
        "turn 4: 1024 of 1048 tokens found",
        "the last turn finds 98 % of its prompt; the cache changes no answer",
        "The smallest pool finds 4 % of the prompt tokens, the largest 35 %",
        "trunk first 0 of 7 agents find the manual; B: 0 tokens, evicted",
        "trunk first: 4 overwritten, 46 free",
        "tail first 7 of 7 agents find the manual; B: 656 tokens, diverged",
        "tail first: 46 free, 4 overwritten",
        "ids compared: 8 of 8 answers are right",
        "hash trusted: 2 of 8 are right",
        "D trusted 8 days in Lisbon for Rosa:",
        "Budget: Y finds 0 tokens No. With a German passport,",
        "TooEarly: request 'X' would write into block 0, which 2 sequences hold",
        "Unchecked: Y finds 32 tokens No. With an American passport,",
        "S finds 656 tokens: Q still holds the manual's blocks",
        "after the stranger: 1 free, 41 overwritten, 42 Q",
        "S runs: 1 Q, 1 S, 40 overwritten, 41 Q and S",
        "another temperature: 784 of 800 tokens found",
        "the time of day in front: 0 of 80",
        "This is yours: block_hashes from",
        "500 full blocks, 139 different ones; D shares 58 blocks with B",
    ],
    "08_chunked_prefill": [
        "7 answers of 60 tokens, and a prompt of 1,300 tokens",
        "Llama-3-8B on 1 × H100: 512: 13 ms, 2,048: 43 ms, 8,192: 189 ms within 50 ms: a budget of "
        "2,368 (1,856 to 2,816)",
        "Llama-3-70B on 4 × H100: 512: 24 ms, 2,048: 98 ms, 8,192: 413 ms",
        "prompts first: the longest wait for a next token is",
        "usually a token comes every ",
        "7 of them are the pause",
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
        "first come, first served: S's prompt is computed after 19 steps",
        "equal shares: S's prompt is computed after 2 steps",
        "equal shares L1 0.475 s L2 0.425 s S 0.050 s",
        "16 0.325 s 0.475 s 0.125 s",
        "64 0.475 s 0.400 s 0.425 s",
        "capped_shares, a cap of 16: S's prompt is computed after 5 steps",
    ],
    "09_out_of_memory_out_of_time": [
        "newest: 176 tokens are recomputed",
        "most computed: 328 tokens are recomputed",
        "least computed 9,933, newest 11,106, SGLang's 11,958, random 12,759, oldest 15,045, most "
        "computed 16,252, yours 9,933",
        "the order of the rules is the published one",
        "first example: yes, 4 blocks needed. second example: no, 5 blocks needed.",
        "'least computed' wastes 11% less than 'newest', 39% less than 'most computed'",
        "in 6 of 8 crowds 'least computed' wastes less than 'newest'",
        "without the guard: 176 preemptions, 0 tokens generated",
        "with the guard: 15 preemptions, 20 tokens generated",
        "Best in steps: PromptOnly; seconds: Watermark, 10%",
        "ReserveMaximum: steps 2,337, seconds 19.1, preemptions 0.0, recomputed, % 0.0",
        "PromptOnly: steps 1,697, seconds 17.7, preemptions 43.9, recomputed, % 42.2, "
        "mean TTFT, seconds 6.9, longest ITL, seconds 1.90",
        "Watermark, 10%: steps 1,787, seconds 16.8, preemptions 10.4, recomputed, % 11.8",
        "Optimistic: steps 1,927, seconds 17.2, preemptions 3.2, recomputed, % 3.6",
        "This is yours: whom_to_preempt from",
        "This is yours: may_begin from",
        "2,503 steps, 0 preemptions 1,812 steps, 0 preemptions",
        "24% of the pool is promised and empty",
        "ValueError: request 'H' needs 1,400 + 20 tokens = 1,420; this model",
        "ValueError: request 'H' needs 1,400 + 20 tokens = 89 blocks",
        "strict priority: patient waits 4.02 s, every other request at most 0.03",
        "a priority that ages: patient waits 0.61 s, every other request at most 0.13",
        "max_waiting=8: the longest wait is 3.6 s; 85 refused",
        "no limit 33% of all requests in time; 315 tokens/s, 98% of the slots busy",
        "deadline of 3 s 86% of all requests in time; 311 tokens/s",
        "QueueFull: request 'B' is refused: 400 tokens wait, and the request has 200",
        "This is yours: whom_to_refuse from",
        "6 requests 235 of 300 in time limit of 13,000 tokens 278 of 300 in time yours 281 of 300",
        "This is yours: who_is_next from",
        "yours: patient waits 0.61 s",
    ],
    "10_speculative_decoding": [
        "Junior 737,920 parameters, 2 layers, 2,048 token ids",
        "G: 59 tokens in 15 steps, 44 of 60 draft tokens accepted",
        "step 2 A 0/4 B 4/4 C 4/4",
        "at temperature 0, 0 of 8 answers change",
        "Token 1: proposed 0.6, accepted 0.3, drawn again 0, returned 0.3.",
        "at temperature 0.9: the same tokens, ",
        "A believed: For a vegetarian dinner in Marrakesh",
        "0 of 8 answers are still the same.",
        "step 21: 134 blocks during the pass, 130 after it, for 130 tokens with K and V",
        "D's answer is the same; after 20 such steps it holds 0 blocks too many",
        "This is yours: expected_tokens from",
        "the guide: 2.36 tokens a step, 1.69 times as fast",
        "corrected: 3.36 tokens a step, 2.40 times as fast",
        "600 of 642 draft tokens accepted; 98% of the compared ones were right",
        "4.62 tokens a step for each request; the formula says 4.78",
        "then the fee … is 40 euros, then",
        "prompt lookup 114 of 1185 draft tokens accepted, 1.37 tokens a step for each request",
        "times as fast as without draft tokens",
        "This is yours: propose from",
        "Careless α = 0.75, E = 3.05",
    ],
    "11_measuring_honestly": [
        "requests: 20 of 24 served",
        "s from sent, ",
        "100 requests: 0.11 to 0.33 s, 27 of 30 left of the line",
        "Largest difference: simulated ",
        "Continuous(8): knee at or below ",
        "Continuous(8): up to ",
        "own_length 3.62 × continuous 1.99 × paged 2.93",
        "continuous 1.00 × paged 2.35 × own_length 8.99",
        "Continuous batching alone: 1.0 times",
        "All three switches, median of 20 random samples of the lengths: 21.4 (20.2–22.1",
        "2 of 5 simulated ranges contain the published ratio",
        "26 to 43 × against a batch of 1. 10 to 24 × against a batch of 8",
        "FasterTransformer / naive batching: published 4 ×, simulated 3.65 ×",
        "for Simulated(1,000,000 requests, 8,835,082 steps, path='fast')",
        "800,000 of 800,000 met TTFT ≤ 1 s",
        "The engine ran: the fast simulator knows Continuous, Static, Sequential, and this is",
        "One engine serves about 27 requests a second",
    ],
    "12_a_server": [
        "data: [DONE]",
        "steps for 156 tokens",
        "outside the engine's step",
        "Blocks freed after",
        "The next step begins without the first client's",
        "200 requests in",
        "40 requests in",
        "no overlap: 4 steps in 40 ms; the model waits 20 % of the time.",
        "overlap: 5 steps in 40 ms; the model waits 0 % of the time.",
        "4 rows after a stop token",
        "block 2 is free, and a step in flight still writes into it for 'A'",
    ],
    "13_more_than_one_engine": [
        "Random: 1 request in 100 waits 1.5 × as long as with one queue",
        "requests at each replica: [300 300 300 300]",
        "the busiest of 4 replicas has 3.",
        "least requests 0.06 0.43 0.14 1.72",
        "The router used 2 of 4 replicas: [158 0 0 142] requests",
        "round robin 95%",
        "Least requests is worse than Random from 400 ms on",
        "Power of two is not worse at any tested age",
        "report + sent since",
        "prompts 512, answers 64: 9.7 (2 prefill + 1 decode), 7.1 (mixed)",
        "10 Gbit/s 335.6 ms 0.99 0.07",
        "TTFT ≤ 0.4 s, TPOT ≤ 0.04 s 7.14 9.87 15.23",
        "slow to stop 77% 1.74 6 0.10 s",
        "quick, to zero 66% 1.48",
        "Ray 2.60.0",
        "A replica is killed: an error ends 1 of 80 answers",
        "low 5,787 requests/s at the peak:",
        "Ray's PrefixCacheAffinityRouter 48 0",
        "our PrefixAffinity 27 21",
    ],
    "14_the_arena": [
        "FCFS 0.802 2018 564 10",
        "At a load of 1.3, Shortest prompt has the highest score",
        "Shortest prompt: 0.6 1.00, 0.9 0.98, 1.3 0.92",
        "Tokens of B and C are late",
        "sum 0.75",
        "score of this match 0.739",
        "FCFS 0.56 0.53 0.34 0.79 0 10 12.6 s",
        "StarveTheLate 0.88 0.89 0.80 0.94 0 33",
        "FCFS, refusing 0.61",
        "Shortest 0.92",
        "Shortest, refusing 0.93",
        "FCFS, early 0.91",
        "Shortest, early 0.97",
        "Shortest, starving 0.96",
        "FCFS: 48 of 96 in time; score 0.54",
        "Request 10 waits 1.04 s before its first step",
        "The order adds 0.27.",
        "know_the_seeds on hidden seeds: 0.78",
        "Prefix affinity leads by 0.0012; its seeds differ by 0.020",
    ],
}


def test_every_lesson_s_findings_are_checked():
    assert sorted(FINDINGS) == [path.stem for path in sorted(LESSONS.glob("[0-9]*.ipynb"))]


@pytest.fixture(scope="module")
def run_twice(pytestconfig, seed_of_run):
    """The lessons whose cells run twice in a row, since learners do that: all in a release, five in
    the whole suite, others in each, and none where time is short."""
    marks = pytestconfig.getoption("markexpr")
    number = 0 if "not full" in marks else 5 if "not slow" in marks else len(FINDINGS)
    return random.Random(seed_of_run).sample(sorted(FINDINGS), number)


IN_SHORT = ("00_start_here", "04_continuous_batching")  # the first one, and the newest


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in IN_SHORT else pytest.mark.full) for n in FINDINGS],
)
def test_a_lesson_finds_what_it_says(run_lesson, run_twice, name):
    text = run_lesson(f"{name}.ipynb", times=1 + (name in run_twice))
    assert [finding for finding in FINDINGS[name] if finding not in text] == []
    assert UNREADABLE not in text, text[text.find(UNREADABLE) :][:300]


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
    assert "MyContinuous is not written yet; Continuous is used instead." in text
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

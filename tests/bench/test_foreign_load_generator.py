"""A load generator of others, GuideLLM, drives our server and counts the same requests and tokens.

It needs an environment of its own: `pip install guidellm==0.8.1` in one, and its Python's path in
MINIBATCH_LOAD_GENERATOR.
"""

import json
import os
import re
import subprocess

import httpx
import pytest

from minibatch.bench.peer_servers import PEERS, running
from minibatch.wayfarer import WEIGHTS

REQUESTS = 40
COUNTER = re.compile(r"^minibatch:(\w+)_total\{.*\} ([\d.e+]+)$", re.MULTILINE)


def generator():
    """The Python that has GuideLLM; skips the test, and says what is missing, without one."""
    python = os.environ.get("MINIBATCH_LOAD_GENERATOR")
    if not python:
        pytest.skip("MINIBATCH_LOAD_GENERATOR is not set to a Python that has guidellm")
    found = subprocess.run([python, "-c", "import guidellm"], capture_output=True, text=True)
    if found.returncode:
        pytest.skip(f"MINIBATCH_LOAD_GENERATOR has no guidellm: {found.stderr[-200:]}")
    return python


def drive(python, url, path):
    """Four users who send one request after another; the report that GuideLLM writes to `path`."""
    command = [
        *(python, "-m", "guidellm", "run", "--disable-console"),
        *("--backend", f"kind=openai_http,target={url},request_format=/v1/completions"),
        *("--profile", "kind=concurrent,streams=4"),
        *("--constraint", f"kind=max_requests,count={REQUESTS}"),
        *("--tokenizer", f"kind=hf_auto,model={WEIGHTS}"),
        *("--data", "kind=synthetic_text,prompt_tokens=40,output_tokens=24,output_tokens_stdev=8"),
        *("--output", f"kind=json,path={path}"),
    ]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return json.loads(path.read_text(encoding="utf-8"))["benchmarks"][0]


@pytest.mark.slow
def test_guidellm_is_served_and_counts_the_tokens_that_the_server_counts(tmp_path):
    python = generator()
    with running(PEERS["minibatch serve"], WEIGHTS, 8, 1) as server:
        seen = drive(python, server.url, tmp_path / "report.json")
        counted = dict(COUNTER.findall(httpx.get(f"{server.url}/metrics", trust_env=False).text))
    totals = seen["metrics"]["request_totals"]
    assert totals == {"successful": REQUESTS, "errored": 0, "incomplete": 0, "total": REQUESTS}
    served = seen["requests"]["successful"]
    assert len({row["output_tokens"] for row in served}) > 1  # answers of several lengths
    assert sum(row["output_tokens"] for row in served) == float(counted["generation_tokens"])
    assert sum(row["prompt_tokens"] for row in served) == float(counted["prompt_tokens"])

"""`serve --replicas 2` as a user starts it: a process that says its address, serves, and ends."""

import re
import signal
import subprocess
import sys

import openai
import pytest

pytest.importorskip("ray")

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.mark.skipif(sys.platform == "win32", reason="a signal that asks a process to end")
def test_it_serves_until_sigterm_and_ends_with_0(tmp_path):
    command = [sys.executable, "-m", "minibatch", "serve", "--replicas", "2", "--port", "0"]
    with (
        (tmp_path / "errors").open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as served,
    ):
        lines = []
        for line in served.stdout:  # until the address, or the end
            lines.append(line)
            if found := re.search(r"http://\S+/v1", line):
                break
        else:
            errors.seek(0)
            pytest.skip(f"Ray did not start: {errors.read()[-2000:]}")
        try:
            with openai.OpenAI(base_url=found[0], api_key="x", max_retries=0) as client:
                asked = [{"role": "user", "content": "Plan 3 days in Lisbon."}]
                answer = client.chat.completions.create(
                    model="wayfarer", messages=asked, temperature=0
                )
            assert "Lisbon" in answer.choices[0].message.content
        finally:
            served.send_signal(signal.SIGTERM)
            lines += served.stdout.readlines()
        assert served.wait() == 0
    assert sum(line.startswith("replica ") for line in lines) == 2
    assert "Stopping.\n" in lines  # Ray may print after it

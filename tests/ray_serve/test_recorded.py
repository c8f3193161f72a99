"""The recorded run that the lesson shows: which requests a kill costs."""

import json
from pathlib import Path

import minibatch

RUN = json.loads((Path(minibatch.__file__).parent / "ray_serve" / "recorded.json").read_text())


def test_a_kill_costs_only_answers_that_had_begun():
    kill, lost = RUN["kill"], [each for each in RUN["requests"] if each["end"] != "whole"]
    for each in lost:
        assert each["replica"] == kill["replica"]
        assert each["first_s"] < kill["at_s"] < each["last_s"] + 1
    assert 0 < len(lost) < len(RUN["requests"]) / 10


def test_the_other_replica_serves_on_and_a_new_one_comes():
    kill, requests = RUN["kill"], RUN["requests"]
    before = {each["replica"] for each in requests if each["last_s"] < kill["at_s"]}
    after = [each["replica"] for each in requests if each["sent_s"] > kill["at_s"]]
    assert len(before) == 2
    assert kill["replica"] not in after
    (other,) = before - {kill["replica"]}
    assert after[0] == other
    assert len(set(after) - before) == 1

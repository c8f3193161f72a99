"""One answer on its way from a replica, when replicas die, fail, or the client hangs up.

The replicas here are scripts; no cluster is started.
"""

import asyncio
import json
from types import SimpleNamespace

import pytest

ray = pytest.importorskip("ray")

from minibatch.ray_serve.relay import Relay  # noqa: E402

pytestmark = pytest.mark.ray

START = {"type": "http.response.start", "status": 200, "headers": [(b"x-replica", b"a")]}
DEAD = ray.exceptions.ActorDiedError()


def body(text, more=True):
    return {"type": "http.response.body", "body": text, "more_body": more}


class Stream:
    """A replica's answer: messages, an exception to raise, or "wait", which never ends."""

    def __init__(self, script):
        self.script, self.cancelled = script, False

    async def __aiter__(self):
        for each in self.script:
            if each == "wait":
                await asyncio.Event().wait()
            if isinstance(each, Exception):
                raise each
            yield each

    def cancel(self):
        self.cancelled = True


def relayed(*scripts, stream=True, hang_up=False):
    """What the client is sent, and the streams that were asked for."""
    streams = [Stream(script) for script in scripts]
    asked = iter(streams)
    replicas = SimpleNamespace(answer=SimpleNamespace(remote=lambda call: next(asked)))
    call, sent = SimpleNamespace(ask=SimpleNamespace(stream=stream)), []

    async def send(message):
        sent.append(message)

    async def receive():
        if not hang_up or not sent:
            await asyncio.sleep(0.01 if hang_up else 1000)
        return {"type": "http.disconnect"} if sent else {"type": "http.request"}

    scope = {"type": "http", "headers": []}
    asyncio.run(asyncio.wait_for(Relay(replicas, call)(scope, receive, send), 20))
    return sent, [each for each in streams if each.script is not None and each.cancelled]


def test_messages_are_passed_on_with_the_number_of_tries():
    sent, _ = relayed([START, body(b"one"), body(b"two", False)])
    assert sent[0]["headers"] == [(b"x-replica", b"a"), (b"x-tries", b"1")]
    assert [message["body"] for message in sent[1:]] == [b"one", b"two"]


@pytest.mark.parametrize("before", [[], [START]])
def test_a_request_of_which_nothing_was_sent_goes_to_another_replica(before):
    sent, streams = relayed([*before, DEAD], [START, body(b"all", False)])
    assert sent[0]["headers"][-1] == (b"x-tries", b"2")
    assert [message["body"] for message in sent[1:]] == [b"all"]
    assert len(streams) == 2


def test_it_is_asked_for_again_only_once():
    sent, streams = relayed([DEAD], [DEAD], [START])
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["error"]["code"] == "replica_lost"
    assert len(streams) == 2


def test_a_stream_that_has_begun_ends_with_an_error_event():
    sent, streams = relayed([START, body(b"some"), DEAD], [START])
    assert [message.get("body") for message in sent[:2]] == [None, b"some"]
    assert sent[-1]["more_body"] is False
    event = json.loads(sent[-1]["body"].removeprefix(b"data: "))
    assert event["error"]["code"] == "replica_lost"
    assert len(streams) == 1


def test_a_fault_of_a_replica_is_not_tried_again():
    fault = ray.exceptions.RayTaskError("answer", "traceback", ValueError("no such thing"))
    sent, streams = relayed([fault], [START])
    assert sent[0]["status"] == 500
    assert "no such thing" in json.loads(sent[1]["body"])["error"]["message"]
    assert len(streams) == 1


def test_a_client_that_hangs_up_ends_the_replicas_answer():
    sent, streams = relayed([START, body(b"some"), "wait"], hang_up=True)
    assert len(sent) == 2
    assert [each.cancelled for each in streams] == [True]

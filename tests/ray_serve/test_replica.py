"""A replica's answers, without Ray: its messages, and what is left when nobody reads on."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from scripted import ANSWER, make_engine

from minibatch.ray_serve.call import Call, EngineFacts
from minibatch.ray_serve.replica import Replica
from minibatch.server import protocol
from minibatch.server.engine_thread import EngineThread
from minibatch.server.metrics import Metrics
from minibatch.server.replies import Reply


@asynccontextmanager
async def replica():
    """A running one, named "a"; afterwards its engine is idle and no task of it is left."""
    made = Replica.__new__(Replica)  # its own constructor asks Ray for its name
    engine = make_engine()
    made.name, made.thread = "a", EngineThread(engine, Metrics(engine, "scripted"))
    made.thread.start(asyncio.get_running_loop())
    try:
        yield made
        while (state := (await made.state())[1])["running"]:
            pass
        assert state["free_blocks"] == state["num_blocks"]
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
    finally:
        await made.thread.stop()


def call(made, **body):
    facts, reply = made.facts(), Reply("scripted", False)
    ask = protocol.read({"model": "scripted", "prompt": "Plan"} | body, False, facts, "scripted")
    return Call(ask, protocol.requests_of(ask, facts, facts, reply.id, None), reply)


def test_a_whole_answer_is_two_messages_signed_by_the_replica():
    async def main():
        async with replica() as made:
            return [message async for message in made.answer(call(made, max_tokens=12))]

    start, body = asyncio.run(main())
    assert (b"x-replica", b"a") in start["headers"]
    assert json.loads(body["body"])["choices"][0]["text"] == ANSWER[:12]


@pytest.mark.parametrize("read", [1, 2, 5])
def test_a_reader_that_leaves_ends_the_answer(read):
    async def main():
        async with replica() as made:
            answer = made.answer(call(made, max_tokens=1000, stream=True))
            for _ in range(read):
                await anext(answer)
            await asyncio.sleep(0)  # the next message may wait already
            await answer.aclose()

    asyncio.run(asyncio.wait_for(asyncio.to_thread(asyncio.run, main()), 60))


def test_what_the_ingress_knows_of_an_engine_encodes_as_its_model_does():
    engine = make_engine()
    facts = EngineFacts.of(engine)
    assert facts.encode("São Jorge") == engine.model.encode("São Jorge")
    assert (facts.num_blocks, facts.block_size) == (512, 16)

"""Two engines on Ray Serve, of one cluster for all tests here: each starts after the one before.

A start that fails twice is no verdict on what is served: these tests are then skipped, with Ray's
words. Each wait asks again until it holds; pytest's time limit ends one that is in vain.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import openai
import pytest

import minibatch as mb

pytest.importorskip("ray")

from minibatch.ray_serve.cluster import RayFailed  # noqa: E402
from minibatch.ray_serve.deploy import Deployment  # noqa: E402
from minibatch.ray_serve.ray_server import RayServer  # noqa: E402
from minibatch.ray_serve.settings import EngineSettings  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]

ENGINE = EngineSettings(num_blocks=512, max_batch_size=8)
TWO = Deployment(engine=ENGINE, replicas=2, router="RoundRobin")
CITIES = ("Lisbon", "Rome", "Paris", "Tokyo", "Oslo", "Cairo", "Berlin", "Lima")
LONG = {"ignore_eos": True}


def ask(city, days=3):
    return {
        "model": "wayfarer",
        "messages": [{"role": "user", "content": f"Plan {days} days in {city}."}],
        "temperature": 0,
        "max_tokens": 60,
    }


@pytest.fixture(scope="module")
def server(request):
    words = []
    for _ in range(2):
        running = RayServer(TWO)
        try:
            running.start()
        except RayFailed as error:
            words.append(str(error))
            continue
        yield running
        running.stop()
        return
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(*words, sep="\n")
    pytest.skip("Ray did not start, twice; its words are above")


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
        yield client
    wait_until_idle(server)


@pytest.fixture(scope="module")
def expected():
    """The answer of one engine in this process, by city and number of days."""
    model = mb.load_model()
    engine = mb.Engine(model, mb.Continuous(8), num_blocks=512)
    asked = [(city, days) for city in CITIES for days in (2, 3)]
    requests = [
        mb.Request(model.chat(f"Plan {days} days in {city}."), max_tokens=60)
        for city, days in asked
    ]
    answers = engine.run(requests)
    return {key: answer.text for key, answer in zip(asked, answers, strict=True)}


def wait_until_idle(server):
    """Until every replica has given all blocks back, and has no request."""
    while not all(
        state["free_blocks"] == state["num_blocks"] and not state["running"] + state["waiting"]
        for state in server.states().values()
    ):
        pass


def stream(client, city, **options):
    """The replica's name, and an iterator over pieces of text."""
    raw = client.chat.completions.with_raw_response.create(**ask(city), stream=True, **options)
    chunks = raw.parse()
    pieces = (chunk.choices[0].delta.content or "" for chunk in chunks)
    return raw.headers["x-replica"], chunks, pieces


def test_an_answer_is_that_of_one_engine(client, expected):
    for (city, days), text in expected.items():
        answer = client.chat.completions.create(**ask(city, days))
        assert answer.choices[0].message.content == text


def test_a_stream_comes_in_pieces_that_are_the_whole_answer(client, expected):
    _, _, pieces = stream(client, "Rome")
    pieces = list(pieces)
    assert "".join(pieces) == expected["Rome", 3]
    assert len(pieces) > 10


def test_200_requests_of_the_official_client_are_answered_by_both(client, expected):
    asked = [(CITIES[i % len(CITIES)], 2 + i % 2) for i in range(200)]

    def one(key):
        raw = client.chat.completions.with_raw_response.create(**ask(*key))
        return raw.headers["x-replica"], raw.parse().choices[0].message.content

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, asked))
    assert [text for _, text in answers] == [expected[key] for key in asked]
    served = [name for name, _ in answers]
    assert len(set(served)) == 2
    assert min(served.count(name) for name in set(served)) > 50


def test_a_client_that_hangs_up_gives_the_blocks_back(client, server):
    streams = [stream(client, city, extra_body=LONG | {"max_tokens": 400}) for city in CITIES[:4]]
    assert len({name for name, _, _ in streams}) == 2
    for _, _, pieces in streams:
        next(pieces)
    assert sum(state["running"] for state in server.states().values()) == 4
    for _, chunks, _ in streams:
        chunks.close()
    wait_until_idle(server)


def test_what_one_server_refuses_is_refused_the_same_way(client, server):
    with pytest.raises(openai.NotFoundError, match="use 'wayfarer'"):
        client.chat.completions.create(**ask("Rome") | {"model": "gpt-4"})
    with pytest.raises(openai.BadRequestError, match="logprobs"):
        client.chat.completions.create(**ask("Rome"), logprobs=True)
    with pytest.raises(openai.BadRequestError, match="do not fit"):
        client.completions.create(model="wayfarer", prompt="Plan", max_tokens=10**6)


def test_metrics_name_the_replica(client, server):
    names = set(server.replicas())
    text = client.with_options(base_url=server.url).get("/metrics", cast_to=str)
    lines = [line for line in text.splitlines() if line.startswith("minibatch:num_requests_run")]
    assert {line.split('"')[1] for line in lines} == names


def test_a_killed_replica_costs_only_what_it_had_begun_to_answer(client, server, expected):
    """One stream and one whole request on each. Those of the other replica notice nothing; its own
    stream gets an error; its whole request, of which nothing was sent, is answered by the other."""
    before = server.replicas()
    lost, *_, its_pieces = stream(client, "Rome", extra_body=LONG | {"max_tokens": 900})
    kept, *_, other_pieces = stream(client, "Rome")
    assert {lost, kept} == set(before)
    next(its_pieces)
    whole = ask("Oslo") | {"max_tokens": 400, "extra_body": LONG}
    with ThreadPoolExecutor(2) as pool:
        wholes = [pool.submit(client.chat.completions.create, **whole) for _ in range(2)]
        while server.states()[lost]["running"] < 2:
            pass
        server.kill(lost)
        with pytest.raises(openai.APIError, match="replica that served this request has ended"):
            list(its_pieces)
        assert "".join(other_pieces) == expected["Rome", 3]
        answers = {each.result().choices[0].message.content for each in wholes}
    assert len(answers) == 1
    assert answers.pop().startswith(expected["Oslo", 3])
    while len(server.replicas().keys() - {lost}) < 2:
        pass  # Ray starts another one


def test_an_update_loses_no_request(client, server, expected):
    before = set(server.replicas())
    update = threading.Thread(
        target=server.update, args=(replace(TWO, engine=replace(ENGINE, max_batch_size=4)),)
    )
    update.start()
    answers = []
    while update.is_alive():
        answers.append(client.chat.completions.create(**ask("Lima")).choices[0].message.content)
    update.join()
    assert set(answers) == {expected["Lima", 3]}
    assert before.isdisjoint(server.replicas())

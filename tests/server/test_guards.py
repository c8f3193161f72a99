"""Headers that a browser, or somebody on the network, could send."""

import json

import httpx
import pytest
from scripted import connect, raw_request, read_response, serving, wait_until_idle

BODY = {"model": "scripted", "prompt": [5], "max_tokens": 2}


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


def send(server, data):
    """The first response to these bytes; None if the connection is closed without one."""
    with connect(server) as connection:
        try:
            connection.sendall(data)
            return read_response(connection)
        except ConnectionError:  # closed while we sent
            return None


def request(*headers, body=BODY, host="localhost", **options):
    return raw_request(body=body, headers=headers, host=host, **options)


def with_content_type(kind):
    return request().replace(b"application/json", kind)


ATTACKS = {
    "another page's Host": request(host="evil.example"),
    "a Host that begins like ours": request(host="localhost.evil.example"),
    "a Host that ends like ours": request(host="evil-localhost"),
    "a Host with a user": request(host="localhost@evil.example"),
    "a Host of another port's name": request(host="evil.example:8000"),
    "an empty Host": request(host=" "),
    "no Host": request(host=None),
    "two Hosts": request(("Host", "evil.example")),
    "a Host with a newline": request(host="localhost\r\n evil.example"),
    "a form's content type": with_content_type(b"application/x-www-form-urlencoded"),
    "a plain text's content type": with_content_type(b"text/plain"),
    "a form with files": with_content_type(b"multipart/form-data; boundary=application/json"),
    "JSON in the parameters": with_content_type(b"text/plain; application/json"),
    "no content type": request().replace(b"Content-Type: application/json\r\n", b""),
    "two content types": request(("Content-Type", "text/plain")),
    "another charset": with_content_type(b"application/json; charset=utf-16"),
    "a compressed body": request(("Content-Encoding", "gzip")),
    "a negative length": request().replace(b"Content-Length: ", b"Content-Length: -"),
    "two lengths": request(("Content-Length", "5")),
    "a length that is no number": request().replace(b"Content-Length: ", b"Content-Length: 0x"),
    "a length and chunks": request(("Transfer-Encoding", "gzip, chunked")),
    "a header without a name": request().replace(b"Content-Type:", b": x\r\nContent-Type:"),
    "a header with a null byte": request(("X", "a\x00b")),
    "a header of 100 KB": request(("X", "a" * 100_000)),
    "10,000 headers": request(*[(f"X-{i}", "a") for i in range(10_000)]),
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n",
    "another method": request(method="PUT"),
    "a proxy's request": request(path="http://evil.example/", method="CONNECT"),
    "another page's preflight": request(("Origin", "http://evil.example"), method="OPTIONS"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_by_headers_reaches_no_engine(server, attack):
    before = server.engine.trace.num_steps
    answer = send(server, ATTACKS[attack])
    if answer is not None:
        status, headers, _ = answer
        assert 400 <= status < 500
        assert not any(name.startswith("access-control") for name in headers)
    wait_until_idle(server)
    assert server.engine.trace.num_steps == before


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:9", "LocalHost:1", "[::1]"])
def test_our_own_names_are_taken(server, host):
    assert send(server, request(host=host))[0] == 200


@pytest.mark.parametrize("kind", [b"application/json; charset=UTF-8", b"Application/JSON"])
def test_json_may_be_written_in_other_ways(server, kind):
    assert send(server, with_content_type(kind))[0] == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server):
    head = request(body=b"").replace(b"Content-Length: 0", b"Content-Length: 4194305")
    status, headers, body = send(server, head)
    assert status == 413
    assert headers["connection"] == "close"
    assert "4,194,304 bytes" in json.loads(body)["error"]["message"]


def test_a_body_without_a_length_is_refused_where_it_becomes_too_large(server):
    head = request(body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with connect(server) as connection:
        try:
            connection.sendall(head + chunk * 5)
            answer = read_response(connection)
        except ConnectionError:  # it was closed while we sent
            return
    assert answer[0] == 413


def test_unknown_paths_and_methods_answer_in_openai_s_form(server):
    for path, status in (("/", 404), ("/v1/embeddings", 404), ("/v1/completions", 405)):
        answer = httpx.get(server.url + path)
        assert answer.status_code == status
        assert answer.json()["error"]["type"]


def test_a_key_is_asked_for_everywhere_but_at_health():
    options = {"host": "0.0.0.0", "api_key": "s3cret"}
    with serving(server=options) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert httpx.get(f"{url}/health").status_code == 200
        for path in ("/v1/models", "/metrics", "/version", "/nothing"):
            refused = httpx.get(url + path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
        for key in ("s", "s3cre", "S3cret", "s3crets", "s3cret s3cret"):
            headers = {"Authorization": f"Bearer {key}"}
            assert httpx.get(f"{url}/version", headers=headers).status_code == 401
        good = [("Authorization", "Bearer s3cret")]
        assert send(server, request(*good, body=BODY))[0] == 200
        assert send(server, request(*good, *good, body=BODY))[0] == 400
        assert send(server, request(*good, host="any.name"))[0] == 200

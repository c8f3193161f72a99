"""What is refused before a body is read, and the reading of the body.

Any web page that a user opens can send requests to a port of the user's computer. It cannot send
`Content-Type: application/json` without asking first (CORS), and this server never answers such a
question with yes. A page whose name is made to point to 127.0.0.1 (DNS rebinding) sends its own
name as Host. So both headers are checked.

Pure ASGI: starlette's BaseHTTPMiddleware would hide from the app that a client has hung up.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from .answers import overloaded
from .errors import ApiError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
MOST_HEADERS = 16_384  # bytes
MOST_BODY = 4 * 2**20  # bytes: half a million token ids
TOO_LARGE = f"the body is larger than {MOST_BODY:,} bytes"
MOST_BODIES = 2**28  # bytes of all requests that are being read
BODY_SECONDS = 30.0  # for a body to come
OPEN = frozenset({"/health"})  # for probes that have no key


class Guard:
    """An ASGI app before another one. hosts: allowed names in Host; None allows all. api_key: what
    `Authorization: Bearer …` must have; None asks for no key."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None, api_key: str | None) -> None:
        self.app = app
        self.hosts = None if hosts is None else frozenset(hosts)
        self._expected = None if api_key is None else f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "http":
                self._check(scope)
        except ApiError as error:
            await error.response()(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > MOST_HEADERS:
            raise ApiError(431, f"the headers are larger than {MOST_HEADERS:,} bytes")
        host = _only(headers, b"host")
        if host is None or (self.hosts is not None and _name(host) not in self.hosts):
            allowed = "" if self.hosts is None else f": {', '.join(sorted(self.hosts))}"
            raise ApiError(403, f"the Host header must be a name of this server{allowed}")
        if self._expected is not None and scope["path"] not in OPEN:
            given = _only(headers, b"authorization") or b""
            if not hmac.compare_digest(given, self._expected):
                message = "this server needs its API key in the header Authorization: Bearer KEY"
                raise ApiError(401, message, code="invalid_api_key")
        if scope["method"] == "POST":
            kind, _, options = (_only(headers, b"content-type") or b"").partition(b";")
            charset = options.strip().lower().replace(b'"', b"")
            if kind.strip().lower() != b"application/json" or charset not in (
                b"",
                b"charset=utf-8",
            ):
                raise ApiError(415, "the Content-Type header must be application/json")
            if (_only(headers, b"content-encoding") or b"identity") != b"identity":
                raise ApiError(
                    415, "a compressed body is not supported; leave out Content-Encoding"
                )


class Bodies:
    """The bodies that are held now. num_bytes: of all of them together."""

    def __init__(self) -> None:
        self.num_bytes = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytearray]:
        """The body, if it is not too large and comes in time. Raises ApiError, or ClientDisconnect.

        Starlette's `max_body_size` would answer in plain text, and be called again for every token.
        """
        if int(request.headers.get("content-length", 0)) > MOST_BODY:
            raise ApiError(413, TOO_LARGE)
        body = bytearray()
        try:
            await self._collect(request, body)
            yield body
        finally:
            self.num_bytes -= len(body)

    async def _collect(self, request: Request, body: bytearray) -> None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    body += chunk
                    self.num_bytes += len(chunk)
                    if len(body) > MOST_BODY:
                        raise ApiError(413, TOO_LARGE)
                    if self.num_bytes > MOST_BODIES:
                        raise overloaded("too many large requests at once; send it again later")
        except TimeoutError as error:
            raise ApiError(408, f"the body did not arrive within {BODY_SECONDS:g} s") from error


def _only(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """The value of a header that comes once; None if it is absent. Two of it are refused."""
    values = [value for key, value in headers if key == name]
    if len(values) > 1:
        raise ApiError(400, f"the header {name.decode()} appears {len(values)} times; send it once")
    return values[0] if values else None


def _name(host: bytes) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.decode("latin-1").lower().rpartition(":")
    return name if colon and port.isdecimal() else host.decode("latin-1").lower()

"""OpenAI's error JSON, and the exception that carries it.

Clients read `error.param` and `error.code`; `message` says to a person what to change.
"""

from __future__ import annotations

import json

from starlette.responses import JSONResponse

KINDS = {  # OpenAI's `type`, by HTTP status
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    431: "invalid_request_error",
    500: "server_error",
    503: "service_unavailable_error",
    504: "timeout_error",
}
UNREAD = (401, 403, 408, 413, 415, 431)  # statuses that answer a request not read to its end
MOST_MESSAGE, MOST_PARAM = 1000, 100  # characters
RETRY_AFTER = "1"  # seconds; one answer of a small model


class ApiError(Exception):
    """An error that is the client's answer.

    status: of HTTP. param: the JSON parameter that is wrong. code: a word for programs. Of a long
    text only the beginning is kept: what a client sent is not sent back.
    """

    def __init__(
        self, status: int, message: str, param: str | None = None, code: str | None = None
    ) -> None:
        message, param = _beginning(message, MOST_MESSAGE), _beginning(param, MOST_PARAM)
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def body(self) -> dict[str, dict[str, str | None]]:
        """OpenAI's JSON for it."""
        kind = KINDS.get(self.status, "server_error")
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}

    def event(self) -> bytes:
        """A server-sent event with it, for a stream that has begun."""
        return b"data: " + json.dumps(self.body()).encode() + b"\n\n"

    def response(self) -> JSONResponse:
        """The HTTP response; a 503 says when to come again."""
        headers = {"Retry-After": RETRY_AFTER} if self.status == 503 else {}
        if self.status in UNREAD:
            headers["Connection"] = "close"  # the rest of the request is not read
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.body(), self.status, headers)


def _beginning(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else f"{text[: most - 3]}..."


class Disconnected(Exception):
    """The client has hung up; nobody reads the answer."""

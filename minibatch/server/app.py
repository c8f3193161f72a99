"""The routes of the server.

A request's way: guards.py, the body here, parameters.py and protocol.py make Requests of it,
and the backend gives them to an engine and writes the answer.
"""

from __future__ import annotations

import asyncio
import copy
import time
import tomllib
from pathlib import Path
from time import perf_counter

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ..core.request import Request as EngineRequest
from . import protocol
from .backend import Backend
from .errors import ApiError
from .guards import Bodies
from .parameters import read_json
from .replies import Reply

LONG_BODY = 4096  # bytes; reading and encoding more takes longer than other requests should wait


class Api:
    """The handlers. name: the model's in requests and answers. deadline: seconds until a request
    must have been admitted; None sets none."""

    def __init__(self, backend: Backend, bodies: Bodies, name: str, deadline: float | None) -> None:
        self.backend, self.bodies = backend, bodies
        self.name, self.deadline = name, deadline
        self.model, self.pool = backend.model, backend.pool
        # encoding changes a tokenizer, and the engine thread decodes with the other
        self._encoder = copy.copy(self.model)
        if self.model.tokenizer is not None:
            self._encoder.tokenizer = copy.deepcopy(self.model.tokenizer)
        self._created = int(time.time())

    def app(self) -> Starlette:
        """The ASGI app."""
        routes = [
            Route("/v1/completions", self.completions, methods=["POST"]),
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/models/{name:path}", self.one_model),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/version", self.version),
        ]
        handlers = {ApiError: _api_error, HTTPException: _http_error, Exception: _fault}
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False  # it would send clients to what they wrote as Host
        return app

    async def completions(self, request: Request) -> Response | ASGIApp:
        """`/v1/completions`."""
        return await self._exchange(request, is_chat=False)

    async def chat(self, request: Request) -> Response | ASGIApp:
        """`/v1/chat/completions`."""
        return await self._exchange(request, is_chat=True)

    async def models(self, request: Request) -> JSONResponse:
        """`/v1/models`: the one model."""
        return JSONResponse({"object": "list", "data": [self._model_card()]})

    async def one_model(self, request: Request) -> JSONResponse:
        """`/v1/models/NAME`."""
        if request.path_params["name"] != self.name:
            raise ApiError(404, f"there is no such model; use {self.name!r}", "model")
        return JSONResponse(self._model_card())

    async def health(self, request: Request) -> JSONResponse:
        """`/health`: 503 once the engine cannot serve any more."""
        if (error := self.backend.fault) is not None:
            return JSONResponse({"status": "failed", "reason": error}, 503)
        return JSONResponse({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """`/metrics`, for Prometheus."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(await self.backend.metrics(), headers={"content-type": kind})

    async def version(self, request: Request) -> JSONResponse:
        """`/version`: of minibatch."""
        return JSONResponse({"version": _version()})

    async def _exchange(self, request: Request, is_chat: bool) -> Response | ASGIApp:
        begun = perf_counter()
        try:
            async with self.bodies.read(request) as body:
                return await self._exchange_of(body, is_chat, begun)
        except ClientDisconnect:
            return Response()  # nobody reads it

    async def _exchange_of(self, body: bytearray, is_chat: bool, begun: float) -> ASGIApp:
        reply = Reply(self.name, is_chat)

        def read() -> tuple[protocol.Ask, list[EngineRequest]]:
            ask = protocol.read(read_json(body), is_chat, self.model, self.name)
            arguments = self._encoder, self.pool, reply.id, self.deadline
            return ask, protocol.requests_of(ask, *arguments)

        is_long = len(body) > LONG_BODY
        ask, requests = await asyncio.to_thread(read) if is_long else read()
        reply.num_prompt_tokens = sum(len(each.prompt) for each in requests)
        return self.backend.exchange(ask, requests, reply, begun)

    def _model_card(self) -> dict[str, object]:
        return {
            "id": self.name,
            "object": "model",
            "created": self._created,
            "owned_by": "minibatch",
            "max_model_len": self.model.max_model_len,
        }


def _version() -> str:
    """The course is not always installed, but its pyproject.toml is always there."""
    path = Path(__file__).parents[2] / "pyproject.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"]


async def _api_error(request: Request, error: ApiError) -> Response:
    return error.response()


async def _http_error(request: Request, error: HTTPException) -> Response:
    """Starlette's: no such path, or another method."""
    message = f"{request.method} {request.url.path}: {error.detail}"
    response = ApiError(error.status_code, message).response()
    response.headers.update(error.headers or {})
    return response


async def _fault(request: Request, error: Exception) -> Response:
    return ApiError(500, "the server has a fault; its log says more").response()

"""A chat server on 127.0.0.1 that speaks the protocol and misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

KEY = "sk-right-0123456789"

Answer = Callable[[web.Request, dict[str, object]], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request, as it arrived."""

    path: str
    authorization: str
    body: dict[str, object]

    @property
    def roles(self) -> list[str]:
        messages = self.body["messages"]
        assert isinstance(messages, list)
        return [message["role"] for message in messages]

    @property
    def format(self) -> str:
        wanted = self.body.get("response_format")
        return str(wanted["type"]) if isinstance(wanted, dict) else "text"


@dataclass
class OpenAIServer:
    """Gives the scripted answers in order, the last one for ever; remembers what it was asked.

    A request with another key than ``key`` is answered 401, and the answer repeats that key, as
    some proxies do.
    """

    answers: list[Answer] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    key: str = KEY
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        body = await request.json()
        self.seen.append(Seen(request.path, authorization, body))
        if authorization != f"Bearer {self.key}":
            return failure(401, f"Incorrect API key provided: {authorization}")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request, body)


@asynccontextmanager
async def openai_server(*answers: Answer) -> AsyncIterator[OpenAIServer]:
    """Serve the answers at ``url`` until the block ends."""
    server = OpenAIServer(list(answers))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/v1/"
    try:
        yield server
    finally:
        await runner.cleanup()


def completion(content: str | None, **changes: object) -> dict[str, object]:
    """The JSON of a good answer; ``changes`` go into its choice, ``top`` into its top level."""
    top = changes.pop("top", {})
    assert isinstance(top, dict)
    message = {"role": "assistant", "content": content, "refusal": changes.pop("refusal", None)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [choice],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        **top,
    }


def says(content: str | None, **changes: object) -> Answer:
    """Answer properly."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        return web.json_response(completion(content, **changes))

    return answer


def failure(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error as the protocol writes it."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status, headers=headers)


def fails(status: int, headers: dict[str, str] | None = None, **error: object) -> Answer:
    """Answer with an error."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        if not error:
            return failure(status, "broken", headers)
        return web.json_response({"error": {"message": "", **error}}, status=status)

    return answer


def sends(body: bytes, content_type: str = "application/json") -> Answer:
    """Answer 200 with any bytes."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        return web.Response(body=body, content_type=content_type)

    return answer


def slowly(seconds: float, then: Answer) -> Answer:
    """Answer late."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, body)

    return answer


async def resets(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
    """Drop the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cuts(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
    """Promise a whole body and send half of it."""
    body = json.dumps(completion("whole")).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


def redirects(target: str) -> Answer:
    """Send the caller elsewhere."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect(target)

    return answer


def floods(size: int) -> Answer:
    """Send ``size`` bytes of answer, in pieces."""

    async def answer(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _piece in range(size // 65536):
            await response.write(b" " * 65536)
        return response

    return answer


def rejects(field_name: str, message: str, otherwise: Answer, value: object = None) -> Answer:
    """Answer 400 while the request has a field (with a value), else properly."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        given = body.get(field_name)
        kind = given.get("type") if isinstance(given, dict) else given
        if field_name in body and value in (None, kind):
            error = {"message": message, "type": "invalid_request_error", "code": None}
            return web.json_response({"error": {**error, "param": field_name}}, status=400)
        return await otherwise(request, body)

    return answer

"""Calls and answers between the bot and the fake Slack, and faults that a test puts into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An answer: its HTTP status, 0 when none came in time, its text, and the seconds it took.

    Over a socket an acknowledgement has status 200.
    """

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> Json:
        """The answer as an object, empty when it is none."""
        if not self.text.startswith("{"):
            return {}
        return dict(json.loads(self.text))


class Door(Protocol):
    """A way into the bot."""

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        """Send an event; ``attempt`` counts how often it was sent before."""
        ...

    async def interact(self, payload: Json) -> Answer:
        """Send a click, a submission or a shortcut."""
        ...

    async def command(self, form: Mapping[str, str]) -> Answer:
        """Send a slash command."""
        ...


@dataclass(frozen=True)
class Request:
    """One call as it came in; ``at`` is the workspace's clock, in seconds."""

    method: str
    arguments: dict[str, Any]
    at: float


async def arguments_of(request: web.Request) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    if request.content_type == "application/json":
        return dict(await request.json())
    given = {**request.query, **await request.post()}
    return {key: _decoded(str(value)) for key, value in given.items()}


def _decoded(value: str) -> Any:  # noqa: ANN401  # a form may hold any JSON
    return json.loads(value) if value[:1] in {"[", "{"} else value


def told(value: object) -> bool:
    """Read a flag, which a form carries as a word."""
    return str(value).lower() in {"1", "true"}


def ok(**fields: object) -> web.Response:
    return web.json_response({"ok": True, **fields})


def error(code: str, *messages: str, **fields: object) -> web.Response:
    """Refuse a call; ``messages`` say what is wrong with its arguments."""
    why = {"response_metadata": {"messages": [f"[ERROR] {one}" for one in messages]}}
    return web.json_response({"ok": False, "error": code, **(why if messages else {}), **fields})


@dataclass(frozen=True)
class Fault:
    """What happens to the next call of a method.

    ``status`` is the HTTP answer, 0 cuts the connection. ``after`` lets the call have its effect
    first. ``error`` is Slack's code in an answer of 200. ``page`` is what a proxy says instead,
    in Latin-1, whatever the ``charset`` that it claims.
    ``seconds`` pass before the answer; a fault of nothing but seconds answers as usual after
    them. ``kept`` is how many bytes of a file arrive before its connection breaks.
    """

    status: int = 200
    error: str = ""
    after: bool = False
    retry_after: str = ""
    page: str = ""
    charset: str = "latin-1"
    seconds: float = 0.0
    kept: int | None = None

    @property
    def only_slow(self) -> bool:
        return bool(self.seconds) and self == Fault(seconds=self.seconds)


def faulty_response(fault: Fault, request: web.Request) -> web.Response:
    """Return what a caller gets of a fault."""
    if fault.status == 0:
        cut(request)
    # In lower case, as proxies write it: names of headers have no case.
    headers = {"retry-after": fault.retry_after} if fault.retry_after else {}
    if fault.page:
        content = fault.page.encode("latin-1")
        kind = {"Content-Type": f"text/plain; charset={fault.charset}"}
        return web.Response(body=content, status=fault.status, headers=kind)
    body = {"ok": False, "error": fault.error or "internal_error"}
    return web.json_response(body, status=fault.status or 500, headers=headers)


def cut(request: web.Request) -> None:
    """Break the connection of a request."""
    assert request.transport
    request.transport.close()


async def broken_off(answer: web.Response, kept: int, request: web.Request) -> web.StreamResponse:
    """Send the first bytes of an answer that promises more, and break the connection."""
    content = answer.body
    assert isinstance(content, bytes)
    begun = web.StreamResponse(status=answer.status)
    begun.content_type = answer.content_type
    begun.content_length = len(content)
    await begun.prepare(request)
    await begun.write(content[:kept])
    cut(request)
    return begun

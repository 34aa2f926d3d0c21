"""What goes wrong with a call, when a test says so."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True)
class Fault:
    """What happens to the next call of a method.

    ``status`` is the HTTP answer, 0 cuts the connection. ``after`` lets the call have its effect
    first. ``error`` is Slack's code in an answer of 200. ``page`` is what a proxy says instead.
    ``seconds`` pass before the answer; a fault of nothing but seconds answers as usual after
    them. ``kept`` is how many bytes of a file arrive before its connection breaks.
    """

    status: int = 200
    error: str = ""
    after: bool = False
    retry_after: str = ""
    page: str = ""
    seconds: float = 0.0
    kept: int | None = None

    @property
    def only_slow(self) -> bool:
        return bool(self.seconds) and self == Fault(seconds=self.seconds)


def answer_of(fault: Fault, request: web.Request) -> web.Response:
    """Return what a caller gets of a fault."""
    if fault.status == 0:
        cut(request)
    headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
    if fault.page:
        return web.Response(text=fault.page, status=fault.status)
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

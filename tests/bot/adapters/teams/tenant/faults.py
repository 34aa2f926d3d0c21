"""What goes wrong with a call, when a test says so."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from tests.bot.adapters.teams.tenant.answers import error


@dataclass(frozen=True)
class Fault:
    """How the connector answers the next call; ``after`` does what is asked all the same.

    ``status`` 0 cuts the connection; 200 answers as usual, which is for what is only slow.
    ``code`` is Teams' name of the error, ``seconds`` pass before the answer.
    """

    status: int
    after: bool = False
    retry_after: str = ""
    code: str = "Failed"
    message: str = "no"
    seconds: float = 0.0


SLOW = 200


def answer_of(fault: Fault, request: web.Request) -> web.Response:
    """Return what a caller gets of a fault."""
    if fault.status == 0:
        assert request.transport
        request.transport.close()
    answer = error(fault.code, status=fault.status or 500, message=fault.message)
    if fault.retry_after:
        answer.headers["Retry-After"] = fault.retry_after
    return answer

"""Calls and answers between the bot and the fake Teams, and faults that a test puts into them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestClient

_STATUS = {
    "ActivityNotFoundInConversation": 404,
    "BadArgument": 400,
    "BadRequest": 400,
    "BadSyntax": 400,
    "BotDisabledByAdmin": 403,
    "BotNotInConversationRoster": 403,
    "ContentStreamNotAllowed": 403,
    "ContentStreamSequenceOrderPreConditionFailed": 202,
    "ConversationBlockedByUser": 403,
    "ConversationNotFound": 404,
    "DeleteActivityAPINotImplemented": 501,
    "ForbiddenOperationException": 403,
    "MemberNotFoundInConversation": 404,
    "MessageSizeTooBig": 413,
    "MessageWritesBlocked": 403,
    "TeamNotFound": 404,
    "TooManyRequests": 429,
}


class Refused(Exception):
    """Teams does not do it; ``code`` is its name for why."""

    def __init__(self, code: str, message: str = "no", *, status: int = 0) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status or _STATUS.get(code, 403)


def error_response(code: str, *, message: str = "no", status: int = 0) -> web.Response:
    """Return an error as Teams words it."""
    body = {"error": {"code": code, "message": message}}
    return web.json_response(body, status=status or _STATUS.get(code, 403))


@dataclass(frozen=True)
class Fault:
    """How the connector answers the next call; ``after`` does what is asked all the same.

    ``status`` 0 cuts the connection; 200 answers as usual, which is for what is only slow.
    ``code`` is Teams' name of the error, ``seconds`` pass before the answer, ``location`` is where
    a redirect leads.
    """

    status: int
    after: bool = False
    retry_after: str = ""
    code: str = "Failed"
    message: str = "no"
    seconds: float = 0.0
    location: str = ""


SLOW = 200


def faulty_response(fault: Fault, request: web.Request) -> web.Response:
    """Return what a caller gets of a fault."""
    if fault.status == 0:
        assert request.transport
        request.transport.close()
    answer = error_response(fault.code, status=fault.status or 500, message=fault.message)
    if fault.retry_after:
        answer.headers["Retry-After"] = fault.retry_after
    if fault.location:
        answer.headers["Location"] = fault.location
    return answer


PATIENCE_SECONDS = 60.0
"""Teams waits 15 s, which a busy machine may need."""
Client = TestClient[Any, Any] | aiohttp.ClientSession


@dataclass(frozen=True)
class Answer:
    """An answer: its HTTP status, 0 when none came in time, its text, and the seconds it took."""

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> dict[str, Any]:
        """The answer as an object, empty when it is none."""
        return dict(json.loads(self.text)) if self.text.startswith("{") else {}


async def send_as_service(
    client: Client, activity: Mapping[str, Any], *, token: str = ""
) -> Answer:
    """Send an activity as the bot service does, and wait for the answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            response = await client.post("/api/messages", json=dict(activity), headers=headers)
            status, text = response.status, await response.text()
    except (TimeoutError, aiohttp.ClientError):
        status, text = 0, ""
    return Answer(status, text, time.monotonic() - began)

from __future__ import annotations

import json

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from bot.domain.errors import (
    InboxFull,
    InboxUnavailable,
    InteractionUnknown,
    NotAllowed,
    StoreUnavailable,
)
from bot.web.problems import problem, problem_middleware


async def answer(error: Exception) -> tuple[ClientResponse, dict[str, object]]:
    """Return what a client gets when a handler raises."""

    async def handler(_: web.Request) -> web.Response:
        raise error

    app = web.Application(middlewares=[problem_middleware])
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/", allow_redirects=False)
        text = await response.text()
    return response, json.loads(text) if text.startswith("{") else {}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (problem(409, "Twice."), 409),
        (web.HTTPNotFound(), 404),
        (web.HTTPUnprocessableEntity(text="Type a question first."), 422),
        (web.HTTPRequestEntityTooLarge(1, 2), 413),
        (InboxFull("secret"), 503),
        (InboxUnavailable("secret"), 503),
        (StoreUnavailable("secret"), 503),
        (InteractionUnknown("secret"), 404),
        (NotAllowed("secret"), 500),
        (ValueError("secret"), 500),
    ],
)
async def test_every_error_is_a_problem_in_our_words(error: Exception, status: int) -> None:
    with capture_logs():
        response, told = await answer(error)

    assert response.status == status == told["status"]
    assert response.content_type == "application/problem+json"
    assert "secret" not in str(told)
    assert set(told) == {"type", "title", "status", "detail"}


async def test_what_a_handler_wrote_for_people_is_kept() -> None:
    _, told = await answer(web.HTTPUnprocessableEntity(text="Type a question first."))

    assert told["detail"] == "Type a question first."


async def test_a_redirect_is_no_error() -> None:
    response, _ = await answer(web.HTTPSeeOther("/elsewhere"))

    assert (response.status, response.headers["Location"]) == (303, "/elsewhere")


async def test_a_defect_is_logged_with_its_exception() -> None:
    defect = ValueError("secret")

    with capture_logs() as logs:
        await answer(defect)

    assert logs[0]["event"] == "request.failed"
    assert logs[0]["exc_info"] is defect


async def test_a_busy_server_says_when_to_come_back() -> None:
    response, _ = await answer(InboxFull("full"))

    assert response.headers["Retry-After"] == "60"


@pytest.mark.parametrize("error", [InboxUnavailable("Try again."), StoreUnavailable("Try again.")])
async def test_what_is_away_is_logged_in_one_line_with_its_cure(error: Exception) -> None:
    with capture_logs() as logs:
        await answer(error)

    assert logs == [
        {"event": "request.unavailable", "log_level": "error", "path": "/", "why": "Try again."}
    ]

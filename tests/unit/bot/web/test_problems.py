"""Tests of error responses, also to bodies that cannot be read."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from bot.domain.errors import (
    ClaimLost,
    InboxFull,
    InboxUnavailable,
    InteractionUnknown,
    StoreUnavailable,
)
from bot.web.problems import problem, problem_middleware
from tests.fakes.http_server import Client


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
        (ClaimLost("secret"), 500),
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


FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
JSON = "application/json"
PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that strangers reach


async def sent(client: Client, content: str, body: bytes, **headers: str) -> int:
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Content-Type": content, **headers}
    response = await client.post("/session", data=body, headers=own)
    return response.status


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (FORM, b"token=\xff\xfe"),
        (f"{FORM}; charset=zzz", b"token=abc"),
        (f"{FORM}; charset=utf-16", b"token=abc"),
        ("multipart/form-data", b"abc"),
        (PARTS, b"abc"),
        (PARTS, b"--x\r\n\r\nabc\r\n--x--\r\n"),
        (PARTS, b"--x\r\nContent-Disposition: form-data; name=token\r\n" + b"A: b\r\n" * 5000),
        (JSON, b"[" * 100_000),
        (JSON, b'{"token":'),
    ],
)
async def test_what_cannot_be_read_is_the_mistake_of_who_sent_it(
    public: Client, content: str, body: bytes
) -> None:
    assert await sent(public, content, body) == 400


@pytest.mark.parametrize("content", [JSON, FORM, PARTS])
async def test_a_body_not_packed_as_it_says_is_a_mistake(public: Client, content: str) -> None:
    assert await sent(public, content, b"abcde", **{"Content-Encoding": "gzip"}) == 400


async def test_half_a_character_is_just_a_wrong_token(public: Client) -> None:
    assert await sent(public, JSON, b'{"token": "\\ud800"}') == 401
    assert await sent(public, FORM, b"token=%ed%a0%80") == 401


@pytest.mark.parametrize("cookie", [b"frontdesk_visitor=a.\xff", b"frontdesk_demo=you.\xff"])
async def test_a_cookie_of_odd_bytes_is_nobodys(sample_client: Client, cookie: bytes) -> None:
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{sample_client.port}\r\nAccept: text/html\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", sample_client.port)
    writer.write(head.encode() + b"Connection: close\r\nCookie: " + cookie + b"\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 200")

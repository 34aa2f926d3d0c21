"""Whose trace is continued: those whom the doors let in, never who writes from a platform."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.settings import Settings
from bot.observability.trace_context import (
    current_trace_id,
    current_traceparent,
    trace_continued_from,
)
from bot.web.auth.security import continue_trace, mount_security
from rag import telemetry
from rag.telemetry import span
from tests.bot.server import BEARER, TOKEN, settings_for
from tests.spans import Spans

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
ASK = "/api/v1/ask"
Client = TestClient[web.Request, web.Application]


@asynccontextmanager
async def doorway(settings: Settings) -> AsyncIterator[Client]:
    """Serve an application whose every answer is the trace that a message would be kept with."""

    async def tell(_: web.Request) -> web.Response:
        return web.Response(text=current_traceparent())

    app = web.Application()
    mount_security(app, settings)
    app.middlewares.append(continue_trace)
    app.router.add_post(ASK, tell)
    app.router.add_post("/slack/events", tell)
    app.router.add_post("/api/messages", tell)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


async def told(client: Client, path: str, headers: dict[str, str]) -> str:
    response = await client.post(path, json={}, headers=headers)
    assert response.status == 200
    return await response.text()


async def test_a_caller_on_this_machine_is_believed(tmp_path: Path) -> None:
    async with doorway(settings_for(tmp_path)) as client:
        assert await told(client, ASK, {"TraceParent": PARENT, "tracestate": "a=b"}) == PARENT


async def test_beyond_it_the_admin_token_is_what_makes_one_believed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", admin_token=TOKEN)  # noqa: S104 - the case
    async with doorway(settings) as client:
        stranger = await client.post(ASK, json={}, headers={"traceparent": PARENT})

        assert stranger.status == 401
        assert await told(client, ASK, {"traceparent": PARENT, **BEARER}) == PARENT


@pytest.mark.parametrize("path", ["/slack/events", "/api/messages"])
@pytest.mark.parametrize("guarded", [True, False])
async def test_who_writes_from_a_platform_is_not_believed(
    tmp_path: Path, path: str, *, guarded: bool
) -> None:
    host = "0.0.0.0" if guarded else "127.0.0.1"  # noqa: S104 - the case
    settings = settings_for(tmp_path, host=host, admin_token=TOKEN)
    async with doorway(settings) as client:
        assert await told(client, path, {"traceparent": PARENT, **BEARER}) == ""


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        PARENT.replace(TRACE, "0" * 32),
        PARENT.replace("00f067aa0ba902b7", "0" * 16),
        PARENT.replace("00-", "ff-", 1),
        PARENT.upper(),
        f"{PARENT}-more",
        "0" * 7000,
    ],
    ids=lambda header: header[:60],
)
async def test_a_header_that_is_none_is_left_aside_in_silence(
    tmp_path: Path, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        async with doorway(settings_for(tmp_path)) as client:
            assert await told(client, ASK, {"traceparent": header}) == ""

    assert caplog.text == ""


async def test_two_headers_are_none(tmp_path: Path) -> None:
    async with doorway(settings_for(tmp_path)) as client:
        twice = [("traceparent", PARENT), ("traceparent", PARENT)]
        response = await client.post(ASK, json={}, headers=twice)

        assert (response.status, await response.text()) == (200, "")


async def test_a_second_request_of_a_connection_does_not_inherit_the_first_trace(
    tmp_path: Path,
) -> None:
    async with doorway(settings_for(tmp_path)) as client:
        await told(client, ASK, {"traceparent": PARENT})

        assert await told(client, ASK, {}) == ""


@given(st.text(max_size=600), st.text(max_size=600))
def test_no_text_whatever_breaks_it(traceparent: str, tracestate: str) -> None:
    with trace_continued_from(traceparent, tracestate):
        assert current_trace_id() == ""
    with trace_continued_from(PARENT, tracestate):
        assert current_trace_id() == TRACE


def test_the_trace_around_has_no_part_in_it(spans: Spans) -> None:
    with span(telemetry.INTERACTION), trace_continued_from(""):
        assert current_traceparent() == ""
        with span(telemetry.GATE):
            assert current_traceparent().startswith("00-")

    assert len(spans.trace_ids()) == 2

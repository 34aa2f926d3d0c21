"""Tests that logs hold what an operator needs, and nothing that must not be kept."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from aiohttp import web
from structlog.testing import capture_logs

from bot.domain.errors import StoreUnavailable
from bot.observability.logs import LastingTrouble, set_up_logs

SECRET = "tok-4711"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    set_up_logs("info", stream)
    yield stream
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


def test_a_traceback_tells_the_place_and_no_variable(written: io.StringIO) -> None:
    try:
        fail(SECRET)
    except ZeroDivisionError:
        structlog.get_logger().exception("it.broke")
        logging.getLogger("library").exception("it broke there")

    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["it.broke", "it broke there"]
    assert all("ZeroDivisionError" in line["exception"] for line in lines)
    assert SECRET not in written.getvalue()


def test_a_line_for_people_has_no_variable_either() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    set_up_logs("info", terminal)
    try:
        fail(SECRET)
    except ZeroDivisionError:
        structlog.get_logger().exception("it.broke")
        logging.getLogger("library").exception("it broke there")
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()

    assert terminal.getvalue().count("ZeroDivisionError") >= 2
    assert SECRET not in terminal.getvalue()


async def test_what_is_no_http_leaves_no_trace_in_the_log(written: io.StringIO) -> None:
    runner = web.AppRunner(web.Application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
    head = b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + SECRET.encode()
    writer.write(head + b"\x00" * 3 + b"\r\n\r\n")
    answer = await reader.read(100)
    writer.close()
    await runner.cleanup()

    assert b" 400 " in answer
    assert written.getvalue() == ""


def fail(secret: str) -> float:
    return len(secret) / 0


AWAY = StoreUnavailable("The disk is full.")


def test_it_is_said_once_that_it_began_and_once_that_it_is_over() -> None:
    trouble = LastingTrouble("news")
    with capture_logs() as logs:
        for error in (None, AWAY, AWAY, None, None):
            trouble.note(error)

    assert [line["event"] for line in logs] == ["news.troubled", "news.well_again"]
    assert logs[0]["why"] == "The disk is full."


def test_the_words_of_a_defect_are_for_nobody_but_the_log() -> None:
    trouble = LastingTrouble("news")
    with capture_logs() as logs:
        trouble.note(RuntimeError("password=hunter2"))

    assert trouble.text == "RuntimeError"
    assert isinstance(logs[0]["exc_info"], RuntimeError)

"""A language model that quotes the first passage: slow, held back or away, as a test wants.

``python -m tests.sweeps.faults.model --seconds 2`` serves one until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.fakes.model_server import completion
from tests.fakes.rag_ports import understood

_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_MARKER = re.compile(r"^\s*(?:\d+[.)]|[-*>])\s+")


class QuotingModel:
    """Answers every question with a line of its first passage, word for word.

    Args:
        seconds: How long each answer takes.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._free = asyncio.Event()
        self._free.set()
        self.url = ""
        self.asked = 0
        self.waiting = 0

    def hold(self) -> None:
        """Answer nothing until ``let_go``."""
        self._free.clear()

    def let_go(self) -> None:
        """Answer what waits, and all that comes."""
        self._free.set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[QuotingModel]:
        """Serve at ``url`` until the block ends."""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1/"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked += 1
        self.waiting += 1
        try:
            await asyncio.sleep(self._seconds)
            await self._free.wait()
        finally:
            self.waiting -= 1
        return web.json_response(completion(_said(body)))


def _said(body: dict[str, Any]) -> str:
    """Return what is said to a prompt: an answer to passages, a word to anything else."""
    lines = _LINE.findall(str(body["messages"][-1]["content"]))
    if not lines:
        return understood()
    number, fact = _first_line(lines)
    part = {"lines": [int(number)], "kind": "paragraph", "text": fact}
    answer = {"reading": None, "parts": [part], "conflict": False, "missing": None}
    return json.dumps({**answer, "certainty": "high", "answerable": True})


def _first_line(lines: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the first line that says something, with its number: no heading, no table's row."""
    stated = ((number, _MARKER.sub("", line).strip()) for number, line in lines)
    return next((one for one in stated if len(one[1]) > 20 and one[1][0] not in "#|`"), lines[0])


async def _serve(seconds: float) -> None:
    async with QuotingModel(seconds).serving() as model:
        print(model.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    asyncio.run(_serve(parser.parse_args().seconds))

"""What a model answers, in the form that it is asked for, from the numbered lines of a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from aiohttp import web

from tests.rag.models.openai_server import Answer, completion

_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def part(text: str, *lines: int, kind: str = "paragraph") -> dict[str, object]:
    """Return one part of an answer."""
    return {"lines": list(lines), "kind": kind, "text": text}


def grounded(*parts: dict[str, object], **changes: object) -> str:
    """Return a whole answer, in the order of its fields."""
    whole = {
        "reading": None,
        "parts": list(parts),
        "conflict": False,
        "missing": None,
        "certainty": "high",
        "answerable": bool(parts),
    }
    return json.dumps(whole | changes)


def line_of(prompt: str, words: str) -> int:
    """Return the number of the first line that has these words; 0 when none has."""
    return next((int(number) for number, text in _LINE.findall(prompt) if words in text), 0)


def stating(prompt: str, stated: Sequence[tuple[str, str]], **changes: object) -> str:
    """Return an answer of (text, words of the line that it cites)."""
    parts = [part(text, line_of(prompt, words)) for text, words in stated]
    return grounded(*parts, **changes)


def states(*stated: tuple[str, str], **changes: object) -> Answer:
    """Answer a request so; what is not asked for in a form is answered with a word."""

    async def answer(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
        messages = body["messages"]
        assert isinstance(messages, list)
        prompt = str(messages[-1]["content"])
        said = stating(prompt, stated, **changes) if "response_format" in body else "DOMAIN"
        return web.json_response(completion(said))

    return answer

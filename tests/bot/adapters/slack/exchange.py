"""What a call to Slack carries, JSON or a form in which some fields are JSON; and its answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web


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

"""What a call to Slack carries, JSON or a form in which some fields are JSON; and its answers."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web


async def arguments_of(request: web.Request) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    if request.content_type == "application/json":
        return dict(await request.json())
    given = {**request.query, **await request.post()}
    return {key: _decoded(str(value)) for key, value in given.items()}


def _decoded(value: str) -> Any:  # noqa: ANN401  # a form may hold any JSON
    return json.loads(value) if value[:1] in {"[", "{"} else value


def permalink(arguments: dict[str, Any]) -> web.Response:
    link = f"https://acme.slack.com/archives/{arguments['channel']}"
    return ok(permalink=f"{link}/p{arguments['message_ts'].replace('.', '')}")


def ok(**fields: object) -> web.Response:
    return web.json_response({"ok": True, **fields})


def error(code: str) -> web.Response:
    return web.json_response({"ok": False, "error": code})

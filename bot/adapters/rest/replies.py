"""What the API sends."""

from __future__ import annotations

from aiohttp import web
from pydantic import BaseModel

from bot.adapters.rest import wire


def as_json(
    model: BaseModel, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    """Return a model as JSON; `pipeline` is left out where nobody asked for it."""
    unasked = isinstance(model, wire.AnswerBase) and model.pipeline is None
    body = model.model_dump_json(exclude={"pipeline"} if unasked else None)
    return web.Response(
        body=body.encode(), status=status, headers=headers, content_type="application/json"
    )

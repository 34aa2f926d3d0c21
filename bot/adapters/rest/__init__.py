"""The JSON API."""

from __future__ import annotations

from aiohttp import web

from bot.adapters.rest.documents import DocumentsApi
from bot.adapters.rest.handlers import CheckParts, Rest
from bot.adapters.rest.openapi import OPERATIONS, document
from bot.adapters.rest.operations_documents import SPACE
from bot.adapters.rest.record import RecordApi
from bot.config import Settings
from bot.doors.problems import take_larger
from bot.escalations.reading import Readable
from bot.ports import Audits, Inbox, Interactions

__all__ = ["CheckParts", "DocumentsApi", "RecordApi", "mount"]


def mount(
    app: web.Application,
    *,
    inbox: Inbox,
    interactions: Interactions,
    audits: Audits,
    settings: Settings,
    check_parts: CheckParts,
    record: RecordApi,
    documents: DocumentsApi,
    readable: Readable,
    ask_seconds: float = 60.0,
) -> None:
    """Add the API's routes; the doors (bot.doors.doors) must be mounted on the same app."""
    rest = Rest(
        inbox=inbox,
        interactions=interactions,
        audits=audits,
        settings=settings,
        check_parts=check_parts,
        readable=readable,
        ask_seconds=ask_seconds,
    )
    described = document()

    async def openapi(_: web.Request) -> web.Response:
        return web.json_response(described)

    handlers = {
        "ask": rest.ask,
        "interaction": rest.interaction,
        "amend": rest.amend,
        "withdraw": rest.withdraw,
        "judge": rest.judge,
        "unjudge": rest.unjudge,
        "health": rest.health,
        "ready": rest.ready,
        "document": openapi,
        "questions": record.questions,
        "escalations": record.escalations,
        "escalation": record.escalation,
        "act": record.act,
        "usage": record.usage,
        "spaces": documents.spaces,
        "space": documents.space,
        "upload": documents.upload,
        "indexed": documents.indexed,
        "remove": documents.remove,
        "reindex": documents.reindex,
        "runs": documents.runs,
        "cancel": documents.cancel,
    }
    take_larger(app, SPACE, documents.bounds.body)
    for operation in OPERATIONS:
        handler = handlers[operation.handler]
        if operation.method == "GET":
            app.router.add_get(operation.path, handler)
        else:
            app.router.add_route(operation.method, operation.path, handler)

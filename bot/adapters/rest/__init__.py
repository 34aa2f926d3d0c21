"""The JSON API, in two versions over the same handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from urllib.parse import quote

from aiohttp import web

from bot.adapters.rest.documents import DocumentsApi
from bot.adapters.rest.handlers import CheckParts, Rest, first_version, second_version
from bot.adapters.rest.openapi import OPERATIONS, document
from bot.adapters.rest.operations import V1, V2
from bot.adapters.rest.record import RecordApi
from bot.answering.visibility import ReadablePassages
from bot.domain.ports import Audits, Inbox, Interactions
from bot.domain.settings import Settings
from bot.doors.problems import take_larger

__all__ = ["CheckParts", "DocumentsApi", "RecordApi", "mount"]

DEPRECATED_SINCE = datetime(2026, 11, 23, tzinfo=UTC)
"""Since when version 2 is to be used instead of version 1."""

WebHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
    readable: ReadablePassages,
    ask_seconds: float = 60.0,
) -> None:
    """Add the API's routes; the doors (bot.doors.doors) must be mounted on the same app."""
    versions = {
        version.root: Rest(
            version,
            inbox=inbox,
            interactions=interactions,
            audits=audits,
            settings=settings,
            check_parts=check_parts,
            readable=readable,
            ask_seconds=ask_seconds,
        )
        for version in (first_version(settings), second_version(settings))
    }
    described = document()

    async def openapi(_: web.Request) -> web.Response:
        return web.json_response(described)

    both = {
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
    handlers = {root: both | _of_questions(rest) for root, rest in versions.items()}
    handlers[V1]["questions"] = record.questions_v1
    app.on_response_prepare.append(_name_successor)
    for operation in OPERATIONS:
        handler = handlers[V1 if operation.deprecated else V2][operation.handler]
        if operation.handler == "upload":
            take_larger(app, operation.path, documents.bounds.body)
        if operation.method == "GET":
            app.router.add_get(operation.path, handler)
        else:
            app.router.add_route(operation.method, operation.path, handler)


def _of_questions(rest: Rest) -> dict[str, WebHandler]:
    return {
        "ask": rest.ask,
        "interaction": rest.interaction,
        "amend": rest.amend,
        "withdraw": rest.withdraw,
        "judge": rest.judge,
        "unjudge": rest.unjudge,
        "health": rest.health,
        "ready": rest.ready,
    }


async def _name_successor(request: web.Request, response: web.StreamResponse) -> None:
    """Mark every response of version 1 as deprecated (RFC 9745), with where its successor is."""
    resource = request.match_info.route.resource
    if resource is None or not resource.canonical.startswith(f"{V1}/"):
        return
    successor = quote(request.rel_url.raw_path.replace(V1, V2, 1), safe="/%")
    response.headers["Deprecation"] = f"@{int(DEPRECATED_SINCE.timestamp())}"
    response.headers["Link"] = f'<{successor}>; rel="successor-version"'

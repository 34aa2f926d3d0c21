"""Mount the JSON API in two versions, describe it as OpenAPI 3.1, and show it on a page.

The routes and the OpenAPI document are both generated from the table of operations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp_jinja2
from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot.answering.visibility import ReadablePassages
from bot.domain.health import CheckComponents
from bot.domain.ports import Audits, Inbox, Interactions
from bot.domain.settings import Settings
from bot.web.api.documents import DOCUMENT_OPERATIONS, DocumentsApi
from bot.web.api.gaps import GAP_OPERATIONS, GapsApi
from bot.web.api.insights import INSIGHT_OPERATIONS, InsightsApi
from bot.web.api.interactions import InteractionsApi, first_version, second_version
from bot.web.api.operations import (
    INTERACTION_OPERATIONS,
    PROBLEMS,
    TOO_MANY,
    V1,
    V2,
    Operation,
    Parameter,
    in_v1,
)
from bot.web.api.record import RecordApi
from bot.web.api.reviewed_answers import ANSWER_OPERATIONS, ReviewedAnswersApi
from bot.web.api.schemas import VERSION
from bot.web.api.shadow import SHADOW_OPERATIONS, ShadowApi
from bot.web.pages import add_pages
from bot.web.problems import ProblemDetails, allow_larger_body
from bot.web.question_forms import FILE_LIMITS

REFERENCE = "#/components/schemas/{model}"

Json = dict[str, Any]

CURRENT_OPERATIONS = (*INTERACTION_OPERATIONS, *DOCUMENT_OPERATIONS)
"""The operations of version 2, and the unversioned ones (health, readiness, OpenAPI document)."""

OPERATIONS = (
    *CURRENT_OPERATIONS,
    *GAP_OPERATIONS,
    *ANSWER_OPERATIONS,
    *INSIGHT_OPERATIONS,
    *SHADOW_OPERATIONS,
    *(in_v1(each) for each in CURRENT_OPERATIONS if each.path.startswith(V2)),
)
"""All operations, in both versions; what is newer than version 2 is in that one alone."""

_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to try again, where that is known.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
"""Response headers of the temporary errors, 429 and 503."""


_BYTES = {"type": "string", "format": "binary"}


def openapi_document() -> Json:
    """Return the OpenAPI document."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Frontdesk",
            "version": VERSION,
            "description": "Ask the company's wiki; every answer has its sources.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The admin token."},
                "session": {"type": "apiKey", "in": "cookie", "name": "frontdesk_session"},
            },
        },
        "security": [{}, {"token": []}, {"session": []}],
    }


def _operation(operation: Operation) -> Json:
    described: Json = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [_tag(operation)],
        "responses": {
            **{str(status): _reply_json(model) for status, model in operation.replies.items()},
            **{str(status): _problem_json(status) for status in sorted(_only_problems(operation))},
        },
    }
    if operation.parameters:
        described["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": _bodies(operation.body, operation),
        }
    if operation.open:
        described["security"] = []
    if operation.deprecated:
        described["deprecated"] = True
    return described


def _tag(operation: Operation) -> str:
    """Return the group of an operation: its first path segment below the version."""
    if operation.deprecated:
        return "version 1"
    return (
        operation.path.removeprefix(f"{V2}/").split("/")[0]
        if operation.path.startswith(V2)
        else "server"
    )


def _only_problems(operation: Operation) -> Iterable[int]:
    return (status for status in operation.problems if status not in operation.replies)


def _reply_json(model: type[BaseModel] | None) -> Json:
    if model is None:
        return {"description": "Done."}
    return {"description": model.__doc__, "content": _content(model)}


def _problem_json(status: int) -> Json:
    reference = {"$ref": REFERENCE.format(model=ProblemDetails.__name__)}
    described: Json = {
        "description": PROBLEMS[status],
        "content": {"application/problem+json": {"schema": reference}},
    }
    return described | {"headers": _RETRY_AFTER} if status in {TOO_MANY, 503} else described


def _content(model: type[BaseModel], content_type: str = "application/json") -> Json:
    return {content_type: {"schema": {"$ref": REFERENCE.format(model=model.__name__)}}}


def _bodies(body: type[BaseModel], operation: Operation) -> Json:
    content = _content(body, operation.body_type)
    for content_type, model in operation.other_bodies.items():
        content |= _content(model, content_type) if model else {content_type: {"schema": _BYTES}}
    return content


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.where == "path",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _schemas() -> Json:
    models: dict[type[BaseModel], JsonSchemaMode] = {ProblemDetails: "serialization"}
    for operation in OPERATIONS:
        models |= {model: "serialization" for model in operation.replies.values() if model}
        if operation.body is not None:
            models[operation.body] = "validation"
        models |= {model: "validation" for model in operation.other_bodies.values() if model}
    listed = sorted(models.items(), key=str)
    _, schemas = models_json_schema(listed, ref_template=REFERENCE)
    return dict(schemas["$defs"])


__all__ = [
    "DocumentsApi",
    "GapsApi",
    "InsightsApi",
    "RecordApi",
    "ReviewedAnswersApi",
    "ShadowApi",
    "mount",
]

DEPRECATED_SINCE = datetime(2026, 11, 23, tzinfo=UTC)
"""The date from which version 1 is deprecated (the ``Deprecation`` header)."""

WebHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def mount(
    app: web.Application,
    *,
    inbox: Inbox,
    interactions: Interactions,
    audits: Audits,
    settings: Settings,
    check_parts: CheckComponents,
    record: RecordApi,
    documents: DocumentsApi,
    gaps: GapsApi,
    answers: ReviewedAnswersApi,
    insights: InsightsApi,
    shadow: ShadowApi,
    readable: ReadablePassages,
    ask_seconds: float = 60.0,
) -> None:
    """Add the API's routes to an app.

    ``mount_security`` (bot.web.auth.security) must have been called on the same app.
    """
    first = InteractionsApi(
        version=first_version(settings),
        inbox=inbox,
        interactions=interactions,
        audits=audits,
        settings=settings,
        check_parts=check_parts,
        readable=readable,
        ask_seconds=ask_seconds,
    )
    second = replace(first, version=second_version(settings))
    # Built at the first request: it takes as long as a tenth of the start.
    described = cache(openapi_document)

    async def openapi(_: web.Request) -> web.Response:
        return web.json_response(await asyncio.to_thread(described))

    handlers = {
        V1: _handlers(first, record, documents) | {"questions": record.questions_v1},
        V2: _handlers(second, record, documents)
        | {"document": openapi, "gaps": gaps.list, "gap": gaps.one, "gap_state": gaps.set_state}
        | {
            "answers": answers.list,
            "answer": answers.one,
            "keep_answer": answers.keep,
            "answer_act": answers.act,
        }
        | {"insights": insights.show, "shadow": shadow.report},
    }
    app.on_response_prepare.append(_add_deprecation_headers)
    for operation in OPERATIONS:
        handler = handlers[V1 if operation.deprecated else V2][operation.handler]
        if operation.handler in {"upload", "put_document"}:
            allow_larger_body(app, operation.path, documents.bounds.body)
        elif operation.handler == "ask":
            allow_larger_body(app, operation.path, FILE_LIMITS.body)
        if operation.method == "GET":
            app.router.add_get(operation.path, handler)
        else:
            app.router.add_route(operation.method, operation.path, handler)


def _handlers(
    questions: InteractionsApi, record: RecordApi, documents: DocumentsApi
) -> dict[str, WebHandler]:
    return {
        "ask": questions.ask,
        "interaction": questions.interaction,
        "amend": questions.amend,
        "withdraw": questions.withdraw,
        "judge": questions.judge,
        "unjudge": questions.unjudge,
        "health": questions.health,
        "ready": questions.ready,
        "questions": record.questions,
        "escalations": record.escalations,
        "escalation": record.escalation,
        "act": record.act,
        "usage": record.usage_sums,
        "spaces": documents.spaces,
        "space": documents.space,
        "upload": documents.upload,
        "put_document": documents.put,
        "indexed": documents.indexed,
        "remove": documents.remove,
        "reindex": documents.reindex,
        "runs": documents.runs,
        "cancel": documents.cancel,
    }


async def _add_deprecation_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add ``Deprecation`` (RFC 9745) and a ``Link`` to the successor to version 1 responses."""
    resource = request.match_info.route.resource
    if resource is None or not resource.canonical.startswith(f"{V1}/"):
        return
    successor = quote(request.rel_url.raw_path.replace(V1, V2, 1), safe="/%")
    response.headers["Deprecation"] = f"@{int(DEPRECATED_SINCE.timestamp())}"
    response.headers["Link"] = f'<{successor}>; rel="successor-version"'


_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of Swagger UI: its stylesheet has its icons inside."""


def mount_reference(app: web.Application) -> None:
    """Add the page that shows the API and tries it out: Swagger UI, whose files are vendored.

    Who may see it is who may see the OpenAPI document: whoever may ask.
    """
    add_pages(app, Path(__file__).parent)
    app.router.add_get("/docs", _reference)


async def _reference(request: web.Request) -> web.Response:
    response = aiohttp_jinja2.render_template("api/reference.html", request, {})
    response.headers["Content-Security-Policy"] = _DOCS_POLICY
    return response

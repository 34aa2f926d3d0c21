"""Return errors as application/problem+json (RFC 9457), without any exception's own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import BaseModel, Field

from bot.domain.errors import (
    InboxFull,
    InboxUnavailable,
    InteractionUnknown,
    RateExceeded,
    StoreUnavailable,
)
from bot.domain.texts import tr
from bot.domain.texts.ingestion_texts import ingestion_text
from bot.web.languages import language_of
from ingestion.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown

log = structlog.get_logger(__name__)

MAX_BODY = 1024**2
"""The maximum size of a request body, in bytes."""

_LARGER_BODIES: web.AppKey[dict[str, int]] = web.AppKey("larger_bodies", dict[str, int])
"""Larger maximum sizes of routes' bodies, in bytes, by canonical path."""

DETAILS: Mapping[int, str] = {
    400: tr("The request can't be read. Send valid HTTP and JSON."),
    401: tr("Sign in first: send `Authorization: Bearer` with the admin token, or open /session."),
    403: tr("You don't have permission to do this."),
    404: tr("There is nothing at this address. /openapi.json lists all addresses."),
    405: tr("This method is not allowed here. See the Allow header for the allowed ones."),
    413: tr("The request is too large. The maximum is 1 MB."),
    415: tr("Send JSON, with the header `Content-Type: application/json`."),
    500: tr("Something went wrong on our side. It has been logged; try again or tell your admin."),
    503: tr("The service is temporarily unavailable. Try again in a minute."),
}


class FieldProblem(BaseModel):
    """What is wrong with one field of a request."""

    field: str = Field(description="Where in the request, with dots: user.email")
    value: object = Field(description="What was sent there, shortened.")
    problem: str
    cure: str


class ProblemDetails(BaseModel):
    """RFC 9457. `detail` and `cure` are for people."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    cure: str | None = None
    errors: list[FieldProblem] | None = None
    interaction_id: str | None = Field(None, description="The question, as it is in the record.")
    poll: str | None = Field(None, description="Where its answer will be.")
    conversation_id: str | None = Field(None, description="Its conversation, to go on with.")
    limit: str | None = Field(
        None, description="The limit that refused it: rate, budget, pause or queue."
    )


class Problem(Exception):
    """An error response as an exception; carries exactly what the client gets."""

    def __init__(
        self,
        details: ProblemDetails,
        headers: Mapping[str, str] | None = None,
        *,
        told: Sequence[str] = (),
    ) -> None:
        super().__init__(details.detail)
        self.details = details
        # Texts that a page shows in its reader's language; the details are plain English.
        self.told = told or tuple(filter(None, (details.detail, details.cure)))
        self.headers = dict(headers or {})


def problem(
    status: int,
    detail: str = "",
    *,
    cure: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: str | list[FieldProblem],
) -> Problem:
    """Return a problem to raise; the default ``detail`` explains the status."""
    text = detail or DETAILS.get(status, HTTPStatus(status).description)
    details = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": text,
        "cure": cure,
        **more,
    }
    told = (text, cure) if cure else (text,)
    return Problem(ProblemDetails.model_validate(details), headers, told=told)


def allow_larger_body(app: web.Application, path: str, most: int) -> None:
    """Set the maximum body size of the route with a canonical path, in bytes."""
    app.setdefault(_LARGER_BODIES, {})[path] = most


def max_body_bytes(request: web.Request) -> int:
    """Return the maximum body size of a request, in bytes."""
    resource = request.match_info.route.resource
    larger = request.config_dict.get(_LARGER_BODIES, {})
    return larger.get(resource.canonical, MAX_BODY) if resource is not None else MAX_BODY


def body_too_long(most: int) -> Problem:
    """Return the problem for a body that is too large."""
    detail = tr("The request is too large. The maximum is {most} MB.", most=most // MAX_BODY)
    return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every exception into a problem response."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        return _response(request, _problem_of_http(error))
    except web.RequestPayloadError:
        return _response(request, problem(400))
    except ConnectionError as error:
        if request.transport is not None:
            return _response(request, _problem_of(request, error))
        # The client disconnected before the end of its request: nobody reads this response.
        return _response(request, problem(400))
    except Exception as error:  # noqa: BLE001 - mapped and logged in _problem_of
        return _response(request, _problem_of(request, error))


def _problem_of(request: web.Request, error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case InboxFull() | RateExceeded():
            return _overload(error)
        case InboxUnavailable() | StoreUnavailable():
            # The error's text has cause and cure; a traceback per refused request would bury them.
            log.error("request.unavailable", path=request.path, why=str(error))
            return problem(503, headers={"Retry-After": "60"})
        case DocumentRefused():
            return document_problem(error)
        case InteractionUnknown():
            return problem(404, tr("This question does not exist or was withdrawn."))
        case _:
            log.error("request.failed", method=request.method, path=request.path, exc_info=error)
            return problem(500)


def _overload(error: InboxFull | RateExceeded) -> Problem:
    if isinstance(error, RateExceeded):
        wait = {"Retry-After": str(error.retry_after_seconds)}
        return problem(429, str(error), headers=wait, limit="rate")
    full = tr("Too many questions are waiting. Ask again in a minute.")
    return problem(503, full, headers={"Retry-After": "60"})


def document_problem(error: DocumentRefused) -> Problem:
    """Return the problem for a refused document."""
    return problem(_status_of(error), ingestion_text(str(error)))


def _status_of(refused: DocumentRefused) -> int:
    match refused:
        case DocumentUnknown():
            return 404
        case DocumentInTheWay():
            return 409
        case _:
            return 422


def _problem_of_http(error: web.HTTPException) -> Problem:
    """Keep a handler's own text and the Allow header."""
    ours = error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    written = error.text if ours and error.text != f"{error.status}: {error.reason}" else ""
    allow = error.headers.get("Allow")
    return problem(error.status, written or "", headers={"Allow": allow} if allow else None)


def _response(request: web.Request, error: Problem) -> web.Response:
    details = error.details
    if "HX-Request" in request.headers:
        # Its script shows the detail to the reader of the page.
        told = map(language_of(request).text, error.told)
        details = details.model_copy(update=dict(zip(("detail", "cure"), told, strict=False)))
    return web.Response(
        status=details.status,
        body=details.model_dump_json(exclude_none=True).encode(),
        content_type="application/problem+json",
        headers=error.headers,
    )

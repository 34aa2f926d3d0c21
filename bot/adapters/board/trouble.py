"""What goes wrong on a page of the board, told as a page: what it is, and what to do."""

from __future__ import annotations

import aiohttp_jinja2
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from bot.domain.errors import StoreUnavailable
from bot.doors.problems import Problem, problem

_TITLES = {
    403: "This is not for you",
    404: "There is nothing here",
    409: "That can't be done now",
    422: "That can't be done",
    503: "Not right now",
}
_FALLBACK = "That did not work"

log = structlog.get_logger(__name__)


@web.middleware
async def told_as_page(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Show who opens a page of the board what went wrong; programs get a problem as ever."""
    if not _is_page_view(request):
        return await handler(request)
    try:
        return await handler(request)
    except Problem as refused:
        return _page(request, refused)
    except StoreUnavailable as error:
        log.error("request.unavailable", path=request.path, why=str(error))  # noqa: TRY400 - the text names cause and cure
        return _page(request, problem(503))
    except web.HTTPClientError as refused:
        own = refused.text if refused.text != f"{refused.status}: {refused.reason}" else ""
        return _page(request, problem(refused.status, own or ""))


def _is_page_view(request: web.Request) -> bool:
    on_board = request.path == "/board" or request.path.startswith("/board/")
    seen = "text/html" in request.headers.get("Accept", "")
    return on_board and seen and "HX-Request" not in request.headers


def _page(request: web.Request, trouble: Problem) -> web.Response:
    details = trouble.details
    title = _TITLES.get(details.status, _FALLBACK)
    context = {"title": title, "details": details}
    response = aiohttp_jinja2.render_template("board/trouble.html", request, context)
    response.set_status(details.status)
    response.headers.update(trouble.headers)
    return response

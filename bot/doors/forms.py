"""Forms as pages send them, read once and early: one that can't be read is the sender's mistake."""

from __future__ import annotations

from aiohttp import ClientError, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from bot.chat.adapters import is_platform_endpoint
from bot.doors.problems import MAX_BODY, most_bytes, problem

_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_UNREADABLE = (
    ValueError,
    LookupError,
    AssertionError,
    RuntimeError,
    ClientError,
    HttpProcessingError,
)
"""What reading raises for a wrong boundary, part, character set or byte."""


@web.middleware
async def forms(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Read a request's form; handlers then find it read. Raises Problem (400).

    A platform reads its own requests, and so does a handler that takes files.
    """
    takes_files = most_bytes(request) > MAX_BODY
    if (
        request.content_type in _FORMS
        and not takes_files
        and not is_platform_endpoint(request.path)
    ):
        await _read(request)
    return await handler(request)


async def _read(request: web.Request) -> None:
    try:
        await request.post()
    except _UNREADABLE as error:
        raise problem(400, "The form can't be read.", cure="Send it again, in UTF-8.") from error

"""What the one who makes a request may read now."""

from __future__ import annotations

from aiohttp import web

from bot.doors.identity import person_of
from bot.ports import Directory
from rag.types import EVERYONE, Principal

DIRECTORY: web.AppKey[Directory] = web.AppKey("directory")
"""What a colleague may read, as at admission; put there by the composition."""


async def reads(request: web.Request, tenant: str) -> frozenset[Principal]:
    """Return the principals of who makes a request.

    Asked where pages are shown and nowhere else: it is never kept with what somebody writes.
    """
    person = person_of(request)
    directory = request.config_dict.get(DIRECTORY)
    if directory is None:
        return person.principals | {EVERYONE}
    return await directory.principals(tenant, person) | {EVERYONE}

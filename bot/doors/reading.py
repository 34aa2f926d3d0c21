"""What the one who makes a request may read now."""

from __future__ import annotations

from aiohttp import web

from bot.domain.ports import Directory
from bot.domain.types import Interaction, Person
from bot.doors.identity import asks_for_others, person_of
from rag.types import EVERYONE, Principal

DIRECTORY: web.AppKey[Directory] = web.AppKey("directory")
"""What a colleague may read, as at admission; put there by the composition."""


async def reads(request: web.Request, tenant: str) -> frozenset[Principal]:
    """Return the principals of who makes a request.

    Asked where pages are shown and nowhere else: it is never kept with what somebody writes.
    """
    return await _principals(request, tenant, person_of(request))


async def reads_for(request: web.Request, asked: Interaction) -> frozenset[Principal]:
    """Return the principals with which a question is shown to who makes a request.

    Whoever may say for whom they ask, such as a client with the admin token, reads what its asker
    may read on these platforms; anybody else what they may read themselves.
    """
    message = asked.message
    ours = message.thread.platform in {"rest", "web"}
    person = message.author if ours and asks_for_others(request) else person_of(request)
    return await _principals(request, message.thread.tenant, person)


async def _principals(request: web.Request, tenant: str, person: Person) -> frozenset[Principal]:
    directory = request.config_dict.get(DIRECTORY)
    if directory is None:
        return person.principals | {EVERYONE}
    return await directory.principals(tenant, person) | {EVERYONE}

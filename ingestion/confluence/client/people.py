"""Reads people and their groups, which both editions tell alike but for how somebody is named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from pydantic import BaseModel

from ingestion.confluence.client.paging import Part, items
from ingestion.confluence.client.shapes import GroupPart, Person
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.emails import folded
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import WikiGroup, WikiUser

_LIMIT = 200


class Hit(BaseModel):
    """What a search for people finds."""

    user: Person | None = None


HitPart = Part[Hit]


class People:
    """People of a site. ``by`` is what the edition calls the id of one."""

    def __init__(self, transport: Transport, *, by: Literal["accountId", "key"]) -> None:
        self._transport = transport
        self._by = by

    async def user(self, user_id: str) -> WikiUser:
        answer = await self._transport.get("/rest/api/user", {self._by: user_id}, shape=Person)
        if answer.value.id != user_id:
            raise NotVisible(f"Confluence knows nobody with the id {user_id!r}.")
        return answer.value.user()

    async def groups_of(self, user_id: str) -> tuple[WikiGroup, ...]:
        query: Query = {self._by: user_id, "limit": _LIMIT}
        found = items(self._transport, "/rest/api/user/memberof", query, of=GroupPart, counted=True)
        return tuple({each.key: each.group() async for each in found if each.key}.values())


async def by_email(
    transport: Transport, path: str, queries: tuple[str, ...], email: str
) -> WikiUser | None:
    """Return the one person among those found who shows this very address.

    ``queries`` (CQL) are tried until one finds somebody who does. None for nobody, and for
    several, who can't be told apart.
    """
    for cql in queries:
        found = {person.id: person async for person in _found(transport, path, cql)}
        shown = [user for user in found.values() if folded(user.email) == folded(email)]
        if shown:
            return shown[0] if len(shown) == 1 else None
    return None


async def _found(transport: Transport, path: str, cql: str) -> AsyncIterator[WikiUser]:
    query: Query = {"cql": cql, "limit": _LIMIT}
    async for hit in items(transport, path, query, of=HitPart):
        if hit.user is not None and hit.user.id:
            yield hit.user.user()

"""Who is in a conversation, asked of the connector."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.adapters.teams.calling.connector import Act, Connector
from bot.adapters.teams.wire.body import Body
from bot.adapters.teams.wire.reference import room_in
from bot.domain.errors import DeliveryFailed

PAGE = 500
"""How many people a page may have; Teams takes no more, and gives fewer where it likes."""

_PATIENCE_SECONDS = 2.0
TURN_SECONDS = 5.0
"""Somebody waits for an answer meanwhile; who is not known by then is not answered."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the people; ``onwards`` leads to the next page, "" after the last."""

    people: Sequence[Body]
    onwards: str = ""


class Roster:
    """Asks, for so many seconds. Raises DeliveryFailed, Gone where there is no such thing."""

    def __init__(self, connector: Connector, *, seconds: float = TURN_SECONDS) -> None:
        self._connector = connector
        self.seconds = seconds

    async def one(self, reply_to: str, user_id: str) -> Body:
        """Return what is told of somebody (29:…) in the conversation of a reference."""
        there = room_in(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.get_conversation_member(there, user_id)

        return _told(await self._asked(reply_to, act))

    async def page(self, reply_to: str, onwards: str = "", *, size: int = PAGE) -> Page:
        """Return a page of who is in the conversation of a reference."""
        there = room_in(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.get_conversation_paged_members(there, size, onwards or None)

        answer = await self._asked(reply_to, act)
        people = [_told(each) for each in getattr(answer, "members", None) or ()]
        return Page(people, str(getattr(answer, "continuation_token", None) or ""))

    async def _asked(self, reply_to: str, act: Act) -> Any:  # noqa: ANN401  # botbuilder has no types
        try:
            async with asyncio.timeout(self.seconds):
                return await self._connector.call(reply_to, act, patience_seconds=_PATIENCE_SECONDS)
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not say in time who is there.") from error


def _told(account: Any) -> Body:  # noqa: ANN401  # botbuilder has no types
    """Return a member as Teams told it; botbuilder keeps what it does not know to one side."""
    extra: Mapping[str, object] = getattr(account, "additional_properties", None) or {}
    known = {"id": "id", "name": "name", "aadObjectId": "aad_object_id"}
    return {**extra, **{key: getattr(account, field, None) for key, field in known.items()}}

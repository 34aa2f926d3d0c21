"""Where the activities of a reply or notice are, for whoever goes on with it or takes it back."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Notes
from bot.domain.types import InteractionId, Message

REPLY = "reply"
"""The name of what answers a question, beside the ids of notices."""

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class Parts:
    """Keeps the ids of activities in their order, by question and by what they belong to.

    This process remembers them all. Those of what has several are noted as well, so that any
    process finds them.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._posted: OrderedDict[tuple[InteractionId, str], tuple[str, ...]] = OrderedDict()

    async def of(self, message: Message, name: str, *, several: bool) -> tuple[str, ...]:
        """Return what is posted of a reply or notice. Raises StoreUnavailable.

        Only of what has ``several`` parts another process can know more.
        """
        posted = self._posted.get((message.interaction_id, name), ())
        if posted or not several:
            return posted
        return _read(await self._notes.get(message.thread.tenant, _key(message, name)))

    async def keep(
        self, message: Message, name: str, posted: Sequence[str], *, several: bool
    ) -> None:
        """Keep what is posted so far; what can't be noted, this process knows all the same."""
        self._remember(message.interaction_id, name, tuple(posted))
        if several:
            await self._note(message, _key(message, name), json.dumps(list(posted)))
            await self._note(
                message, _reverse(message.thread.channel, posted[-1]), message.interaction_id
            )

    async def all_of(self, message: Message) -> tuple[str, ...]:
        """Return everything that is known to be posted about a question, notices among it.

        Raises StoreUnavailable.
        """
        noted = await self._notes.beginning(message.thread.tenant, _key(message, ""))
        here = [
            activity_id
            for (interaction_id, _), posted in self._posted.items()
            if interaction_id == message.interaction_id
            for activity_id in posted
        ]
        there = [activity_id for text in noted.values() for activity_id in _read(text)]
        return tuple(dict.fromkeys([*here, *there]))

    async def question_of(
        self, tenant: str, channel: str, activity_id: str
    ) -> InteractionId | None:
        """Return what a part is about; None for what is no part of several.

        Raises StoreUnavailable.
        """
        noted = await self._notes.get(tenant, _reverse(channel, activity_id))
        return InteractionId(noted) if noted else None

    async def _note(self, message: Message, key: str, text: str) -> None:
        about = message.interaction_id
        try:
            await self._notes.put(message.thread.tenant, key, text, interaction_id=about)
        except StoreUnavailable as error:
            log.warning("teams.part_not_noted", interaction_id=about, why=str(error))

    def _remember(self, about: InteractionId, name: str, posted: tuple[str, ...]) -> None:
        self._posted[about, name] = posted
        self._posted.move_to_end((about, name))
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)


def _key(message: Message, name: str) -> str:
    return f"teams:parts:{message.interaction_id}:{name}"


def _reverse(channel: str, activity_id: str) -> str:
    return f"teams:part:{channel}:{activity_id}"


def _read(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()

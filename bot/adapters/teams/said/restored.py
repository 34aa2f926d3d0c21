"""Questions whose asker took the deletion back: they are asked once more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from bot.chat.adapters import ChatContext
from bot.domain.types import Message


@dataclass(frozen=True, slots=True)
class Restored:
    """The last time that a message was restored, in seconds, and the id it is asked under."""

    at: str
    id: str


class Restorations:
    """Knows under which id a message is asked now.

    A withdrawn question's words are forgotten and its id is not answered again, so that a restored
    one gets another; it begins with the first, and goes with it. Raises StoreUnavailable.
    """

    def __init__(self, office: ChatContext) -> None:
        self._notes = office.notes
        self._interactions = office.interactions
        self._tenant = office.tenant

    async def last(self, message: Message) -> Restored | None:
        """Return when a message was restored last, None if it never was."""
        noted = await self._notes.get(self._tenant, _key(message))
        at, _, name = (noted or "").partition(" ")
        return Restored(at, name) if noted else None

    async def newest(self, message: Message) -> Message:
        """Return a message under the id that it is asked under."""
        last = await self.last(message)
        return replace(message, id=last.id) if last else message

    async def restore(self, message: Message, at: str) -> Message:
        """Return a message as it is asked, after a deletion of it was taken back at a time.

        Doing so again, or for an earlier time, changes nothing.
        """
        last = await self.last(message)
        if last and not is_later(at, last.at):
            return replace(message, id=last.id)
        now = replace(message, id=last.id) if last else message
        kept = await self._interactions.get(now.interaction_id)
        if kept is not None and kept.withdrawn:
            now = replace(message, id=f"{message.id}:restored:{at}")
        await self._notes.put(self._tenant, _key(message), f"{at} {now.id}")
        return now


def is_later(at: str, than: str) -> bool:
    """Tell whether a time is later; one that is not known is the latest."""
    return not at or not than or Decimal(at) > Decimal(than)


def _key(message: Message) -> str:
    return f"teams:restored:{message.interaction_id}"

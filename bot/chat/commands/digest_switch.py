"""Switch the weekly digest on and off where the command is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.chat.commands.types import CommandCaller, DigestRequest, Done
from bot.learning.digest import DigestRecord, Schedule, Subscription

_ON = "The weekly digest comes {where}, next on {next}. \u201c{command}digest off\u201d ends it."
_OFF = "No weekly digest comes {where}. \u201c{command}digest on\u201d changes that."


@dataclass(frozen=True, slots=True)
class DigestSwitch:
    """Records who gets the digest; every change is audited."""

    tenant: str
    record: DigestRecord
    schedule: Schedule
    now: Callable[[], datetime]

    async def change(self, request: DigestRequest, by: CommandCaller) -> Done:
        """Switch it on or off, or leave it; return which of them holds. Raises StoreUnavailable."""
        target = f"{by.platform}:{by.channel or by.person.id}"
        if request.wanted:
            reader = ("", "") if by.channel else (by.person.id, by.person.email or "")
            name = by.person.name or by.person.id
            new = Subscription(target, name, self.now(), *reader)
            await self.record.subscribe(self.tenant, new, actor=by.actor)
        elif request.wanted is False:
            await self.record.unsubscribe(self.tenant, target, actor=by.actor)
        found = await self.record.one(self.tenant, target)
        holds = found is not None and not found.off
        where = "to this channel" if by.channel else "to you here"
        following = self.schedule.next(self.now())
        said = (_ON if holds else _OFF).format(
            where=where, next=f"{following:%A, %d %B}", command=by.spelling.command
        )
        return Done(said)

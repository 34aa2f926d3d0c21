"""Switch the weekly digest on and off where the command is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.chat.commands.types import CommandCaller, DigestRequest, Done
from bot.domain.texts import tr
from bot.domain.texts.dates import spoken_date
from bot.learning.digest import DigestRecord, Schedule, Subscription


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
        where = tr("this channel") if by.channel else tr("you")
        if not holds:
            command = f"{by.spelling.command}digest on"
            return Done(
                tr(
                    "The weekly digest is not sent to {where}. To turn it on: {command}",
                    where=where,
                    command=command,
                )
            )
        return Done(
            tr(
                "The weekly digest is sent to {where}, next on {date}. To turn it off: {command}",
                where=where,
                date=spoken_date(self.schedule.next(self.now())),
                command=f"{by.spelling.command}digest off",
            )
        )

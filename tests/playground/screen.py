"""What somebody at the playground sees: every message as it stands, and what it was before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]

SECONDS = 60.0


@dataclass
class Shown:
    """One message of the bot. ``before`` is what was shown in its place, oldest first."""

    where: str
    now: Json
    before: list[Json] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.now["messageId"])

    @property
    def thread(self) -> str:
        """The conversation that it stands in; what begins a thread in a channel begins its own."""
        begins = self.where.endswith("@thread.tacv2")
        return f"{self.where};messageid={self.id}" if begins else self.where

    @property
    def text(self) -> str:
        return str(self.now.get("text") or "")

    @property
    def cards(self) -> Sequence[Json]:
        return [each["content"] for each in self.now.get("attachments") or ()]

    @property
    def actions(self) -> Sequence[Json]:
        """The buttons of its cards, not those in forms that have to be unfolded."""
        return [action for card in self.cards for action in card.get("actions", ())]

    @property
    def labels(self) -> Json:
        """What is said of it: that an AI made it, what it cites."""
        return self.now.get("aiEntity") or {}

    @property
    def cited(self) -> Sequence[Json]:
        return [claim["appearance"] for claim in self.labels.get("citation", ())]

    @property
    def is_streamed(self) -> bool:
        return "streamEntity" in self.now


class Screen:
    """Everything that is shown, by conversation and thread."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self.log: list[Json] = []
        self._changed = asyncio.Event()

    def take(self, told: Json) -> None:
        """Show what the playground's page would show now."""
        if told["action"] in {"createMessage", "updateMessage"}:
            self._show(str(told["actionConversationId"]), told["message"])
        self._happened()

    def note(self, told: Json) -> None:
        """Keep what went to the bot and came from it."""
        if "log" in told:
            self.log.append(told["log"])
        self._happened()

    def at(self, where: str) -> Sequence[Shown]:
        """Return what is shown in a chat or thread."""
        return [each for each in self.shown if each.where == where]

    async def until(self, seen: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever is looked for
        """Wait until something is to be seen; return it. Raises TimeoutError."""
        async with asyncio.timeout(SECONDS):
            while not (found := seen()):
                self._changed.clear()
                await self._changed.wait()
        return found

    def _show(self, where: str, message: Json) -> None:
        for each in self.at(where):
            if each.id == message["messageId"]:
                each.before.append(each.now)
                each.now = message
                return
        self.shown.append(Shown(where, message))

    def _happened(self) -> None:
        self._changed.set()

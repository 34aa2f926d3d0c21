"""What people do in a workspace, drawn from a seed: they ask, edit and delete, and Slack tells it.

The events are as Slack sends them (a mention is told twice, an edit too), each to be sent up to
four times at moments of its own, so that they come in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.answers import Json
from tests.bot.adapters.slack.workspace.people import Member
from tests.bot.adapters.slack.workspace.state import Workspace
from tests.delivering.post import Asked, Sending, moments

CHANNELS = tuple(f"C0ROOM{number:03d}" for number in range(12))
ASKERS = tuple(f"U0ASK{number:04d}" for number in range(28))

_PRIVATE_SHARE = 0.6
_FOLLOWING_SHARE = 0.25
_EDITED_SHARE = 0.12
_DELETED_SHARE = 0.05


@dataclass
class Script:
    """All that happens, to be sent within ``seconds``."""

    slack: Workspace
    draw: random.Random
    seconds: float
    asked: list[Asked] = field(default_factory=list)
    sendings: list[Sending] = field(default_factory=list)
    _threads: dict[str, list[str]] = field(default_factory=dict)

    async def write(self, events: int) -> None:
        """Let so many events happen, or one or two more."""
        for channel in CHANNELS:
            self.slack.channels.add(channel)
        for number, user in enumerate(ASKERS):
            email = f"asker{number}@acme.example"
            self.slack.people[user] = Member(user, f"asker{number}", f"Asker {number}", email)
        while len(self.sendings) < events:
            await self._one()

    async def _one(self) -> None:
        """Let one person ask one thing, and perhaps think better of it."""
        draw, number = self.draw, len(self.asked)
        visitor = Visitor(self.slack, self.slack.sockets, draw.choice(ASKERS))
        visitor.held = []
        private = draw.random() < _PRIVATE_SHARE
        channel = visitor.direct if private else draw.choice(CHANNELS)
        begun = self._threads.setdefault(channel, [])
        root = draw.choice(begun) if begun and draw.random() < _FOLLOWING_SHARE else None
        words = f"Q{number:05d} first"
        ts = await visitor.say(channel, words, root, mention=not private)
        asked = Asked(number, channel, ts, root or ts)
        if draw.random() < _EDITED_SHARE:
            asked.edited = True
            second = words.replace("first", "second")
            await visitor.edit(ts, second if private else f"<@{names.BOT_USER}> {second}")
        if draw.random() < _DELETED_SHARE:
            asked.deleted = True
            await visitor.delete(ts)
        elif root is None:
            begun.append(ts)
        self._send(asked, visitor.held)

    def _send(self, asked: Asked, envelopes: Sequence[Json]) -> None:
        at = self.draw.uniform(0, self.seconds)
        self.asked.append(asked)
        for envelope in envelopes:
            edits = envelope["event"].get("subtype") == "message_changed"
            self.sendings.append(Sending(envelope, moments(at, self.draw), asked, edits=edits))

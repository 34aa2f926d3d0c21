"""What people do in a tenant, drawn from a seed: they ask, edit and delete, and Teams tells it.

Each activity is to be sent up to four times at moments of its own, so that they come in any order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import Conversation
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.posts import Written
from tests.bot.adapters.teams.visitor import Visitor
from tests.delivering.post import Asked, Sending, moments

CHANNELS = tuple(f"19:room{number:03d}@thread.tacv2" for number in range(12))
ASKERS = tuple(f"asker{number:02d}-object-id" for number in range(28))

_PRIVATE_SHARE = 0.6
_FOLLOWING_SHARE = 0.25
_EDITED_SHARE = 0.12
_DELETED_SHARE = 0.05


@dataclass
class Script:
    """All that happens, to be sent within ``seconds``."""

    teams: FakeTeams
    session: aiohttp.ClientSession
    draw: random.Random
    seconds: float
    asked: list[Asked] = field(default_factory=list)
    sendings: list[Sending] = field(default_factory=list)
    _threads: dict[str, list[Written]] = field(default_factory=dict)

    async def write(self, events: int) -> None:
        """Let so many events happen, or one or two more."""
        people(self.teams)
        while len(self.sendings) < events:
            await self._one()

    async def _one(self) -> None:
        """Let one person ask one thing, and perhaps think better of it."""
        draw, number = self.draw, len(self.asked)
        visitor = Visitor(self.teams, self.session, draw.choice(ASKERS))
        visitor.held = []
        words = f"Q{number:05d} first"
        post = await visitor.say(self._where(visitor), words)
        asked = Asked(number, post.place, post.id, post.thread)
        if draw.random() < _EDITED_SHARE:
            asked.edited = True
            await visitor.edit(post, words.replace("first", "second"))
        if draw.random() < _DELETED_SHARE:
            asked.deleted = True
            await visitor.delete(post)
        elif post.thread == post.id:
            self._threads.setdefault(post.place, []).append(post)
        self._send(asked, visitor.held)

    def _where(self, visitor: Visitor) -> str | Written:
        """Choose a chat, a channel, or a thread that somebody began there."""
        if self.draw.random() < _PRIVATE_SHARE:
            return visitor.chat
        channel = self.draw.choice(CHANNELS)
        begun = self._threads.get(channel)
        return (
            self.draw.choice(begun) if begun and self.draw.random() < _FOLLOWING_SHARE else channel
        )

    def _send(self, asked: Asked, activities: Sequence[Mapping[str, Any]]) -> None:
        at = self.draw.uniform(0, self.seconds)
        self.asked.append(asked)
        for activity in activities:
            edits = activity["type"] == "messageUpdate"
            self.sendings.append(Sending(activity, moments(at, self.draw), asked, edits=edits))


def people(teams: FakeTeams) -> None:
    """Let a company be there: everybody in every channel, and the app in everybody's chat."""
    for channel in CHANNELS:
        place = Conversation(channel, "channel", name=channel[3:10], team=names.TEAM)
        teams.conversations[channel] = place
    for number, asker in enumerate(ASKERS):
        address = f"asker{number}@acme.example"
        human = Human(asker, f"29:asker{number:02d}", f"Asker {number}", address, address)
        teams.add(human, *CHANNELS)

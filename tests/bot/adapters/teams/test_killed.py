"""A process dies at each step of bringing an outcome to Teams; the next one brings it again.

Nothing is missing then. What is twice is told in docs/teams.md: at most one message, and of an
answer in a personal chat never the first; elsewhere the second of those says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pytest

from bot.domain.interactions import Delivery, Outcome, PostedRef
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.rendering.plain_text import MAY_BE_TWICE
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE, delivery
from tests.bot.adapters.teams.activities import into, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.recorded import answered

When = Literal["before", "after"]
_CALLS = ("send", "update", "delete", "call")
_NOTES = ("get", "put", "first", "remove", "beginning")
_BEGINNING = 22
"""Characters by which a message is told from others; further on are ids."""

WHENS: tuple[When, ...] = ("before", "after")
PRIVATE = replace(ANSWER, text="For you: sesame [1].")
LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 100 for n in range(60)))


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Death:
    """Comes at a step, counted from 1: before what is done there, or after it."""

    at: int
    when: When
    steps: int = 0

    def on(self, thing: Any, *named: str) -> None:  # noqa: ANN401  # of any kind
        for name in named:
            setattr(thing, name, partial(self._step, getattr(thing, name)))

    async def _step(
        self, act: Callable[..., Awaitable[Any]], *given: object, **named: object
    ) -> object:
        self.steps += 1
        dies = self.steps == self.at
        if dies and self.when == "before":
            raise Killed
        result = await act(*given, **named)
        if dies:
            raise Killed
        return result


class Noted:
    """Implements Notes over others, with a death on the way."""

    def __init__(self, notes: Notes, death: Death) -> None:
        for name in _NOTES:
            setattr(self, name, getattr(notes, name))
        death.on(self, *_NOTES)


@dataclass
class House:
    """Processes of one bot, one after the other."""

    settings: Settings
    cloud: Cloud
    store: Store

    def process(self, death: Death | None = None) -> TeamsChannel:
        notes: Any = Noted(self.store.notes, death) if death else self.store.notes
        channel = connect(self.settings, notes, cloud=self.cloud, credentials=CountingCredentials())
        if death:
            death.on(channel.connector, *_CALLS)
        return channel

    async def delivered(self, sent: Delivery, death: Death) -> PostedRef:
        """Bring something, by a process that dies on the way, then by another."""
        try:
            return await self.process(death).deliver(sent)
        except Killed:
            other = self.process()
            assert await other.find(sent) is None
            return await other.deliver(sent)


@pytest.fixture
def house(settings: Settings, cloud: Cloud, store: Store, teams: FakeTeams) -> House:
    changes = {
        "teams_escalation_channel": names.PEOPLE,
        "teams_service_url": f"{teams.url}/",
    }
    return House(settings.model_copy(update=changes), cloud, store)


@pytest.mark.parametrize(
    ("private", "outcome"),
    [
        (True, Outcome(ANSWER, TRACE)),
        (False, Outcome(ANSWER, TRACE)),
        (True, Outcome(LONG, TRACE)),
        (False, Outcome(LONG, TRACE)),
        (False, Outcome(ANSWER, TRACE, private=PRIVATE)),
        (False, Outcome(HANDED_OVER, TRACE)),
    ],
    ids=["chat", "channel", "long in a chat", "long in a channel", "more for one", "people"],
)
@pytest.mark.mended(id="teams-3")
async def test_whoever_dies_nothing_is_missing_and_nothing_twice_unsaid(
    house: House, teams: FakeTeams, outcome: Outcome, *, private: bool
) -> None:
    whole = Death(0, "before")
    expected = await _brought(house, teams, outcome, whole, private=private)
    assert set(expected.values()) == {1}
    assert whole.steps > 3
    for step in range(1, whole.steps + 1):
        for when in WHENS:
            death = Death(step, when)
            seen = await _brought(house, teams, outcome, death, private=private)
            # Once the chat with somebody is known it isn't opened any more, nor noted.
            assert death.steps >= min(step, whole.steps - 2)
            assert set(seen) == set(expected), death
            assert seen.total() - expected.total() in {0, 1}, death
            said = sum(MAY_BE_TWICE in post.text for post in teams.visible.values())
            assert _first_in(seen, teams, private=private) - said in {0, 1}, death
            assert said <= (not private), death


async def _brought(
    house: House, teams: FakeTeams, outcome: Outcome, death: Death, *, private: bool
) -> Counter[tuple[str, str]]:
    """Bring an outcome to a question of its own; return how often each message is there then."""
    teams.visible.clear()
    teams.streams.clear()
    asked = replace(
        question(teams, private=private), id=f"1700{death.at:04d}{WHENS.index(death.when)}"
    )
    await answered(house.store, asked, outcome)
    opened = await house.process().open_placeholder(asked) if private else None
    await house.delivered(into(opened, delivery(asked, outcome.response, outcome.private)), death)
    return Counter((post.place, post.shown[:_BEGINNING]) for post in teams.visible.values())


def _first_in(seen: Counter[tuple[str, str]], teams: FakeTeams, *, private: bool) -> int:
    """Return how often the first message of what was asked for is there."""
    where = question(teams, private=private).thread.channel
    firsts = [post.shown[:_BEGINNING] for post in teams.visible.values() if post.place == where]
    return seen[where, firsts[0]]

"""Hundreds of generated questions in Teams: nothing shows to those who may not read it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import chat_of, place_of
from tests.bot.adapters.teams.tenant.posts import Sent, Written
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.house import Client, until
from tests.bot.server import settings_for
from tests.teams.reading import answered, buttons
from tests.teams.tenant import on_teams
from tests.whole.application import over_marked_pages
from tests.whole.pages import ALICES, BOBS, SPACES, cases, readable, shown

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("unpaced")]

CASES = 150
AT_ONCE = 8
SEED = 20261122
CURIOUS_EACH = 5
ENOUGH = 5
SOME = 6
"""So much must have been shown that leaks would have been possible."""


OUTSIDERS = (names.GUEST, names.STRANGER)
PERSONS = (names.ALICE, names.BOB, names.ANNA, names.CAROL, names.GUEST, names.STRANGER)
ROOMS = (names.HELP, names.GUESTS, names.SHARED, names.GROUP, names.OUTSIDE_GROUP, "chat")
_OWN = {names.ALICE: ALICES, names.BOB: BOBS}
"""The only two who may read more than everyone: a guest's or stranger's address opens nothing."""

OUTSIDE = (names.GUESTS, names.SHARED, names.OUTSIDE_GROUP, chat_of(names.GUEST))
OPEN = ("FAQ",)
"""What is answered from where people from outside read along."""


@pytest.fixture
async def client(teams: FakeTeams, tmp_path: Path) -> AsyncIterator[Client]:
    settings = settings_for(tmp_path, **on_teams(teams.url), teams_outsider_spaces=OPEN)
    async with over_marked_pages(settings) as served:
        yield served


class Crowd:
    """Everybody who asks and presses, and what each of them alone was answered."""

    def __init__(self, teams: FakeTeams, client: Client) -> None:
        self._teams = teams
        self._people = {person: Visitor(teams, client, person) for person in PERSONS}
        self.dialogs: dict[str, int] = defaultdict(int)

    def alone(self) -> list[tuple[str, str]]:
        """Return who was answered what, in dialogs and cards that nobody else sees."""
        return [(who, each.text) for who, v in self._people.items() for each in v.answers]

    async def write(self, person: str, room: str, text: str) -> Written:
        """Write where somebody is, without waiting for an answer."""
        return await self._people[person].say(self._place(person, room), text)

    async def ask(self, person: str, room: str, text: str, *, curious: bool) -> None:
        """Ask; who is ``curious`` presses whatever is there, and so does whoever reads along."""
        asker, there = self._people[person], self._place(person, room)
        below = buttons(await answered(self._teams, await asker.say(there, text)))
        if not curious:
            return
        members = self._teams.conversations[place_of(there)].members
        for label, post in below.items():
            for one in members & set(PERSONS):
                await self._press(self._people[one], post, label)

    async def _press(self, by: Visitor, post: Sent, label: str) -> None:
        if label.startswith("Why"):
            dialog = await by.open(post, label)
            self.dialogs[by.id] += bool(dialog.shown)
        else:
            await by.press(post, label)

    def _place(self, person: str, room: str) -> str:
        """Return a place in which somebody is: Carol has no chat, most are in no other group."""
        there = self._teams.conversations.get(chat_of(person) if room == "chat" else room)
        if there is not None and person in there.members:
            return there.id
        return names.SHARED if person == names.STRANGER else names.GUESTS


async def test_nothing_shows_to_those_who_may_not_read_it(teams: FakeTeams, client: Client) -> None:
    few, crowd = asyncio.Semaphore(AT_ONCE), Crowd(teams, client)

    async def one(number: int, case: tuple[str, str, str]) -> None:
        async with few:
            await crowd.ask(*case, curious=number % CURIOUS_EACH == 0)

    await asyncio.gather(
        *itertools.starmap(one, enumerate(cases(CASES, SEED, persons=PERSONS, rooms=ROOMS)))
    )

    seen: dict[str, set[int]] = defaultdict(set)
    for post in teams.sent:
        reader, told = audience(teams, post), shown(json.dumps(post.activity))
        spaces = OPEN if post.place in OUTSIDE else SPACES
        assert told <= readable(reader, spaces), (post.conversation, post.activity)
        seen[reader] |= told
    for person, text in crowd.alone():
        spaces = OPEN if person in OUTSIDERS else SPACES
        assert shown(text) <= readable(_OWN.get(person, ""), spaces), (person, text)
    assert seen[""] == readable("")
    for own in (ALICES, BOBS):
        assert len(seen[own] - readable("")) > ENOUGH, "each may read what is theirs"
    assert sum("For you alone" in post.text for post in teams.messages) > ENOUGH
    assert crowd.dialogs[names.GUEST] > 1
    assert crowd.dialogs[names.STRANGER] > 1


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_are_shown_no_page(teams: FakeTeams, tmp_path: Path) -> None:
    asked = [
        *cases(SOME, SEED, persons=OUTSIDERS, rooms=(names.GUESTS,)),
        *cases(SOME, SEED, persons=(names.ALICE,), rooms=OUTSIDE[:3]),
    ]
    async with over_marked_pages(settings_for(tmp_path, **on_teams(teams.url))) as client:
        crowd = Crowd(teams, client)
        for person, room, text in asked:
            await crowd.write(person, room, text)
        await until(lambda: len({post.place for post in teams.messages}) >= len(OUTSIDE[:3]))

    assert not any(shown(json.dumps(post.activity)) for post in teams.sent)
    assert teams.posts_in(names.PEOPLE) == []


def audience(teams: FakeTeams, post: Sent) -> str:
    """Return whose pages may stand in a message: its only reader's, "" for everybody's."""
    there = teams.conversations[post.place]
    (alone, *others) = there.members
    return "" if others or there.kind != "personal" else _OWN.get(alone, "")

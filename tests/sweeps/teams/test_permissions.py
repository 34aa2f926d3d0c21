"""Test with generated questions that nothing shows to those who may not read it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.applications import teams_settings
from tests.fakes.http_server import Client, settings_for, wait_until
from tests.fakes.marked_pages import (
    ALICES,
    BOBS,
    SPACES,
    marked_pages_app,
    pages_for,
    pages_in,
    questions_about_each_page,
    random_questions,
)
from tests.fakes.teams import names
from tests.fakes.teams.people import chat_of, place_of
from tests.fakes.teams.posts import Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor, posts_by_button, wait_for_answers
from tests.sweeps.sizes import sizes

pytestmark = pytest.mark.attack

AT_ONCE = 8
SEED = 20261122
SOME = 6


@dataclass(frozen=True)
class Size:
    """How many questions are drawn, and of how many about each page one is asked as well.

    Of ``curious_each`` one presses what is below the answer.
    At least ``own`` pages are shown of those that are Alice's or Bob's, ``alone`` answers say that
    they are for their reader alone, and ``dialogs`` are opened by either outsider, so that leaks
    would have been possible. ``complete``: everything was shown that all may read.
    """

    cases: int
    about_each: int
    curious_each: int
    own: int
    alone: int
    dialogs: int
    complete: bool


SMOKE = Size(cases=20, about_each=13, curious_each=2, own=1, alone=1, dialogs=1, complete=False)
WHOLE = Size(cases=150, about_each=5, curious_each=5, own=6, alone=6, dialogs=2, complete=True)

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
    settings = settings_for(tmp_path, **teams_settings(teams.url), teams_outsider_spaces=OPEN)
    async with marked_pages_app(settings) as served:
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
        below = posts_by_button(await wait_for_answers(self._teams, await asker.say(there, text)))
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


@sizes("size", smoke=SMOKE, whole=WHOLE)
async def test_nothing_shows_to_those_who_may_not_read_it(
    size: Size, teams: FakeTeams, client: Client
) -> None:
    few, crowd = asyncio.Semaphore(AT_ONCE), Crowd(teams, client)

    async def one(number: int, case: tuple[str, str, str]) -> None:
        async with few:
            await crowd.ask(*case, curious=number % size.curious_each == 0)

    drawn = random_questions(size.cases, SEED, persons=PERSONS, rooms=ROOMS)
    asked = [*drawn]
    for room in ("chat", names.HELP):
        each = questions_about_each_page((names.ALICE, names.BOB), room)
        asked += [*each][:: size.about_each]
    await asyncio.gather(*itertools.starmap(one, enumerate(asked)))

    seen: dict[str, set[int]] = defaultdict(set)
    for post in teams.sent:
        reader, told = audience(teams, post), pages_in(json.dumps(post.activity))
        spaces = OPEN if post.place in OUTSIDE else SPACES
        assert told <= pages_for(reader, spaces), (post.conversation, post.activity)
        seen[reader] |= told
    for person, text in crowd.alone():
        spaces = OPEN if person in OUTSIDERS else SPACES
        assert pages_in(text) <= pages_for(_OWN.get(person, ""), spaces), (person, text)
    assert seen[""] == pages_for("") if size.complete else seen[""]
    for own in (ALICES, BOBS):
        assert len(seen[own] - pages_for("")) >= size.own, "each may read what is theirs"
    assert sum("For you alone" in post.text for post in teams.messages) >= size.alone
    assert crowd.dialogs[names.GUEST] >= size.dialogs
    assert crowd.dialogs[names.STRANGER] >= size.dialogs


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_are_shown_no_page(teams: FakeTeams, tmp_path: Path) -> None:
    asked = [
        *random_questions(SOME, SEED, persons=OUTSIDERS, rooms=(names.GUESTS,)),
        *random_questions(SOME, SEED, persons=(names.ALICE,), rooms=OUTSIDE[:3]),
    ]
    async with marked_pages_app(settings_for(tmp_path, **teams_settings(teams.url))) as client:
        crowd = Crowd(teams, client)
        for person, room, text in asked:
            await crowd.write(person, room, text)
        await wait_until(lambda: len({post.place for post in teams.messages}) >= len(OUTSIDE[:3]))

    assert not any(pages_in(json.dumps(post.activity)) for post in teams.sent)
    assert teams.posts_in(names.PEOPLE) == []


def audience(teams: FakeTeams, post: Sent) -> str:
    """Return whose pages may stand in a message: its only reader's, "" for everybody's."""
    there = teams.conversations[post.place]
    (alone, *others) = there.members
    return "" if others or there.kind != "personal" else _OWN.get(alone, "")

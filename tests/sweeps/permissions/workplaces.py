"""The people of a company in Slack and in Teams: where they ask, and who sees what is posted."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from tests.fakes.slack import names as slack_names
from tests.fakes.slack.people import Member, Room
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor as SlackVisitor
from tests.fakes.teams import names as teams_names
from tests.fakes.teams.people import Human, chat_of, personal_chat
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor as TeamsVisitor
from tests.sweeps.permissions.application import Served
from tests.sweeps.permissions.browsing import Shown
from tests.sweeps.permissions.company import (
    ADMIN,
    COLLEAGUES,
    EVERYBODY,
    OUTSIDERS,
    Reader,
    address,
)

GUEST, STRANGER = "guest", "stranger"
SHADOW = "C0SHADOW0"
_PRESSED = 3
_GLANCE_SECONDS = 0.01


class Workplace(Protocol):
    """A platform: people ask there, press what is below an answer, and see what is posted."""

    @property
    def people(self) -> Sequence[str]:
        """Return who may ask."""
        ...

    async def ask(self, person: str, text: str, draw: random.Random) -> set[str]:
        """Ask somewhere, in a thread or not, and press some of what is below answers.

        Returns who did something: to press an option is to ask.
        """
        ...

    async def work_on_cases(self, draw: random.Random) -> set[str]:
        """Press buttons of cards in the people's channel; return who did."""
        ...

    async def subscribe(self) -> None:
        """Have the weekly digest sent to a channel and to an admin."""
        ...

    def news(self) -> Iterator[tuple[Reader, Shown]]:
        """Yield what was posted or changed since this was called last, and who sees it."""
        ...


async def settled(served: Served) -> None:
    """Wait until what was asked or pressed is done with: what comes later is then another's."""
    while await _something_goes_on(served):  # noqa: ASYNC110 - it happens in the same loop
        await asyncio.sleep(_GLANCE_SECONDS)


async def _something_goes_on(served: Served) -> bool:
    """Return whether a question is not ended, or work that is done after an acknowledgement."""
    named = (each.get_name() for each in asyncio.all_tasks())
    in_background = any(each.startswith("background: ") for each in named)
    waits = in_background or not served.engine.idle
    return waits or bool(await served.store.work.unfinished())


def slack_id(person: str) -> str:
    return f"U0{person.upper()}00"


class InSlack:
    """Implements Workplace: channels of each kind, direct messages, and one in shadow mode."""

    def __init__(self, slack: FakeSlack, served: Served) -> None:
        self._slack = slack
        self._served = served
        self.people = (*COLLEAGUES, GUEST, STRANGER)
        self._names = {slack_id(each): each for each in self.people}
        self._threads: list[Post] = []
        self._seen: dict[str, str] = {}
        self._asked_by: dict[str, str] = {}
        self._views = 0
        staff = {slack_id(each) for each in COLLEAGUES}
        for each in COLLEAGUES:
            slack.people[slack_id(each)] = Member(slack_id(each), each, each, address(each))
        guest = Member(slack_id(GUEST), GUEST, GUEST, "gil@elsewhere.example", is_restricted=True)
        stranger = Member(
            slack_id(STRANGER), STRANGER, STRANGER, team_id=slack_names.OTHER_TEAM, is_stranger=True
        )
        slack.people |= {guest.id: guest, stranger.id: stranger}
        bot = {slack_names.BOT_USER}
        slack.rooms[SHADOW] = Room(SHADOW, "shadow", members=staff | bot)
        for channel in (slack_names.HELP, slack_names.PEOPLE, slack_names.SECRET_ROOM):
            slack.rooms[channel].members = staff | bot
        slack.rooms[slack_names.HELP].members |= {guest.id}
        slack.rooms[slack_names.SHARED].members = {*staff, *bot, stranger.id}

    def _visitor(self, person: str) -> SlackVisitor:
        return SlackVisitor(self._slack, self._served.client, slack_id(person))

    async def ask(self, person: str, text: str, draw: random.Random) -> set[str]:
        asker, acted = self._visitor(person), {person}
        rooms = (slack_names.HELP, slack_names.SECRET_ROOM, slack_names.SHARED, SHADOW)
        open_to = [room for room in rooms if asker.id in self._slack.rooms[room].members]
        channel = draw.choice([*open_to, asker.direct, asker.direct])
        before = [each for each in self._threads if each.channel == channel]
        thread = draw.choice([None, *(each.thread_ts or each.ts for each in before[-2:])])
        ts = await asker.say(channel, text, thread, mention=channel[:1] != "D")
        await self._settled(person)
        said = [
            each for each in self._slack.posts if each.thread_ts in {ts, thread} and each.by_bot
        ]
        self._threads += said[-1:]
        older = [each for each in self._slack.posts if each.channel == channel and each.by_bot]
        for post in (*said[-2:], *draw.sample(older, min(1, len(older)))):
            acted |= await self._press(post, draw)
        return acted

    async def _settled(self, person: str) -> None:
        """Wait for the answers, and remember whose they are: others write in the same thread."""
        await settled(self._served)
        for post in reversed(self._slack.posts):
            if _key(post) in self._asked_by:
                break
            self._asked_by[_key(post)] = person

    async def _press(self, post: Post, draw: random.Random) -> set[str]:
        acted = set[str]()
        members = self._slack.rooms[post.channel].members & self._names.keys()
        allowed = sorted({post.only_for} if post.only_for else members)
        for label in draw.sample(post.labels, min(_PRESSED, len(post.labels))):
            name = self._names[draw.choice(allowed)]
            acted.add(name)
            with suppress(AssertionError):
                await self._visitor(name).click(post, label)
            await self._settled(name)
        return acted

    async def work_on_cases(self, draw: random.Random) -> set[str]:
        cards = self._slack.in_channel(slack_names.PEOPLE)[-4:]
        return set[str]().union(*[await self._press(post, draw) for post in cards])

    async def subscribe(self) -> None:
        admin = self._visitor(ADMIN)
        for channel in (slack_names.HELP, admin.direct):
            await admin.command(channel, "/frontdesk", "digest on")

    def news(self) -> Iterator[tuple[Reader, Shown]]:
        for post in self._slack.posts:
            payload, key = json.dumps(post.payload), _key(post)
            before = self._seen.get(key, "")
            if post.by_bot and before != payload:
                self._seen[key] = payload
                # A card is made anew of what may be read now; a reply keeps what it said.
                kept = "" if post.channel == slack_names.PEOPLE else before
                yield self._reader(post), Shown(f"Slack {post.channel}", payload, before=kept)
        for view in self._slack.open_views[self._views :]:
            self._views += 1
            yield self._of(view.user), Shown("Slack modal", json.dumps(view.payload))

    def _reader(self, post: Post) -> Reader:
        """Return who a post is for: a guest who reads a colleague's answer along is not known."""
        if post.channel[:1] == "D":
            return self._of(*self._slack.rooms[post.channel].members & self._names.keys())
        if post.only_for:
            return self._of(post.only_for)
        outside = self._asked_by.get(_key(post)) in {GUEST, STRANGER}
        return OUTSIDERS if outside or post.channel == slack_names.SHARED else EVERYBODY

    def _of(self, user: str) -> Reader:
        name = self._names[user]
        return Reader(name) if name in COLLEAGUES else OUTSIDERS


def _key(post: Post) -> str:
    return f"{post.channel} {post.ts}"


def teams_id(person: str) -> str:
    return f"{person}-object-id"


class InTeams:
    """Implements Workplace: channels of each kind, group chats, and personal chats."""

    OUTSIDE = (teams_names.GUESTS, teams_names.SHARED, teams_names.OUTSIDE_GROUP)

    def __init__(self, teams: FakeTeams, served: Served) -> None:
        self._teams = teams
        self._served = served
        self.people = (*COLLEAGUES, GUEST, STRANGER)
        self._looked_at: dict[int, Sent] = {}
        self._seen: dict[str, str] = {}
        self._rooms = (teams_names.HELP, teams_names.GROUP, *self.OUTSIDE)
        for each in COLLEAGUES:
            mail = address(each)
            teams.people[teams_id(each)] = Human(teams_id(each), f"29:{each}", each, mail, mail)
            chat = personal_chat(teams_id(each))
            teams.conversations[chat.id] = chat
        staff = {teams_id(each) for each in COLLEAGUES}
        for place in (*self._rooms, teams_names.GENERAL, teams_names.PEOPLE):
            there = teams.conversations[place]
            outsiders = there.members & {teams_names.GUEST, teams_names.STRANGER}
            there.members = staff | outsiders
        self._visitors = {
            each: TeamsVisitor(teams, served.client, teams_id(each)) for each in self.people
        }

    async def ask(self, person: str, text: str, draw: random.Random) -> set[str]:
        asker, acted = self._visitors[person], {person}
        places = [*self._rooms, chat_of(asker.id), chat_of(asker.id)]
        there = self._teams.conversations
        open_to = [each for each in places if each in there and asker.id in there[each].members]
        place = draw.choice(open_to)
        before = [each for each in self._teams.messages if each.place == place][-2:]
        in_thread = there[place].kind == "channel" and before and draw.random() < 0.4
        await asker.say(draw.choice(before) if in_thread else place, text)
        await settled(self._served)
        there_now = [each for each in self._teams.messages if each.place == place]
        for post in (*there_now[-2:], *draw.sample(there_now, min(1, len(there_now)))):
            acted |= await self._press(post, draw)
        await settled(self._served)
        return acted

    async def _press(self, post: Sent, draw: random.Random) -> set[str]:
        acted = set[str]()
        members = self._teams.conversations[post.place].members
        allowed = sorted(each for each in self.people if teams_id(each) in members)
        for label in draw.sample(post.labels, min(_PRESSED, len(post.labels))):
            name = draw.choice(allowed)
            acted.add(name)
            with suppress(AssertionError):
                await self._visitors[name].press(post, label)
            with suppress(AssertionError):
                await self._visitors[name].open(post, label)
        return acted

    async def work_on_cases(self, draw: random.Random) -> set[str]:
        cards = self._teams.posts_in(teams_names.PEOPLE)[-4:]
        return set[str]().union(*[await self._press(post, draw) for post in cards])

    async def subscribe(self) -> None:
        admin = self._visitors[ADMIN]
        await admin.say(admin.chat, "digest on")
        await admin.say(teams_names.HELP, "digest on")

    def news(self) -> Iterator[tuple[Reader, Shown]]:
        # What is streamed arrives again and again under one id: each is looked at once.
        for number, post in enumerate(self._teams.sent):
            if self._looked_at.get(number) is not post:
                self._looked_at[number] = post
                payload, before = json.dumps(post.activity), self._seen.get(post.id, "")
                self._seen[post.id] = payload
                kept = "" if post.place == teams_names.PEOPLE else before
                yield self._reader(post), Shown(f"Teams {post.place}", payload, before=kept)
        for name, visitor in self._visitors.items():
            for answer in visitor.answers:
                yield self._of(name), Shown("Teams dialog or card", answer.text)
            for words in visitor.told:
                yield self._of(name), Shown("Teams notification", words)
            visitor.answers.clear()
            visitor.told.clear()

    def _reader(self, post: Sent) -> Reader:
        there = self._teams.conversations[post.place]
        if there.kind != "personal":
            return OUTSIDERS if post.place in self.OUTSIDE else EVERYBODY
        (alone,) = there.members
        return self._of(alone.removesuffix("-object-id"))

    def _of(self, name: str) -> Reader:
        return Reader(name) if name in COLLEAGUES else OUTSIDERS

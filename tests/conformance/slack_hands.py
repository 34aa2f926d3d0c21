"""What people press, order and install on Slack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.platforms.slack.payloads.actions import ASK_PERSON, WHY
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.names import ALICE, ANNA, BOB, ELSEWHERE, HELP, PEOPLE
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.house import until
from tests.conformance.platforms import Expert, Question
from tests.conformance.shelf import SlowShelf

_EXPERTS: Mapping[Expert, str] = {"anna": ANNA, "bob": BOB}

Person = Callable[[str], Visitor]
Send = Callable[[Mapping[str, Any]], Awaitable[int]]


class SlackButtons:
    """Implements Buttons."""

    def __init__(
        self, workspace: FakeSlack, person: Person, answer: Callable[[Question], Post]
    ) -> None:
        self._workspace = workspace
        self._person = person
        self._answer = answer

    async def why(self, question: Question) -> str:
        await self._person(ALICE).click(self._answer(question), WHY)
        await until(lambda: [view for view in self._workspace.open_views if "> " in view.shown])
        return self._workspace.open_views[-1].shown

    async def ask_person(self, question: Question) -> None:
        await self._person(ALICE).click(self._answer(question), ASK_PERSON)

    async def choose(self, question: Question, option: str) -> None:
        await self._person(ALICE).click(self._answer(question), option)


class SlackCard:
    """Implements Card."""

    def __init__(self, workspace: FakeSlack, person: Person) -> None:
        self._workspace = workspace
        self._person = person

    async def shown(self) -> str:
        return self._card().shown

    async def claim(self, who: Expert) -> None:
        await self._person(_EXPERTS[who]).click(self._card(), "Claim")

    async def reply(self, who: Expert, words: str) -> None:
        expert = self._person(_EXPERTS[who])
        await expert.click(self._card(), "Reply")
        await expert.submit(self._workspace.open_views[-1], {"words": words})

    def _card(self) -> Post:
        return self._workspace.in_channel(PEOPLE)[0]


class SlackOrders:
    """Implements Orders: Alice is an admin, Bob is none."""

    def __init__(self, workspace: FakeSlack, person: Person) -> None:
        self._workspace = workspace
        self._person = person
        self.shelf = SlowShelf()

    async def give(self, order: str, *, admin: bool) -> None:
        await self._person(_orderer(admin=admin)).command(HELP, "/frontdesk", order)

    def read(self, *, admin: bool) -> str:
        seen = self._workspace.seen_by(_orderer(admin=admin), HELP)
        return "\n".join(post.shown for post in seen)


class SlackInstalling:
    """Implements Installing: the bot comes into a channel; the app is removed."""

    def __init__(self, workspace: FakeSlack, person: Person, send: Send) -> None:
        self._workspace = workspace
        self._person = person
        self._send = send

    async def install(self) -> None:
        self._workspace.channels.discard(ELSEWHERE)
        await self._person(ALICE).invites(ELSEWHERE)

    def welcomes(self) -> int:
        return len(self._workspace.answers(ELSEWHERE))

    async def uninstall(self) -> None:
        self._workspace.uninstall()
        await self._send(events.app_uninstalled())

    def calls(self) -> int:
        return sum(not call.startswith("auth.") for call in self._workspace.calls)


def _orderer(*, admin: bool) -> str:
    return ALICE if admin else BOB

"""What people press, order and install in Teams."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import ALICE, ANNA, BOB, CAROL, PEOPLE
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.visitor import Visitor
from tests.conformance.platforms import Expert, Question
from tests.conformance.shelf import SlowShelf

_EXPERTS: Mapping[Expert, str] = {"anna": ANNA, "bob": BOB}
_SHOWING = ("message", "typing", "update", "create")

Person = Callable[[str], Visitor]


class TeamsButtons:
    """Implements Buttons."""

    def __init__(self, person: Person, reply: Callable[[Question], Sent]) -> None:
        self._person = person
        self._reply = reply

    async def why(self, question: Question) -> str:
        alice = self._person(ALICE)
        return (await alice.open(self._reply(question), "Why this answer")).shown

    async def ask_person(self, question: Question) -> None:
        await self._person(ALICE).press(self._reply(question), "Ask a person")

    async def choose(self, question: Question, option: str) -> None:
        await self._person(ALICE).press(self._reply(question), option)


class TeamsCard:
    """Implements Card."""

    def __init__(self, tenant: FakeTeams, person: Person) -> None:
        self._tenant = tenant
        self._person = person

    async def shown(self) -> str:
        return self._card().shown

    async def claim(self, who: Expert) -> None:
        await self._person(_EXPERTS[who]).press(self._card(), "Claim")

    async def reply(self, who: Expert, words: str) -> None:
        expert = self._person(_EXPERTS[who])
        await expert.press(self._card(), "Reply > Send", reply_words=words)

    def _card(self) -> Sent:
        (card,) = (post for post in self._tenant.posts_in(PEOPLE) if post.cards)
        return card


class TeamsOrders:
    """Implements Orders: Alice is an admin, Bob is none; each orders in a chat of their own."""

    def __init__(self, tenant: FakeTeams, person: Person) -> None:
        self._tenant = tenant
        self._person = person
        self.shelf = SlowShelf()

    async def give(self, order: str, *, admin: bool) -> None:
        visitor = self._who(admin=admin)
        await visitor.say(visitor.chat, order)

    def read(self, *, admin: bool) -> str:
        posts = self._tenant.posts_in(self._who(admin=admin).chat)
        return "\n".join(post.shown for post in posts)

    def _who(self, *, admin: bool) -> Visitor:
        return self._person(ALICE if admin else BOB)


class TeamsInstalling:
    """Implements Installing: Carol has not added the app; Alice removes it from her chat."""

    def __init__(self, tenant: FakeTeams, person: Person) -> None:
        self._tenant = tenant
        self._person = person

    async def install(self) -> None:
        await self._person(CAROL).install()

    def welcomes(self) -> int:
        return len(self._tenant.posts_in(self._person(CAROL).chat))

    async def uninstall(self) -> None:
        await self._person(ALICE).uninstall()

    def calls(self) -> int:
        return sum(call in _SHOWING for call in self._tenant.calls)

"""Teams as the people of a channel see it: its activities, buttons, commands and installation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms import teams
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.messages.intake import Files
from bot.store.database import Store
from tests.contract.platforms.driver import (
    By,
    Client,
    Expert,
    File,
    Hands,
    Platform,
    Question,
    ReadPress,
    Receipt,
    SlowReindex,
    Vote,
)
from tests.contract.platforms.scenario import PAGE_809
from tests.fakes.chat_context import ReadsPages, chat_context_over
from tests.fakes.desk import PAGE
from tests.fakes.teams import names
from tests.fakes.teams.cards import words
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.file_host import FileHost
from tests.fakes.teams.names import ALICE, ANNA, APP_ID, BOB, CAROL, ENTRA, ISSUER, PEOPLE
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.posts import MESSAGE_ENTITY, Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

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

    async def request_button(self, question: Question, label: str) -> ReadPress:
        alice = self._person(ALICE)
        there = alice.teams.posts_in(self._reply(question).place)
        asked = [post for post in there if label in post.labels]

        async def press() -> str:
            return (await alice.press(asked[-1], label)).text

        return press


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

    async def write_below(self, who: Expert, words: str) -> None:
        expert = self._person(_EXPERTS[who])
        self._tenant.hears_all = True
        await expert.say(self._card(), words, mention=False)
        await self._send(expert)

    async def write_late(self, who: Expert, words: str, edited: str) -> None:
        expert = self._person(_EXPERTS[who])
        self._tenant.hears_all = True
        expert.held = []
        await expert.edit(await expert.say(self._card(), words, mention=False), edited)
        for activity in reversed(expert.held):
            await expert.deliver(activity)
        await self._send(expert)

    async def _send(self, expert: Visitor) -> None:
        (offer,) = (post for post in self._posts() if not post.is_root)
        await expert.press(offer, "Send")

    async def press(self, who: Expert, label: str) -> None:
        await self._person(_EXPERTS[who]).press(self._card(), label)

    async def alone(self, who: Expert) -> str:
        return self._tenant.posts_in(chat_of(_EXPERTS[who]))[-1].shown

    def _card(self) -> Sent:
        (card,) = (post for post in self._posts() if post.is_root)
        return card

    def _posts(self) -> list[Sent]:
        return [post for post in self._tenant.posts_in(PEOPLE) if post.cards]


class TeamsOrders:
    """Implements Orders: Alice is an admin, Bob is none; each orders in a chat of their own."""

    def __init__(self, tenant: FakeTeams, person: Person) -> None:
        self._tenant = tenant
        self._person = person
        self.shelf = SlowReindex()

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


class TeamsReviewing:
    """Implements Reviewing."""

    reviewer = BOB
    channel = f"teams:{names.HELP}"

    def __init__(self, tenant: FakeTeams, person: Person) -> None:
        self._tenant = tenant
        self._person = person

    def read(self) -> str:
        return "\n".join(post.shown for post in self._tenant.posts_in(chat_of(BOB)))

    async def press(self, label: str) -> None:
        posts = [post for post in self._tenant.posts_in(chat_of(BOB)) if post.cards]
        await self._person(BOB).press(posts[-1], label)


_KINDS = {
    "list": re.compile(r"^(?:> )?\d+\. ", re.MULTILINE),
    "quotation": re.compile(r"^> ", re.MULTILINE),
}
"""How lists and quotations begin in Markdown."""

_JOINER = "\u2060"
"""Has no width: it keeps the text of cards from becoming links."""

_ON_CARDS = {"Table": "table", "CodeBlock": "code"}
_LIVE = re.compile(r"<[!@#a-z]|\]\((?!https://wiki\.example\.com/)|(?<!`)https?://evil")
_LIVE_ON_CARDS = re.compile(
    r"\]\((?!https://(?:wiki\.example\.com|teams\.microsoft\.com)/)|(?<!`)https?://evil"
)
"""Cards show Markdown, and no HTML; what leads to the question is a link of Teams."""

_RECEIPTS: dict[int, Receipt] = {200: "kept", 503: "send it again"}
_WRITERS: Mapping[By, str] = {
    "asker": names.ALICE,
    "colleague": names.BOB,
    "guest": names.GUEST,
    "bot": names.ALICE,
}
_BUILD = {"id": "28:build", "name": "Build"}


class OnTeams:
    """Implements Platform. A thumb up is a reaction, one down is of Teams' own below the reply."""

    client: Client

    def __init__(
        self, tenant: FakeTeams, directory: Path, notes: Notes, stack: AsyncExitStack
    ) -> None:
        self._tenant = tenant
        self._notes = notes
        self._stack = stack
        self._files = FileHost()
        self._written: dict[int, Written] = {}
        self.settings: Settings = load_settings(
            _env_file=None,
            data_dir=directory,
            microsoft_app_id=APP_ID,
            microsoft_app_password="secret",
            microsoft_app_tenant_id=ENTRA,
            teams_escalation_channel=names.PEOPLE,
            teams_admins=names.ALICE,
            teams_sensitivity="secret=Confidential",
            teams_service_url=f"{tenant.url}/",
            teams_hello=True,
        )
        self.channel: teams.TeamsChannel = self.another_channel()
        self._orders = TeamsOrders(tenant, self._person)
        self.hands = Hands(
            buttons=TeamsButtons(self._person, self._reply),
            card=TeamsCard(tenant, self._person),
            orders=self._orders,
            installing=TeamsInstalling(tenant, self._person),
            reviewing=TeamsReviewing(tenant, self._person),
        )

    def another_channel(self) -> teams.TeamsChannel:
        return teams.connect(
            self.settings,
            self._notes,
            cloud=Cloud(issuer=ISSUER, metadata_url=f"{self._tenant.url}/meta"),
            credentials=CountingCredentials(),
            files=Files(self._files.connector),
        )

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        shelf = self._orders.shelf
        context = chat_context_over(store, inbox, shelf=shelf, readable=ReadsPages(PAGE, PAGE_809))
        teams.mount(app, self.channel, context)

    async def ask(self, question: Question) -> Receipt:
        if question.number not in self._written:
            self._written[question.number] = await self._writes(question)
        activity = self._written[question.number].activity
        if question.by == "bot":
            activity = {**activity, "from": _BUILD}
        (answer,) = await self._person().deliver(activity)
        return _RECEIPTS[answer.status]

    async def edit(self, question: Question, text: str) -> None:
        await self._person().edit(self._written[question.number], text)

    async def delete(self, question: Question) -> None:
        await self._person().delete(self._written[question.number])

    async def vote(self, question: Question, vote: Vote) -> None:
        if vote == "up":
            await self._person().react(self._reply(question))
        else:
            await self._person().feedback(self._reply(question), "dislike")

    async def unvote(self, question: Question, vote: Vote) -> None:
        assert vote == "up", "Teams' own thumbs can't be taken back"
        await self._person().unreact(self._reply(question))

    async def can_vote(self, question: Question) -> bool:
        return "feedbackLoop" in self._reply(question).activity.get("channelData", {})

    async def seen(self, question: Question) -> Sequence[str]:
        shown = [sent.shown.replace(_JOINER, "") for sent in self._posts(question)]
        return [text.replace("&lt;", "<").replace("&amp;", "&") for text in shown]

    async def messages(self, question: Question) -> int:
        there = self._written[question.number].conversation
        return sum(sent.conversation == there for sent in self._tenant.visible.values())

    async def kinds(self, question: Question) -> frozenset[str]:
        posts = self._posts(question)
        text = "\n".join(each.text for each in posts)
        elements = {part["type"] for each in posts for card in each.cards for part in card["body"]}
        hung = {_ON_CARDS[each] for each in elements & _ON_CARDS.keys()}
        return frozenset(kind for kind, mark in _KINDS.items() if mark.search(text)) | hung

    async def privately(self, question: Question) -> Sequence[str]:
        return [sent.shown for sent in self._tenant.posts_in(chat_of(names.ALICE))]

    async def live(self, question: Question) -> Sequence[str]:
        sent = [*self._posts(question), *self._tenant.posts_in(names.PEOPLE)]
        cards = [card for each in sent for card in each.cards]
        texts = "\n".join(each.text for each in sent)
        said = "\n".join(map(words, cards))
        named = [str(card["msteams"]["entities"]) for card in cards if _names_people(card)]
        return [*_LIVE.findall(texts), *_LIVE_ON_CARDS.findall(said), *named]

    async def people(self) -> Sequence[str]:
        return [sent.shown for sent in self._tenant.posts_in(names.PEOPLE)]

    def lose_answer(self) -> None:
        self._tenant.fail(Fault(502, after=True))

    async def marked(self, question: Question) -> str:
        entities = self._reply(question).activity["entities"]
        (root,) = [each for each in entities if each["type"] == MESSAGE_ENTITY]
        return str(root.get("usageInfo", {}).get("name", ""))

    def _person(self, person: str = names.ALICE) -> Visitor:
        return Visitor(self._tenant, self.client, person)

    async def _writes(self, question: Question) -> Written:
        """Have a question written; it is sent by ``ask``, as often as it is asked."""
        writer = self._person(_WRITERS[question.by])
        writer.held = []
        files = [await self._shared(file) for file in question.files]
        return await writer.say(
            self._place(question), question.text, mention=question.addressed, files=files
        )

    def _place(self, question: Question) -> str | Written:
        if question.thread != question.number:
            return self._written[question.thread]
        if question.private:
            return chat_of(_WRITERS[question.by])
        outside = question.by == "guest" or question.beside_outsiders
        return names.GUESTS if outside else names.HELP

    async def _shared(self, file: File) -> dict[str, Any]:
        if not self._files.port:
            await self._stack.enter_async_context(self._files.serving())
        return self._files.share(*file)

    def _posts(self, question: Question) -> Sequence[Sent]:
        return self._tenant.posts_in(self._written[question.number].conversation)

    def _reply(self, question: Question) -> Sent:
        return self._posts(question)[-1]


def _names_people(card: Mapping[str, Any]) -> bool:
    """Tell whether an <at> on a card is a mention: only if the card says who is meant."""
    return bool(card.get("msteams", {}).get("entities"))


@cache
def _key() -> RSAPrivateKey:
    """Made once: it takes longer than a case."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@asynccontextmanager
async def on_teams(directory: Path, notes: Notes) -> AsyncIterator[Platform]:
    async with AsyncExitStack() as stack:
        tenant = await stack.enter_async_context(FakeTeams(keys={"k1": _key()}).serving())
        yield OnTeams(tenant, directory, notes, stack)

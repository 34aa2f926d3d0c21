"""Teams as the people of a channel see it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
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
from bot.platforms.teams.messages.files import Files
from bot.store.database import Store
from tests.bot.adapters.saying import PAGE
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.cards import words
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.file_host import FileHost
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA, ISSUER
from tests.bot.adapters.teams.tenant.posts import MESSAGE_ENTITY, Sent, Written
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.offices import ReadsPages, office_over
from tests.conformance.desks import PAGE_809
from tests.conformance.platforms import By, Client, File, Hands, Platform, Question, Receipt, Vote
from tests.conformance.teams_hands import TeamsButtons, TeamsCard, TeamsInstalling, TeamsOrders

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
        )
        self.channel: teams.TeamsChannel = self.another_channel()
        self._orders = TeamsOrders(tenant, self._person)
        self.hands = Hands(
            buttons=TeamsButtons(self._person, self._reply),
            card=TeamsCard(tenant, self._person),
            orders=self._orders,
            installing=TeamsInstalling(tenant, self._person),
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
        office = office_over(store, inbox, shelf=shelf, readable=ReadsPages(PAGE, PAGE_809))
        teams.mount(app, self.channel, office)

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
        shown = [sent.shown for sent in self._posts(question)]
        return [text.replace("&lt;", "<").replace("&amp;", "&") for text in shown]

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

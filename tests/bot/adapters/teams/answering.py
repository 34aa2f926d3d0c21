"""A whole bot at the local tenant: questions are kept, worked on and answered there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.asker_identity import AskerIdentification
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Person, Policy, Thread
from bot.domain.ports import AnswersInquiries, Inbox
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.transport.http import mount
from bot.store.database import Store
from tests.bot.adapters.saying import PAGE, TENANT, Says
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import turns
from tests.bot.adapters.teams.tenant.conversations import place_of
from tests.bot.adapters.teams.tenant.doors import Answer, Client
from tests.bot.adapters.teams.tenant.names import ALICE, HELP
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.inboxes import inbox_over, running
from tests.bot.offices import ReadsPages, office_over
from tests.bot.recorded import posted
from tests.builders import NOON


@dataclass
class Bot:
    """What a test reaches of it."""

    teams: FakeTeams
    client: Client
    store: Store
    pages: ReadsPages
    said: Says
    inbox: Inbox

    def person(self, person: str = ALICE) -> Visitor:
        return Visitor(self.teams, self.client, person)

    async def answered(
        self, outcome: Outcome | None = None, *, where: str = HELP, person: str = ALICE
    ) -> Interaction:
        """Have a question asked and answered, in a channel, a group or a chat."""
        self.said.outcome = outcome or self.said.outcome
        written = await self.person(person).say(where, "vpn down?")
        return await posted(self.store, named(written.place, written.id))

    def reply(self, interaction: Interaction) -> Sent:
        """Return the first message of an answer."""
        assert interaction.posted is not None
        return self.teams.post(interaction.posted.id)

    async def press(
        self, over: Sent, verb: str, data: dict[str, Any], person: str = ALICE, *, where: str = ""
    ) -> str:
        """Press a button as a client might make it up; return what its presser is told."""
        value = {"action": {"type": "Action.Execute", "verb": verb, "data": data}}
        answer = await self.invoke(over, "adaptiveCard/action", value, person, where=where)
        return str(answer.body["value"])

    async def invoke(
        self, over: Sent, name: str, value: dict[str, Any], person: str = ALICE, *, where: str = ""
    ) -> Answer:
        """Send an invoke about a message; it must be answered at once, and never by an error."""
        visitor, place = self.person(person), where or over.conversation
        activity = turns.invoke(self.teams, visitor.human, place, name, value, over.id)
        (answer,) = await visitor.deliver(activity)
        assert answer.status == 200
        return answer

    async def votes(self, interaction_id: InteractionId) -> dict[str, str]:
        given = await self.store.interactions.feedback(interaction_id)
        return {each.person_id: each.vote for each in given}


def named(where: str, message_id: str) -> InteractionId:
    """Return the interaction of a message, as the bot names it."""
    thread = Thread("teams", TENANT, place_of(where), "")
    return Message(message_id, thread, Person(ALICE), "", NOON).interaction_id


@asynccontextmanager
async def bot_at(
    teams: FakeTeams,
    channel: TeamsChannel,
    store: Store,
    desk: AnswersInquiries | None = None,
) -> AsyncIterator[Bot]:
    """Start a bot; its desk says what a test tells it to, unless there is another."""
    said, pages = Says(), ReadsPages(PAGE)
    introductions = AskerIdentification(
        {"teams": channel}, open_spaces={"teams": frozenset({"IT"})}, notes=store.notes
    )
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=introductions,
        notes=store.notes,
    )
    opened = inbox_over(store, desk=desk or said, admission=admission, channels={"teams": channel})
    async with running(opened) as inbox:
        app = web.Application()
        mount(app, channel, office_over(store, inbox, tenant=TENANT, readable=pages))
        async with TestClient(TestServer(app, host="127.0.0.1")) as client:
            yield Bot(teams, client, store, pages, said, inbox)

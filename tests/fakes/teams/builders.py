"""Build a whole bot and an escalated case at the fake Teams."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.cases import Actor
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Person, Platform, Thread
from bot.domain.ports import AnswersInquiries, Inbox
from bot.platforms.teams import mount
from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.fakes.builders import NOON
from tests.fakes.chat_context import ReadsPages, chat_context_over
from tests.fakes.desk import PAGE, TENANT, FixedDesk
from tests.fakes.durable_inbox import running, wait_until_posted
from tests.fakes.scenarios import CaseOnPlatform, admitting_inbox
from tests.fakes.teams import activities, names
from tests.fakes.teams.activities import BotTestClient, question
from tests.fakes.teams.cards import words
from tests.fakes.teams.exchange import Answer, Client
from tests.fakes.teams.names import ALICE, HELP
from tests.fakes.teams.people import place_of
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor


@dataclass
class Bot:
    """What a test reaches of it."""

    teams: FakeTeams
    client: Client
    store: Store
    pages: ReadsPages
    said: FixedDesk
    inbox: Inbox

    def person(self, person: str = ALICE) -> Visitor:
        return Visitor(self.teams, self.client, person)

    async def answered(
        self, outcome: Outcome | None = None, *, where: str = HELP, person: str = ALICE
    ) -> Interaction:
        """Have a question asked and answered, in a channel, a group or a chat."""
        self.said.outcome = outcome or self.said.outcome
        written = await self.person(person).say(where, "vpn down?")
        return await wait_until_posted(self.store, interaction_id_of(written.place, written.id))

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
        activity = activities.invoke(self.teams, visitor.human, place, name, value, over.id)
        (answer,) = await visitor.deliver(activity)
        assert answer.status == 200
        return answer

    async def votes(self, interaction_id: InteractionId) -> dict[str, str]:
        given = await self.store.interactions.feedback(interaction_id)
        return {each.person_id: each.vote for each in given}


def interaction_id_of(where: str, message_id: str) -> InteractionId:
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
    said, pages = FixedDesk(), ReadsPages(PAGE)
    opened = admitting_inbox(store, "teams", channel, desk or said)
    async with running(opened) as inbox:
        app = web.Application()
        mount(app, channel, chat_context_over(store, inbox, tenant=TENANT, readable=pages))
        async with TestClient(TestServer(app, host="127.0.0.1")) as client:
            yield Bot(teams, client, store, pages, said, inbox)


ASKER = Actor(names.ALICE, "Alice", "asker")


@dataclass
class CaseScenario(CaseOnPlatform):
    """One tenant, one record, and one process of the bot between them."""

    teams: FakeTeams
    store: Store
    channel: TeamsChannel
    context: ChatContext
    client: BotTestClient
    ahead: timedelta = timedelta()
    platform: Platform = "teams"

    @property
    def question(self) -> Message:
        return question(self.teams)

    def visitor(self, person: str = names.ANNA) -> Visitor:
        """Return somebody at the keyboard."""
        return Visitor(self.teams, self.client, person)

    @property
    def in_people(self) -> list[Sent]:
        """Return what is in the people's channel, in threads, too."""
        return self.teams.posts_in(names.PEOPLE)

    @property
    def card(self) -> Sent:
        (card,) = (post for post in self.in_people if post.cards and post.is_root)
        return card

    @property
    def told(self) -> list[Sent]:
        """Return what the asker was told after the first reply."""
        return self.teams.posts_in(self.question.thread.channel)[1:]

    def seen_by(self, person: str, post: Sent | None = None) -> str:
        """Return what is on the cards of a message as one person sees them."""
        return "\n".join(map(words, self.teams.cards_for(person, post or self.card)))

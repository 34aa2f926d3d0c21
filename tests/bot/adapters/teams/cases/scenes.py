"""A question that people were asked about, in the local Teams and in the record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bot.chat.adapters import ChatContext
from bot.domain.cases import Act, Actor, Case, CaseStep
from bot.domain.interactions import Escalation, Outcome, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.bot.adapters.outcomes import HANDED_OVER, TRACE, delivery
from tests.bot.adapters.teams.activities import Client, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.cards import words
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.recorded import answered

ANNA = Actor("anna@acme.example", "Anna Lopez", "expert")
BEN = Actor("ben@acme.example", "Ben Okafor", "expert")
ASKER = Actor(names.ALICE, "Alice", "asker")


@dataclass
class Scene:
    """One tenant, one record, and one process of the bot between them.

    ``ahead`` is how far its clock is: what is to be tried again later is due then.
    """

    teams: FakeTeams
    store: Store
    channel: TeamsChannel
    office: ChatContext
    client: Client
    ahead: timedelta = timedelta()

    @property
    def question(self) -> Message:
        return question(self.teams)

    def visitor(self, person: str = names.ANNA) -> Visitor:
        """Return somebody at the keyboard."""
        return Visitor(self.teams, self.client, person)

    async def ask(
        self, message: Message | None = None, response: Escalation = HANDED_OVER
    ) -> InteractionId:
        """Record a question that went to people, and post what it brings."""
        asked = message or self.question
        outcome = Outcome(response, TRACE)
        await answered(self.store, asked, outcome)
        await self.channel.deliver(replace(delivery(asked, response), outcome=outcome))
        return asked.interaction_id

    async def act(
        self,
        what: Act,
        actor: Actor = ANNA,
        text: str = "",
        *,
        id: InteractionId | None = None,  # noqa: A002
    ) -> Case:
        case_id = id or self.question.interaction_id
        return await self.office.casework.act("acme", case_id, what, actor, text)

    async def news(self) -> None:
        """Tell all that is due, as the running bot does at once."""
        news = NoticeLoop(
            owner="me",
            outbox=self.store.notices,
            teller=NoticeDelivery(
                outbox=self.store.notices,
                cases=self.store.escalations,
                works=self.office.casework,
                recorded=self.store.interactions,
                channels={"teams": self.channel},
                now=self.now,
            ),
            is_open=lambda: True,
            now=self.now,
        )
        while await news.round():
            pass

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    @property
    def in_people(self) -> list[Sent]:
        """Return what is in the people's channel."""
        return self.teams.posts_in(names.PEOPLE)

    @property
    def card(self) -> Sent:
        (card,) = (post for post in self.in_people if post.cards)
        return card

    @property
    def told(self) -> list[Sent]:
        """Return what the asker was told after the first reply."""
        return self.teams.posts_in(self.question.thread.channel)[1:]

    def seen_by(self, person: str, post: Sent | None = None) -> str:
        """Return what is on the cards of a message as one person sees them."""
        return "\n".join(map(words, self.teams.cards_for(person, post or self.card)))

    async def case(self) -> Case:
        case = await self.store.escalations.get("acme", self.question.interaction_id)
        assert case is not None
        return case

    async def history(self) -> list[CaseStep]:
        steps = await self.store.escalations.steps("acme", self.question.interaction_id)
        return [step for step in steps if step.step != "open"]

    async def noted(self) -> PostedRef:
        """Return where the card is, as the record has it."""
        text = await self.store.notes.get("acme", f"teams:card:{self.question.interaction_id}")
        channel, _, activity_id = (text or "").partition(" ")
        return PostedRef(channel, activity_id)

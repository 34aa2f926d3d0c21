"""A question that people were asked about, on the local workspace and in the record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bot.chat.adapters import ChatContext
from bot.domain.cases import Act, Actor, Case, CaseStep
from bot.domain.interactions import Escalation, Outcome, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.platforms.slack.channel import SlackChannel
from bot.store.database import Store
from tests.bot.adapters.outcomes import HANDED_OVER, TRACE, delivery
from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.questions import PEOPLE, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.recorded import answered

ANNA = Actor("anna@acme.example", "Anna Lopez", "expert")
BEN = Actor("ben@acme.example", "Ben Okafor", "expert")
ASKER = Actor("U0ALICE00", "Alice", "asker")


@dataclass
class Scene:
    """One workspace, one record, and one process of the bot between them.

    ``ahead`` is how far its clock is: what is to be tried again later is due then.
    """

    slack: FakeSlack
    store: Store
    channel: SlackChannel
    office: ChatContext
    client: Client
    ahead: timedelta = timedelta()

    def visitor(self, user_id: str = names.ANNA) -> Visitor:
        """Return somebody at the keyboard."""
        return Visitor(self.slack, self.client, user_id)

    def whispered(self, user_id: str) -> list[str]:
        """Return what only one person was shown."""
        return [post.shown for post in self.slack.whispered(user_id)]

    async def ask(
        self, message: Message | None = None, response: Escalation = HANDED_OVER
    ) -> InteractionId:
        """Record a question that went to people, and post what it brings."""
        asked = message or question()
        sent = delivery(asked, response)
        sent = replace(sent, outcome=Outcome(response, TRACE))
        await answered(self.store, asked, sent.outcome)
        await self.channel.deliver(sent)
        return asked.interaction_id

    async def act(
        self,
        what: Act,
        actor: Actor = ANNA,
        text: str = "",
        *,
        id: str = "",  # noqa: A002
    ) -> Case:
        case_id = InteractionId(id) if id else question().interaction_id
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
                channels={"slack": self.channel},
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
    def card(self) -> Post:
        (card,) = (post for post in self.slack.in_channel(PEOPLE) if post.part == "card")
        return card

    @property
    def told(self) -> list[Post]:
        """Return what the asker was told after the first reply."""
        return replies(self.slack)[1:]

    async def case(self) -> Case:
        case = await self.store.escalations.get("acme", question().interaction_id)
        assert case is not None
        return case

    async def history(self) -> list[CaseStep]:
        steps = await self.store.escalations.steps("acme", question().interaction_id)
        return [step for step in steps if step.step != "open"]

    async def noted(self) -> PostedRef:
        """Return where the card is, as the record has it."""
        text = await self.store.notes.get("acme", f"slack:card:{question().interaction_id}")
        channel, _, ts = (text or "").partition(" ")
        return PostedRef(channel, ts)

"""A whole bot at the local workspace: questions are kept, worked on and answered there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.asker_identity import AskerIdentification
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Person, Policy, Thread
from bot.domain.ports import AnswersInquiries, Inbox
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.transport.http import mount
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.saying import PAGE, TENANT, Says
from tests.bot.adapters.slack.events import ALICE, Client
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import interactions
from tests.bot.adapters.slack.workspace.answers import Answer, Json
from tests.bot.adapters.slack.workspace.names import HELP, TEAM
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.views import View
from tests.bot.house import until
from tests.bot.inboxes import inbox_over, running
from tests.bot.offices import ReadsPages, office_over
from tests.bot.recorded import posted
from tests.builders import NOON


@dataclass
class Bot:
    """What a test reaches of it."""

    slack: FakeSlack
    client: Client
    store: Store
    pages: ReadsPages
    said: Says
    inbox: Inbox

    def person(self, user: str = ALICE) -> Visitor:
        return Visitor(self.slack, self.client, user)

    async def answered(
        self, outcome: Outcome | None = None, *, channel: str = HELP, user: str = ALICE
    ) -> Interaction:
        """Have a question asked and answered, in a channel or in private."""
        self.said.outcome = outcome or self.said.outcome
        private = channel.startswith("D")
        ts = await self.person(user).say(channel, "vpn down?", mention=not private)
        return await posted(self.store, named(channel, ts))

    def reply(self, interaction: Interaction) -> Post:
        """Return the last message of an answer."""
        ref = interaction.posted
        assert ref is not None
        found = self.slack.post_at(ref.channel, ref.id)
        assert found is not None
        return found

    async def press(self, post: Post, action: str, value: object, user: str = ALICE) -> Answer:
        """Press a button with any value, whether the message has it or not."""
        return await self.person(user).door.interact(
            self.pressed(post.channel, action, value, user)
        )

    def pressed(self, channel: str, action: str, value: object, user: str = ALICE) -> Json:
        """Return a press as a client might make it up."""
        return {
            "type": "block_actions",
            "user": {"id": user, "team_id": TEAM},
            "team": {"id": TEAM, "domain": "acme"},
            "container": {"type": "message", "message_ts": "1.4", "channel_id": channel},
            "channel": {"id": channel},
            "trigger_id": self.slack.tickets.trigger(user),
            "response_url": interactions.response_url(self.slack, user, channel, None),
            "actions": [{"type": "button", "action_id": action, "block_id": "b", "value": value}],
        }

    async def votes(self, interaction_id: InteractionId) -> dict[str, str]:
        given = await self.store.interactions.feedback(interaction_id)
        return {each.person_id: each.vote for each in given}

    def whispered(self, user: str = ALICE) -> list[Post]:
        """Return what is shown to one person alone."""
        return self.slack.whispered(user)

    async def told(self, words: str, user: str = ALICE) -> Post:
        """Wait until somebody alone is told something; return it."""
        await until(lambda: self._with(words, user))
        return self._with(words, user)[0]

    async def modal(self, shows: Callable[[View], object] = bool) -> View:
        """Wait for a modal."""
        await until(lambda: [view for view in self.slack.open_views if shows(view)])
        return next(view for view in self.slack.open_views if shows(view))

    def _with(self, words: str, user: str) -> list[Post]:
        return [post for post in self.whispered(user) if words in post.shown]


def named(channel: str, message_id: str) -> InteractionId:
    """Return the interaction of a message, as the bot names it."""
    thread = Thread("slack", TENANT, channel, "")
    return Message(message_id, thread, Person(ALICE), "", NOON).interaction_id


@asynccontextmanager
async def bot_at(
    slack: FakeSlack,
    channel: SlackChannel,
    store: Store,
    desk: AnswersInquiries | None = None,
) -> AsyncIterator[Bot]:
    """Start a bot; its desk says what a test tells it to, unless there is another."""
    said, pages = Says(), ReadsPages(PAGE)
    introductions = AskerIdentification(
        {"slack": channel}, open_spaces={"slack": frozenset({"IT"})}, notes=store.notes
    )
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=introductions,
        notes=store.notes,
    )
    opened = inbox_over(store, desk=desk or said, admission=admission, channels={"slack": channel})
    async with running(opened) as inbox:
        app = web.Application()
        mount(app, channel, office_over(store, inbox, tenant=TENANT, readable=pages))
        async with TestClient(TestServer(app, host="127.0.0.1")) as client:
            yield Bot(slack, client, store, pages, said, inbox)


def private_too(text: str = "Your own plan covers it [1].") -> Outcome:
    """Return an answer with a fuller one for its asker alone."""
    return Outcome(ANSWER, TRACE, replace(ANSWER, text=text))

"""Build a clock, settings, questions, a whole bot and an escalated question at the fake Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from bot.chat.adapters import ChatContext
from bot.domain.cases import Actor
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Person, Platform, Thread
from bot.domain.ports import AnswersInquiries, Inbox
from bot.domain.settings import Settings
from bot.platforms.slack import mount
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.rate_limits import ApiCaller
from bot.platforms.slack.socket_mode import SocketTimeouts
from bot.store.database import Store
from tests.fakes.builders import NOON
from tests.fakes.chat_context import ReadsPages, chat_context_over
from tests.fakes.desk import ANSWER, PAGE, TENANT, TRACE, FixedDesk
from tests.fakes.durable_inbox import running, wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.scenarios import CaseOnPlatform, admitting_inbox
from tests.fakes.slack import interactions, names
from tests.fakes.slack.events import ALICE, Client
from tests.fakes.slack.exchange import Answer, Json
from tests.fakes.slack.names import APP_TOKEN, TEAM
from tests.fakes.slack.names import HELP as HELP_ROOM
from tests.fakes.slack.posts import Post, View
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor


@dataclass
class Clock:
    """Time that passes by waiting only; ``waits`` are the pauses that were made."""

    now: float = 1_000.0
    waits: list[float] = field(default_factory=list)

    def read(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def caller(self) -> ApiCaller:
        """Return a caller that lives by this clock."""
        return ApiCaller(self.pause, self.read)


def unhurried() -> ApiCaller:
    """Return a caller that keeps its pace and takes no time for it."""
    return Clock().caller()


HASTY = SocketTimeouts(
    connect=2.0, look=0.02, ping=0.2, first_pause=0.02, longest_pause=0.1, finish=1.0
)


def on_socket(settings: Settings) -> Settings:
    """Return the settings of the same workspace, reached by a socket."""
    changes = {"slack_signing_secret": None, "slack_app_token": SecretStr(APP_TOKEN)}
    return settings.model_copy(update=changes)


HELP, PEOPLE, DIRECT = "C0HELP000", "C0PEOPLE0", "D0ALICE00"
ROOT = "1700000000.000100"


def question(*, private: bool = False, id: str = ROOT) -> Message:  # noqa: A002  # the field's name
    return Message(
        id=id,
        thread=Thread("slack", "acme", DIRECT if private else HELP, ROOT),
        author=Person(id=ALICE),
        text="vpn down?",
        received_at=datetime.now(UTC),
        private=private,
    )


def replies(slack: FakeSlack) -> list[Post]:
    """Return what the bot wrote in the thread."""
    return [post for post in slack.in_thread(HELP, ROOT) if "metadata" in post.payload]


@dataclass
class Bot:
    """What a test reaches of it."""

    slack: FakeSlack
    client: Client
    store: Store
    pages: ReadsPages
    said: FixedDesk
    inbox: Inbox

    def person(self, user: str = ALICE) -> Visitor:
        return Visitor(self.slack, self.client, user)

    async def answered(
        self, outcome: Outcome | None = None, *, channel: str = HELP_ROOM, user: str = ALICE
    ) -> Interaction:
        """Have a question asked and answered, in a channel or in private."""
        self.said.outcome = outcome or self.said.outcome
        private = channel.startswith("D")
        ts = await self.person(user).say(channel, "vpn down?", mention=not private)
        return await wait_until_posted(self.store, interaction_id_of(channel, ts))

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
        await wait_until(lambda: self._with(words, user))
        return self._with(words, user)[0]

    async def modal(self, shows: Callable[[View], object] = bool) -> View:
        """Wait for a modal."""
        await wait_until(lambda: [view for view in self.slack.open_views if shows(view)])
        return next(view for view in self.slack.open_views if shows(view))

    def _with(self, words: str, user: str) -> list[Post]:
        return [post for post in self.whispered(user) if words in post.shown]


def interaction_id_of(channel: str, message_id: str) -> InteractionId:
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
    said, pages = FixedDesk(), ReadsPages(PAGE)
    opened = admitting_inbox(store, "slack", channel, desk or said)
    async with running(opened) as inbox:
        app = web.Application()
        mount(app, channel, chat_context_over(store, inbox, tenant=TENANT, readable=pages))
        async with TestClient(TestServer(app, host="127.0.0.1")) as client:
            yield Bot(slack, client, store, pages, said, inbox)


def answer_with_private_part(text: str = "Your own plan covers it [1].") -> Outcome:
    """Return an answer with a fuller one for its asker alone."""
    return Outcome(ANSWER, TRACE, replace(ANSWER, text=text))


ASKER = Actor("U0ALICE00", "Alice", "asker")


@dataclass
class CaseScenario(CaseOnPlatform):
    """One workspace, one record, and one process of the bot between them."""

    slack: FakeSlack
    store: Store
    channel: SlackChannel
    context: ChatContext
    client: Client
    ahead: timedelta = timedelta()
    platform: Platform = "slack"

    @property
    def question(self) -> Message:
        return question()

    def visitor(self, user_id: str = names.ANNA) -> Visitor:
        """Return somebody at the keyboard."""
        return Visitor(self.slack, self.client, user_id)

    def whispered(self, user_id: str) -> list[str]:
        """Return what only one person was shown."""
        return [post.shown for post in self.slack.whispered(user_id)]

    @property
    def card(self) -> Post:
        (card,) = (post for post in self.slack.in_channel(PEOPLE) if post.part == "card")
        return card

    @property
    def told(self) -> list[Post]:
        """Return what the asker was told after the first reply."""
        return replies(self.slack)[1:]

"""Implement the channel port for Slack: deliver replies, show progress, post escalations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Literal

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import NullNotes
from bot.domain import health
from bot.domain.cases import Case, Notice
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryRefused, SettingInvalid
from bot.domain.health import ComponentStatus, merge_statuses
from bot.domain.interactions import Delivery, PostedRef, Reply
from bot.domain.messages import Activity, Attachment, Introduction, Message, Stage
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.escalations.case_view import CaseView
from bot.escalations.ports import SeesCases
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.conversations import MessageLookup
from bot.platforms.slack.client.posting import Poster
from bot.platforms.slack.escalations.notices import AskerNotices
from bot.platforms.slack.escalations.people_channel import PeopleChannel
from bot.platforms.slack.messages.agent_sessions import AgentSessions
from bot.platforms.slack.messages.files import Files
from bot.platforms.slack.messages.replies import PrivateReplies, Replies
from bot.platforms.slack.messages.reply_order import ReplyOrder
from bot.platforms.slack.messages.response_urls import CommandReplies
from bot.platforms.slack.messages.status import ProgressStatus
from bot.platforms.slack.payloads.events import response_url_of
from bot.platforms.slack.payloads.metadata import ts_of
from bot.platforms.slack.workspace.bot_identity import BotIdentity, SlackHealth
from bot.platforms.slack.workspace.health_checks import PEOPLE_PART, HealthChecks
from bot.platforms.slack.workspace.members import Colleagues, Introducer
from bot.platforms.slack.workspace.mention_names import MentionNames

_TIMEOUT_SECONDS = 15


def connect(
    settings: Settings, notes: Notes | None = None, *, caller: ApiCaller | None = None
) -> SlackChannel:
    """Return the channel of the configured workspace; nothing is called yet.

    Without ``notes`` it remembers nothing beyond its process.

    Raises SettingInvalid.
    """
    token = settings.slack_bot_token
    if token is None or not settings.slack_configured:
        raise SettingInvalid(
            "Slack needs SLACK_BOT_TOKEN (OAuth & Permissions), and SLACK_SIGNING_SECRET (Basic "
            "Information) or SLACK_APP_TOKEN; set them."
        )
    client = AsyncWebClient(
        token=token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=_TIMEOUT_SECONDS,
        retry_handlers=[],
    )
    return SlackChannel(client, settings, caller or ApiCaller(), notes or NullNotes())


class SlackChannel:
    """Implements bot.domain.ports.Channel and Withdraws.

    Besides, all of bot.domain.capabilities (TakesTurns, Introduces, Fetches, TellsState) and of
    bot.escalations.ports what a platform may do: Tells, AsksPeople, ShowsCases and LinksBack. What
    each does is in a file of its own.
    """

    def __init__(
        self, client: AsyncWebClient, settings: Settings, caller: ApiCaller, notes: Notes
    ) -> None:
        self.client = client
        self.settings = settings
        self.caller = caller
        self.standing = SlackHealth(health.slack(settings))
        self.own = BotIdentity(client, caller, self.standing)
        self.colleagues = Colleagues(client, caller, self.own, settings)
        self._checking = HealthChecks(client, caller, self.own, self.colleagues, settings)
        self.introducer = Introducer(client, caller, self.colleagues)
        self.names = MentionNames(client, caller, self.colleagues)
        self._files = Files(client)
        self.errands = BackgroundTasks()
        # What only one person sees takes fewer kinds of blocks: each learns for itself.
        aside = Poster(client, caller)
        self._people = PeopleChannel(
            client,
            caller,
            notes,
            channel=settings.slack_escalation_channel,
            public_url=settings.public_url,
            standing=self.standing,
        )
        self._telling = AskerNotices(client, caller, notes)
        self._replies = Replies(Poster(client, caller), MessageLookup(client, caller), self._people)
        self._responses = CommandReplies(client, caller, notes, aside, self._people)
        self._whispers = PrivateReplies(aside)
        self.sessions = AgentSessions(client, caller, self.errands)
        self._status = ProgressStatus(client, caller, notes, self.errands, self.sessions)
        self._turns = ReplyOrder(lambda channel: caller.opening("chat.postMessage", channel))

    @property
    def platform(self) -> Literal["slack"]:
        return "slack"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Hold connections to Slack open; without it every call makes its own."""
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            self.client.session = session
            try:
                yield
            finally:
                await self.errands.finish()
                self.client.session = None

    async def check(self) -> ComponentStatus:
        """Ask Slack whether all that is configured works, as one line; nothing is posted."""
        return merge_statuses(await self.checks())

    async def checks(self) -> Sequence[ComponentStatus]:
        """Ask Slack about everything that is configured, a line for each; nothing is posted."""
        parts = await self._checking.parts()
        if any(part.name == PEOPLE_PART and part.state == "ready" for part in parts):
            self.standing.reached_people(self.settings.slack_escalation_channel)
        return parts

    def part(self) -> ComponentStatus:
        """Return how it stands, without asking anybody."""
        return self.standing.part()

    async def introduce(self, message: Message) -> Introduction:
        """Tell who asks and who reads along, as Slack vouches for it. Raises DeliveryFailed."""
        return await self.introducer.introduce(message)

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file that came with a message. Raises DeliveryFailed."""
        return await self._files.fetch(attachment, most=most)

    async def progress(
        self,
        message: Message,
        activity: Activity,
        placeholder: PostedRef | None,  # noqa: ARG002  # the port's; a status line needs none
    ) -> None:
        """Show a status line, or a mark on the question where there is none."""
        if activity.stage is Stage.DONE:
            self._turns.ended(message)
            await self._status.withdrawn(message)
            return
        if not response_url_of(message):
            self._turns.begun(message)
        await self._status.show(message, activity)

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Let replies go out in the order of their questions; one to a command waits for none."""
        return nullcontext() if response_url_of(message) else self._turns.turn(message)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post what is not there yet; what ``find`` saw is not looked up again."""
        message = delivery.message
        if response_url_of(message):
            return await self._responses.deliver(delivery)
        if delivery.outcome.ephemeral and not message.private:
            async with self._cleared_if_refused(message):
                shown = await self._whispers.only(delivery)
            await self._status.withdrawn(message)
            return shown
        async with self._cleared_if_refused(message):
            ref, posted = await self._replies.deliver(delivery)
        if posted:
            await self._whispers.offer(delivery)
        self._status.answered(message)
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Look the delivery up in its thread, by metadata; None unless all of it is there."""
        if response_url_of(delivery.message):
            return await self._responses.find(delivery)
        async with self._cleared_if_refused(delivery.message):
            ref = await self._replies.find(delivery)
        if ref is not None:
            self._status.answered(delivery.message)
        return ref

    @asynccontextmanager
    async def _cleared_if_refused(self, message: Message) -> AsyncIterator[None]:
        """Take the status line or mark away where there will be no reply."""
        try:
            yield
        except DeliveryRefused:
            await self._status.withdrawn(message)
            raise

    async def whisper(self, message: Message, reply: Reply) -> None:
        """Show a fuller reply to the asker alone, in a thread others read. Raises DeliveryFailed.

        Whoever calls this has made sure that it is the asker who wants it.
        """
        await self._whispers.whisper(message, reply)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did, in the thread of the question; theirs by name and words."""
        return await self._telling.tell(message, notice)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Look a notice up in its thread, by metadata; None unless all of it is there."""
        return await self._telling.find_told(message, notice)

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen, before anything is posted of one."""
        self._people.attend(sees)
        self._telling.attend(sees)

    async def show(self, message: Message, view: CaseView) -> None:
        """Bring the card, and what the asker was told last, up to date."""
        if message.thread.platform == "slack":
            await self._people.show(message, view)
            await self._telling.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is. Raises DeliveryFailed, StoreUnavailable."""
        return await self._people.card_of(message)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say in the people's channel that a case waits, with the way to it."""
        return await self._people.remind(case, notice)

    async def tell_people(self, text: str) -> None:
        """Post a line of plain text in the people's channel. Raises DeliveryFailed."""
        await self._people.tell(text)

    async def link(self, message: Message) -> str | None:
        """Return where a question can be opened; a direct message nobody else can open."""
        if message.private:
            return None
        return await self._people.permalink(message.thread.channel, ts_of(message))

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, then what else the thread and the people's channel hold."""
        self._turns.ended(message)
        await self._status.withdrawn(message)
        await self._replies.withdraw(message, posted)

"""Implement the channel port for Slack: deliver replies, show progress, post escalations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Literal

import aiohttp

from bot.chat.adapters import NullNotes
from bot.domain import health
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryRefused, SettingInvalid
from bot.domain.health import ComponentStatus, merge_statuses
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Activity, Message, Stage
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.domain.texts import load_catalogue
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.platforms.slack.bot_identity import BotIdentity, SlackHealth
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.posting import TextWebClient
from bot.platforms.slack.client.rate_limits import ApiCaller
from bot.platforms.slack.drafts import Drafts
from bot.platforms.slack.health_checks import PEOPLE_PART, HealthChecks
from bot.platforms.slack.members import Colleagues, MentionNames
from bot.platforms.slack.messages.files import Files
from bot.platforms.slack.messages.progress import ProgressStatus, ReplyOrder
from bot.platforms.slack.messages.replies import CommandReplies, PrivateReplies, Replies
from bot.platforms.slack.messages.sessions import AgentSessions
from bot.platforms.slack.notices import AskerNotices, Digests
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.metadata import ts_of
from bot.platforms.slack.payloads.response_urls import ResponseUrls
from bot.platforms.slack.people_channel import PeopleChannel

_TIMEOUT_SECONDS = 15


def connect(
    settings: Settings, notes: Notes | None = None, *, caller: ApiCaller | None = None
) -> SlackChannel:
    """Return the channel of the configured workspace; no call is made yet.

    Without ``notes`` nothing is remembered beyond the process.

    Raises SettingInvalid.
    """
    token = settings.slack_bot_token
    if token is None or not settings.slack_configured:
        raise SettingInvalid(
            "Slack needs SLACK_BOT_TOKEN (OAuth & Permissions), and SLACK_SIGNING_SECRET (Basic "
            "Information) or SLACK_APP_TOKEN; set them."
        )
    web = TextWebClient(
        token=token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=_TIMEOUT_SECONDS,
        retry_handlers=[],  # ApiCaller retries; a client that did so too would double messages.
    )
    web.language = load_catalogue(settings.ui_language).default
    client = SlackClient(web, caller or ApiCaller())
    return SlackChannel(client, settings, notes or NullNotes())


def _draw_nothing(*_: str) -> None:
    """No Home tab is served."""


class SlackChannel:
    """Slack as a channel: delivers replies, shows progress, posts cards and notices.

    Implements Channel, Withdraws, CorrectsReplies, TakesTurns, Introduces, Fetches, TellsState and
    TellsPeople of bot.domain.ports, Tells, Revises, AsksPeople, ShowsCases and LinksBack of
    bot.escalations.ports, and SendsDigests of bot.learning.digest. What takes more than a call of
    the client is in a class of its own.
    """

    def __init__(self, client: SlackClient, settings: Settings, notes: Notes) -> None:
        self.client = client
        self.settings = settings
        self.background = BackgroundTasks()
        self.health = SlackHealth(health.slack(settings))
        self.identity = BotIdentity(client, self.health, configured=settings.slack_team_id)
        self.colleagues = Colleagues(client, self.identity, settings)
        self.mention_names = MentionNames(client, self.colleagues)
        self.people = PeopleChannel(
            client,
            notes,
            channel=settings.slack_escalation_channel,
            second_channel=settings.slack_second_level_channel,
            public_url=settings.public_url,
            health=self.health,
        )
        self.private_replies = PrivateReplies(client)
        self.sessions = AgentSessions(client, self.background)
        self.drafts = drafts = Drafts(client, self.colleagues, notes)
        self._health_checks = HealthChecks(client, self.identity, self.colleagues, settings)
        self._notices = AskerNotices(client, notes)
        self.cases_changed: Callable[..., None] = _draw_nothing
        self._replies = Replies(client, self.people)
        self.response_urls = ResponseUrls(settings)
        self._command_replies = CommandReplies(client, notes, self.people, self.response_urls)
        self._status = ProgressStatus(client, notes, self.background, self.sessions)
        self._order = ReplyOrder(
            lambda channel: client.caller.until_allowed("chat.postMessage", channel)
        )
        # Methods of the ports that one of the parts above implements as it is.
        self.introduce = self.colleagues.introduce
        self.is_public = self.colleagues.is_public
        self.fetch = Files(client.web).fetch
        self.part = self.health.part
        self.tell, self.find_told = self._notices.tell, self._notices.find_told
        self.revise = self._notices.revise
        self.card_of, self.remind = self.people.card_of, self.people.remind
        self.tell_people, self.ask_people = self.people.tell, self.people.ask
        self.correct, self.note = self._replies.correct, self.private_replies.note
        self.send_digest = Digests(client).send_digest
        self.is_reviewer, self.send_draft = drafts.is_reviewer, drafts.send_draft
        self.withdraw_drafts = drafts.withdraw_drafts

    @property
    def platform(self) -> Literal["slack"]:
        return "slack"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Hold an HTTP session to Slack open; without it every call opens its own."""
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            self.client.web.session = session
            try:
                yield
            finally:
                await self.background.finish()
                self.client.web.session = None

    async def check(self) -> ComponentStatus:
        """Check all configured components, merged into one status; nothing is posted."""
        return merge_statuses(await self.checks())

    async def checks(self) -> Sequence[ComponentStatus]:
        """Check all configured components, with a status for each; nothing is posted."""
        parts = await self._health_checks.parts()
        if any(part.name == PEOPLE_PART and part.state == "ready" for part in parts):
            self.health.clear(self.settings.slack_escalation_channel or "")
        return parts

    async def progress(
        self,
        message: Message,
        activity: Activity,
        placeholder: PostedRef | None,  # noqa: ARG002  # the port's; a status line needs none
    ) -> None:
        """Show a status line, or a reaction on the question where there is none."""
        if activity.stage is Stage.DONE:
            self._order.ended(message)
            await self._status.remove(message)
            return
        if not is_command(message):
            self._order.begun(message)
        await self._status.show(message, activity)

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Hold the turn to reply, in the order of questions; a reply to a command never waits."""
        return nullcontext() if is_command(message) else self._order.turn(message)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post what is not posted yet; messages seen by ``find`` are not looked up again."""
        message = delivery.message
        if is_command(message):
            return await self._command_replies.deliver(delivery)
        if delivery.outcome.ephemeral and not message.private:
            async with self._cleared_if_refused(message):
                ref = await self.private_replies.deliver(delivery)
            await self._status.remove(message)
            return ref
        async with self._cleared_if_refused(message):
            ref, posted = await self._replies.deliver(delivery)
        if posted:
            await self.private_replies.offer(delivery)
        self._status.answered(message)
        return ref

    def tell_alone(self, delivery: Delivery) -> None:
        """Show a notice to an asker alone, in the background; it may be lost."""
        self.background.run(self.private_replies.deliver(delivery), what="told an asker alone")

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Find a delivery in its thread, by metadata; None unless it is complete."""
        if is_command(delivery.message):
            return await self._command_replies.find(delivery)
        async with self._cleared_if_refused(delivery.message):
            ref = await self._replies.find(delivery)
        if ref is not None:
            self._status.answered(delivery.message)
        return ref

    @asynccontextmanager
    async def _cleared_if_refused(self, message: Message) -> AsyncIterator[None]:
        """Remove the status line or reaction if the reply is refused."""
        try:
            yield
        except DeliveryRefused:
            await self._status.remove(message)
            raise

    def use_casework(self, casework: Casework) -> None:
        """Set the source of case views, before anything about a case is posted."""
        self.people.updates.casework = casework
        self._notices.latest.casework = casework

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card and the last notice to the asker, and the Home tabs of both sides."""
        self.cases_changed(message.author.id, view.case.status.owner_id)
        if message.thread.platform == "slack":
            await self.people.updates.show(message, view)
            await self._notices.latest.show(message, view)

    async def link(self, message: Message) -> str | None:
        """Return a question's permalink; None for a direct message, which nobody else can open."""
        if message.private:
            return None
        return await self.client.chat_get_permalink(message.thread.channel, ts_of(message))

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete the recorded messages, then any others in the thread and escalation channel."""
        self._order.ended(message)
        await self._status.remove(message)
        await self._replies.withdraw(message, posted)
        if message.shadow:
            await self.withdraw_drafts(message)

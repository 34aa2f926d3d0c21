"""The Teams channel: posts outcomes, progress and escalations for the rest of the bot.

``connect`` builds it from the settings, without calling Microsoft yet.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Literal

from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
)

from bot.chat.adapters import NullNotes
from bot.domain.cases import Notice
from bot.domain.concurrency import BackgroundTasks
from bot.domain.health import ComponentStatus, merge_statuses
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Activity, Introduction, Message
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.domain.texts import Language, load_catalogue
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.platforms.teams.auth import InboundAuth, RequestAuthenticator, SigningKeys
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.connector import BotTokens, Connector
from bot.platforms.teams.client.conversations import Conversations, Removals
from bot.platforms.teams.client.rate_limits import Clock, Jitter, Pause, Timing
from bot.platforms.teams.client.registration import (
    Cloud,
    CredentialFactory,
    credential_factory,
    registration_of,
    speed_up_msrest,
)
from bot.platforms.teams.drafts import Drafts
from bot.platforms.teams.health_checks import (
    PEOPLE_CHANNEL_CURE,
    PEOPLE_PART,
    HealthChecks,
    known_health,
)
from bot.platforms.teams.members import Colleagues, OutsideReaders, home_tenant_of
from bot.platforms.teams.messages.intake import Files
from bot.platforms.teams.messages.private_replies import PrivateReplies
from bot.platforms.teams.messages.replies import PostedActivities, Replies
from bot.platforms.teams.messages.streams import Streams
from bot.platforms.teams.notices import AskerNotices, Digests
from bot.platforms.teams.payloads.activity import question_link
from bot.platforms.teams.people_channel import PeopleChannel
from bot.platforms.teams.rendering.labels import sensitivity_of


def language_of(settings: Settings) -> Language:
    """Return the language in which texts are sent to Teams: a channel has many readers."""
    return load_catalogue(settings.ui_language).default


def _inbound_and_client(
    settings: Settings,
    cloud: Cloud,
    notes: Notes,
    credentials: CredentialFactory | None,
    timing: Timing,
) -> tuple[InboundAuth, TeamsClient]:
    """Return authentication of requests and the client for the configured registration."""
    registration = registration_of(settings, cloud)
    speed_up_msrest()
    authentication = ConfigurationBotFrameworkAuthentication(registration)
    adapter = CloudAdapter(authentication)
    keys = SigningKeys(cloud.metadata_url) if settings.microsoft_app_id else None
    authenticator = RequestAuthenticator(
        authentication,
        keys,
        issuer=cloud.issuer,
        app_id=settings.microsoft_app_id,
        entra_tenant=settings.microsoft_app_tenant_id,
    )
    opens = credentials or credential_factory(settings, cloud)
    client = TeamsClient(
        Connector(BotTokens(opens, cloud.scope), language_of(settings)),
        conversations=Conversations(notes, settings),
        removals=Removals(notes, settings.tenant),
        timing=timing,
    )
    return InboundAuth(adapter, authenticator, keys), client


def connect(
    settings: Settings,
    notes: Notes | None = None,
    *,
    cloud: Cloud | None = None,
    credentials: CredentialFactory | None = None,
    pause: Pause = asyncio.sleep,
    clock: Clock = time.monotonic,
    jitter: Jitter = random.random,
    files: Files | None = None,
) -> TeamsChannel:
    """Return the channel for the configured registration, without any call.

    Raises SettingInvalid.
    """
    cloud, notes, timing = cloud or Cloud(), notes or NullNotes(), Timing(pause, clock, jitter)
    inbound, client = _inbound_and_client(settings, cloud, notes, credentials, timing)
    return TeamsChannel(settings, inbound, client, notes, pause=pause, files=files or Files())


class TeamsChannel:
    """Teams as a platform of the bot.

    Implements `Channel`, `OpensPlaceholders`, `Withdraws`, `CorrectsReplies`, `Introduces` and
    `Fetches` of bot.domain.ports, `Tells`, `Revises`, `AsksPeople`, `ShowsCases` and `LinksBack` of
    bot.escalations.ports, and `SendsDigests` of bot.learning.digest.
    """

    def __init__(
        self,
        settings: Settings,
        inbound: InboundAuth,
        client: TeamsClient,
        notes: Notes,
        *,
        pause: Pause,
        files: Files,
    ) -> None:
        self.settings = settings
        self.background = BackgroundTasks()
        self.client = client
        self.inbound = inbound
        home, tenant = home_tenant_of(settings), settings.tenant
        self.colleagues = Colleagues(client, home)
        self.outside_readers = OutsideReaders(client, home, notes, tenant=tenant)
        self._health = HealthChecks(
            inbound.keys, client, settings, outside_readers=self.outside_readers
        )
        self.posted = PostedActivities(notes)
        self.people = people = PeopleChannel(
            client,
            notes,
            channel=settings.teams_escalation_channel,
            second_channel=settings.teams_second_level_channel,
            public_url=settings.public_url,
        )
        self._notices = notices = AskerNotices(client, self.posted, notes)
        self.streams = streams = Streams(client)
        sensitivity = sensitivity_of(settings.teams_sensitivity)
        self._replies = replies = Replies(
            client,
            streams,
            self.posted,
            sensitivity=sensitivity,
            split_cards=settings.teams_split_cards,
        )
        self._private_replies = PrivateReplies(
            client, notes, settings, sensitivity=sensitivity, pause=pause
        )
        self.drafts = drafts = Drafts(client, home, notes)
        # Methods of the ports that one of the parts above implements as it is.
        self.fetch = files.fetch
        self.has_placeholder = streams.may_open
        self.open_placeholder = streams.open
        self.close_placeholder = replies.close
        self.tell = notices.tell
        self.revise = notices.revise
        self.card_of = people.card_of
        self.remind = people.remind
        self.tell_people, self.ask_people = people.tell, people.ask
        self.correct, self.note = replies.correct, self._private_replies.note
        self.send_digest = Digests(client, self.outside_readers).send_digest
        self.is_reviewer, self.send_draft = drafts.is_reviewer, drafts.send_draft
        self.withdraw_drafts = drafts.withdraw_drafts

    @property
    def platform(self) -> Literal["teams"]:
        return "teams"

    async def check(self) -> ComponentStatus:
        """Check the whole configuration with Microsoft, as one status; nothing is posted."""
        return merge_statuses(await self.checks())

    async def checks(self) -> Sequence[ComponentStatus]:
        """Check the configuration with Microsoft, one status per component; nothing is posted."""
        parts = await self._health.parts()
        if any(part.name == PEOPLE_PART and part.state == "ready" for part in parts):
            self.people.trouble = None
        return parts

    def part(self) -> ComponentStatus:
        """Return the last known status without calling Microsoft."""
        now = known_health(self.inbound.keys, self.client.trouble, self.settings)
        missed = self.people.trouble
        if now.state == "failed" or missed is None:
            return now
        told = f"People can't be asked in {missed.channel}: the board alone has it."
        return ComponentStatus(now.name, "failed", told, f"{missed.why} {PEOPLE_CHANNEL_CURE}")

    async def introduce(self, message: Message) -> Introduction:
        """Return the asker, and whether people of other organisations ask or read along.

        Raises DeliveryFailed.
        """
        member = await self.colleagues.member(message.reply_to)
        shared = not message.private and await self.outside_readers.outside(message.reply_to)
        return Introduction(member.person, outsiders=shared or not member.colleague)

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Show the current activity in the stream, or a typing indicator in other chats."""
        self._replies.mark_unposted(message)
        await self.streams.show(message, activity, placeholder)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the reply; a private, fuller one goes to the asker's personal chat."""
        self._replies.mark_unposted(delivery.message)
        ref = await self._replies.deliver(await self.people.ask_and_adjust(delivery))
        await self._private_replies.send(delivery)
        return ref

    def tell_alone(self, delivery: Delivery) -> None:
        """Show a notice in its asker's own chat, if there is one, in the background.

        In a channel everybody would read it.
        """
        telling = self._private_replies.tell(delivery)
        self.background.run(telling, what="told an asker alone")

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return None: Teams can't be searched. A repeated post is marked as such."""
        self._replies.mark_maybe_posted(delivery.message)
        return None

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams can't be searched. A notice may be posted twice, but is never lost."""
        return None

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views, before the first post about a case."""
        self.people.updates.casework = casework
        self._notices.latest.casework = casework

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the case card and the asker's latest notice."""
        if message.thread.platform == "teams":
            await self.people.updates.show(message, view)
            await self._notices.latest.show(message, view)

    async def link(self, message: Message) -> str | None:
        """Return a link to a question; None for a personal chat, which nobody else can open."""
        return question_link(message)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete the recorded posts, all other known posts, and the private reply of a question."""
        try:
            await self._private_replies.withdraw(message)
            if message.shadow:
                await self.withdraw_drafts(message)
            await self._replies.withdraw(message, posted)
        finally:
            # The card quotes the question: delete it even where the reply can no longer be deleted.
            await self.people.withdraw(message)

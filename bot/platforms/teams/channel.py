"""The Teams channel: posts outcomes, progress and escalations for the rest of the bot.

``connect`` builds it from the settings, without calling Microsoft yet.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
    ConfigurationServiceClientCredentialFactory,
)

from bot.chat.adapters import NullNotes
from bot.domain.cases import Case, Notice
from bot.domain.concurrency import BackgroundTasks
from bot.domain.health import ComponentStatus, merge_statuses
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Activity, Attachment, Introduction, Message
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.platforms.teams.client.connections import ConnectorClients
from bot.platforms.teams.client.connector import Connector, KnowsAbsence
from bot.platforms.teams.client.rate_limits import Clock, Jitter, Pause, Timing
from bot.platforms.teams.client.registration import (
    CachedCredentials,
    Cloud,
    CredentialsFactory,
    limit_token_requests,
    registration_of,
    send_all_fields,
    speed_up_msrest,
)
from bot.platforms.teams.escalations.notices import AskerNotices
from bot.platforms.teams.escalations.people_channel import PeopleChannel
from bot.platforms.teams.messages.files import Files
from bot.platforms.teams.messages.private_replies import PrivateReplies
from bot.platforms.teams.messages.replies import PostedActivities, Replies
from bot.platforms.teams.messages.streams import ProgressStatus, StopHandler, Streams
from bot.platforms.teams.payloads.references import question_link
from bot.platforms.teams.rendering.labels import sensitivity_of
from bot.platforms.teams.tenant.conversations import Conversations, Removals
from bot.platforms.teams.tenant.health_checks import (
    PEOPLE_CHANNEL_CURE,
    PEOPLE_PART,
    HealthChecks,
    known_health,
)
from bot.platforms.teams.tenant.identity import Colleagues, Introducer, home_tenant_of
from bot.platforms.teams.tenant.members import OutsideReaders, Roster
from bot.platforms.teams.transport.auth import InboundAuth, RequestAuthenticator, SigningKeys


@dataclass(frozen=True, slots=True)
class Connection:
    """Inbound authentication and the outbound connector."""

    door: InboundAuth
    connector: Connector


def connection_of(
    settings: Settings,
    cloud: Cloud,
    absence: KnowsAbsence,
    *,
    credentials: CredentialsFactory | None,
    timing: Timing,
) -> Connection:
    """Return inbound and outbound parts for the configured registration, without any call.

    Raises SettingInvalid.
    """
    registration = registration_of(settings, cloud)
    send_all_fields()
    speed_up_msrest()
    limit_token_requests()
    cached = CachedCredentials(
        credentials or ConfigurationServiceClientCredentialFactory(registration)
    )
    authentication = ConfigurationBotFrameworkAuthentication(
        registration, credentials_factory=cached
    )
    adapter = CloudAdapter(authentication)
    keys = SigningKeys(cloud.metadata_url) if settings.microsoft_app_id else None
    gatekeeper = RequestAuthenticator(
        authentication,
        keys,
        issuer=cloud.issuer,
        app_id=settings.microsoft_app_id,
        entra_tenant=settings.microsoft_app_tenant_id,
    )
    app_id = settings.microsoft_app_id or ""
    clients = ConnectorClients(adapter, app_id=app_id, clock=timing.clock)
    connector = Connector(clients, cached, absence, app_id=app_id, timing=timing)
    return Connection(InboundAuth(adapter, gatekeeper, keys), connector)


def connect(
    settings: Settings,
    notes: Notes | None = None,
    *,
    cloud: Cloud | None = None,
    credentials: CredentialsFactory | None = None,
    pause: Pause = asyncio.sleep,
    clock: Clock = time.monotonic,
    jitter: Jitter = random.random,
    files: Files | None = None,
) -> TeamsChannel:
    """Return the channel for the configured registration, without any call.

    Raises SettingInvalid.
    """
    cloud, notes = cloud or Cloud(), notes or NullNotes()
    presence = Removals(notes, settings.tenant)
    timing = Timing(pause, clock, jitter)
    line = connection_of(settings, cloud, presence, credentials=credentials, timing=timing)
    return TeamsChannel(settings, line, presence, cloud, notes, pause=pause, files=files)


class TeamsChannel:
    """Teams as a platform of the bot; each method delegates to a class in a file of its own.

    Implements `Channel`, `OpensPlaceholders` and `Withdraws` of bot.domain.ports, `Introduces` and
    `Fetches` of bot.domain.capabilities, and `Tells`, `AsksPeople`, `ShowsCases` and `LinksBack` of
    bot.escalations.ports.
    """

    def __init__(
        self,
        settings: Settings,
        line: Connection,
        presence: Removals,
        cloud: Cloud,
        notes: Notes,
        *,
        pause: Pause = asyncio.sleep,
        files: Files | None = None,
    ) -> None:
        self.settings = settings
        self.background = BackgroundTasks()
        self.connector = connector = line.connector
        self.door = door = line.door
        self.places = Conversations(connector, notes, settings)
        self.presence = presence
        roster, home = Roster(connector), home_tenant_of(settings)
        self.colleagues = Colleagues(roster, home)
        self.onlookers = OutsideReaders(roster, home, notes, tenant=settings.tenant)
        self._introducer = Introducer(self.colleagues, self.onlookers)
        self._checking = HealthChecks(
            door.keys,
            connector,
            cloud,
            settings,
            places=self.places,
            onlookers=self.onlookers,
        )
        self.parts = PostedActivities(notes)
        self.people = PeopleChannel(
            connector,
            self.places,
            notes,
            channel=settings.teams_escalation_channel,
            public_url=settings.public_url,
        )
        self._files = files or Files()
        self._telling = AskerNotices(connector, self.parts, notes)
        self._streams = Streams(connector)
        self._status = ProgressStatus(connector, self._streams)
        sensitivity = sensitivity_of(settings.teams_sensitivity)
        self._replies = Replies(connector, self._streams, self.parts, sensitivity=sensitivity)
        self._whispers = PrivateReplies(
            connector, self.places, notes, settings, sensitivity=sensitivity, pause=pause
        )

    @property
    def platform(self) -> Literal["teams"]:
        return "teams"

    async def check(self) -> ComponentStatus:
        """Check the whole configuration with Microsoft, as one status; nothing is posted."""
        return merge_statuses(await self.checks())

    async def checks(self) -> Sequence[ComponentStatus]:
        """Check the configuration with Microsoft, one status per component; nothing is posted."""
        parts = await self._checking.parts()
        if any(part.name == PEOPLE_PART and part.state == "ready" for part in parts):
            self.people.trouble = None
        return parts

    def part(self) -> ComponentStatus:
        """Return the last known status without calling Microsoft."""
        now = known_health(self.door.keys, self.connector.trouble, self.settings)
        missed = self.people.trouble
        if now.state == "failed" or missed is None:
            return now
        told = f"People can't be asked in {missed.channel}: the board alone has it."
        return ComponentStatus(now.name, "failed", told, f"{missed.why} {PEOPLE_CHANNEL_CURE}")

    async def introduce(self, message: Message) -> Introduction:
        """Return who asks and whether outsiders read along, from Teams. Raises DeliveryFailed."""
        return await self._introducer.introduce(message)

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file of a personal chat. Raises DeliveryFailed, also above ``most`` bytes."""
        return await self._files.fetch(attachment, most=most)

    def on_stopped(self, stopped: StopHandler) -> None:
        """Set the handler that withdraws a question whose asker pressed Stop during the answer."""
        self._streams.on_stopped(stopped)

    def has_placeholder(self, message: Message) -> bool:
        """Return whether a stream may be opened there: in personal chats, where Teams allows it."""
        return self._streams.may_open(message)

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Open a stream; return None where Teams allows none. Raises DeliveryFailed."""
        return await self._status.open(message, needed=needed)

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        """Remove the progress message or stream of a question. Raises DeliveryFailed."""
        await self._replies.close(message, placeholder)

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Show the current activity in the stream, or a typing indicator where there is none."""
        self._replies.begun(message)
        await self._status.show(message, activity, placeholder)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the reply; a private, fuller one goes to the asker's personal chat."""
        self._replies.begun(delivery.message)
        ref = await self._replies.deliver(await self.people.asked(delivery))
        await self._whispers.send(delivery)
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return None: Teams can't be searched. A repeated post is marked as such."""
        self._replies.begun_elsewhere(delivery.message)
        return None

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post a person's action where the question was asked, with their name and words."""
        return await self._telling.tell(message, notice)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Return None: Teams can't be searched. A notice may be posted twice, but is never lost."""
        return await self._telling.find_told(message, notice)

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views, before the first post about a case."""
        self.people.use_casework(casework)
        self._telling.use_casework(casework)

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the case card and the asker's latest notice."""
        if message.thread.platform == "teams":
            await self.people.show(message, view)
            await self._telling.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is. Raises StoreUnavailable."""
        return await self.people.card_of(message)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of an open case below its card in the people's channel."""
        return await self.people.remind(case, notice)

    async def tell_people(self, text: str) -> None:
        """Post a line of plain text in the people's channel. Raises DeliveryFailed."""
        await self.people.tell(text)

    async def link(self, message: Message) -> str | None:
        """Return a link to a question; None for a personal chat, which nobody else can open."""
        return question_link(message)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete the recorded posts, all other known posts, and the private reply of a question."""
        try:
            await self._whispers.withdraw(message)
            await self._replies.withdraw(message, posted)
        finally:
            # The card quotes the question: delete it even where the reply can no longer be deleted.
            await self.people.withdraw(message)

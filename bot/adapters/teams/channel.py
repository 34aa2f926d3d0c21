"""Teams as a channel: where outcomes and progress become visible."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
    ConfigurationServiceClientCredentialFactory,
)

from bot.adapters.teams.arriving.door import Door
from bot.adapters.teams.arriving.gatekeeper import Gatekeeper
from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.cloud import Cloud
from bot.adapters.teams.calling.connector import Connector, Pause
from bot.adapters.teams.calling.credentials import CachedCredentials, CredentialsFactory
from bot.adapters.teams.calling.registration import registration_of, send_all_fields
from bot.adapters.teams.cases.news import told
from bot.adapters.teams.home.identity import Colleagues, Introducer, home_of
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.home.presence import Presence
from bot.adapters.teams.home.roster import Roster
from bot.adapters.teams.showing.parts import Parts
from bot.adapters.teams.showing.replies import Replies
from bot.adapters.teams.showing.status import Status
from bot.adapters.teams.showing.streams import Stopped, Streams
from bot.adapters.teams.showing.whispers import Whispers
from bot.config import Settings
from bot.errands import Errands
from bot.errors import BotError
from bot.escalations.types import Notice
from bot.notes import Forgetful
from bot.ports import Notes
from bot.startup import Part, teams
from bot.types import Activity, Delivery, Introduction, Message, PostedRef


def connect(
    settings: Settings,
    notes: Notes | None = None,
    *,
    cloud: Cloud | None = None,
    credentials: CredentialsFactory | None = None,
    pause: Pause = asyncio.sleep,
) -> TeamsChannel:
    """Return the channel of the configured registration; nothing is called yet.

    Raises SettingInvalid.
    """
    cloud = cloud or Cloud()
    registration = registration_of(settings, cloud)
    send_all_fields()
    cached = CachedCredentials(
        credentials or ConfigurationServiceClientCredentialFactory(registration)
    )
    authentication = ConfigurationBotFrameworkAuthentication(
        registration, credentials_factory=cached
    )
    adapter = CloudAdapter(authentication)
    keys = SigningKeys(cloud.metadata_url) if settings.microsoft_app_id else None
    gatekeeper = Gatekeeper(
        authentication,
        keys,
        issuer=cloud.issuer,
        entra_tenant=settings.microsoft_app_tenant_id,
    )
    connector = Connector(adapter, cached, app_id=settings.microsoft_app_id or "", pause=pause)
    door = Door(adapter, gatekeeper, keys)
    return TeamsChannel(settings, door, connector, cloud, notes or Forgetful(), pause=pause)


class TeamsChannel:
    """Implements bot.ports.Channel, OpensPlaceholders and Withdraws.

    Besides, of bot.capabilities Introduces, and of bot.escalations.ports Tells. What each does is
    in a file of its own.
    """

    def __init__(
        self,
        settings: Settings,
        door: Door,
        connector: Connector,
        cloud: Cloud,
        notes: Notes,
        *,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self.settings = settings
        self.errands = Errands()
        self.connector = connector
        self.door = door
        self._cloud = cloud
        self.places = Places(connector, notes, settings)
        self.presence = Presence(notes, settings.tenant)
        roster, home = Roster(connector), home_of(settings)
        self.colleagues = Colleagues(roster, home)
        self.onlookers = Onlookers(roster, home, notes, tenant=settings.tenant)
        self._introducer = Introducer(self.colleagues, self.onlookers)
        self.parts = Parts(notes)
        self._streams = Streams(connector)
        self._status = Status(connector, self._streams, self.errands)
        self._replies = Replies(connector, self._streams, self.parts, self.presence)
        self._whispers = Whispers(connector, self.places, notes, settings, pause=pause)

    @property
    def platform(self) -> Literal["teams"]:
        return "teams"

    async def check(self) -> Part:
        """Fetch the signing keys and a token, as the first message would; nothing is posted."""
        if self.door.keys is None:
            return teams(self.settings)
        try:
            await self.door.keys.prefetch()
            await self.connector.sign_in(self._cloud)
        except BotError as error:
            return Part("Teams", "failed", str(error))
        return Part("Teams", "ready", f"signed in as {self.settings.microsoft_app_id}")

    async def introduce(self, message: Message) -> Introduction:
        """Tell who asks and who reads along, as Teams vouches for it. Raises DeliveryFailed."""
        return await self._introducer.introduce(message)

    def on_stopped(self, stopped: Stopped) -> None:
        """Say how a question is withdrawn whose asker pressed Stop while it was answered."""
        self._streams.on_stopped(stopped)

    async def open_placeholder(self, message: Message) -> PostedRef:
        """Open a stream, or post what the reply will be edited into. Raises DeliveryFailed."""
        return await self._status.open(message)

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Say what is being done, in the stream or the placeholder."""
        await self._status.show(message, activity, placeholder)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Show the reply; what is for its asker alone goes to their personal chat."""
        ref = await self._replies.deliver(delivery)
        await self._whispers.send(delivery)
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked."""
        return None

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did where it was asked; theirs by name and words.

        A repetition adds only the parts that are missing.
        """
        shown = told(message, notice)
        several = len(shown) > 1
        posted = [*await self.parts.of(message, notice.id, several=several)]
        for activity in shown[len(posted) :]:
            posted.append(await self.connector.send(message.reply_to, activity))
            await self.parts.keep(message, notice.id, posted, several=several)
        return PostedRef(message.thread.channel, posted[0])

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked. Better told twice than never."""
        return None

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, what else is known of it, and what its asker alone got."""
        await self._whispers.withdraw(message)
        await self._replies.withdraw(message, posted)

"""Teams as a channel: where outcomes and progress become visible."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import structlog
from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
    ConfigurationServiceClientCredentialFactory,
)
from botbuilder.schema import ConversationAccount, Entity

from bot.adapters.teams.arriving.door import Door
from bot.adapters.teams.arriving.gatekeeper import Gatekeeper
from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.cloud import Cloud, Registration
from bot.adapters.teams.calling.connector import Connector, Pause
from bot.adapters.teams.calling.credentials import CachedCredentials, CredentialsFactory
from bot.adapters.teams.calling.errors import Gone
from bot.adapters.teams.calling.pacing import Pacing
from bot.adapters.teams.cases.news import told
from bot.adapters.teams.home.identity import Colleagues, Introducer, home_of
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.home.presence import Presence
from bot.adapters.teams.home.roster import Roster
from bot.adapters.teams.showing.render import activities, typing, waiting
from bot.adapters.teams.wire.body import Json
from bot.config import Settings
from bot.errands import Errands
from bot.errors import BotError, DeliveryFailed, SettingInvalid
from bot.escalations.types import Notice
from bot.notes import Forgetful
from bot.ports import Notes
from bot.rendering.rendering import doing, render
from bot.startup import Part, teams
from bot.types import Activity, Delivery, InteractionId, Introduction, Message, PostedRef, Reply

_REMEMBERED = 1_000
_EDIT_PAUSE_SECONDS = 1.0
_REFUSED_PAUSE_SECONDS = 60.0

log = structlog.get_logger(__name__)


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
    _check(settings)
    _send_all_fields()
    cloud = cloud or Cloud()
    registration = _registration(settings, cloud)
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
    notes = notes or Forgetful()
    presence = Presence(notes, settings.tenant)
    connector = Connector(adapter, cached, app_id=settings.microsoft_app_id or "", pause=pause)
    door = Door(adapter, gatekeeper, keys)
    return TeamsChannel(settings, door, connector, cloud, notes, presence=presence)


class TeamsChannel:
    """Implements bot.ports.Channel, OpensPlaceholders, Withdraws; bot.escalations.ports.Tells.

    Teams cannot be asked what was posted, so there is one placeholder, and the reply is edited
    into it: doing that twice is the same as once. A reply beyond the size of one activity goes on
    in further ones, after the first is visible; a repetition in the same process adds only those
    that are missing. The posted reference names the first, which carries the thumbs.
    ``takes_feedback`` shows them below answers that have sources to judge them by.
    """

    def __init__(
        self,
        settings: Settings,
        door: Door,
        connector: Connector,
        cloud: Cloud,
        notes: Notes,
        *,
        presence: Presence,
    ) -> None:
        self.settings = settings
        self.errands = Errands()
        self.connector = connector
        self.presence = presence
        self.places = Places(connector, notes, settings)
        self.colleagues = Colleagues(Roster(connector), home_of(settings))
        self.introducer = Introducer(self.colleagues)
        self._cloud = cloud
        self.door = door
        self._pacing = Pacing()
        self._posted: OrderedDict[tuple[InteractionId, str], list[str]] = OrderedDict()

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
        return await self.introducer.introduce(message)

    async def open_placeholder(self, message: Message) -> PostedRef:
        """Post what the reply will be edited into; nothing is waited for. Raises DeliveryFailed."""
        posted = await self.connector.send(message.reply_to, waiting(), patience_seconds=0.0)
        if not posted:
            raise DeliveryFailed("Teams did not say where the placeholder is.")
        self._pacing.hold(message.interaction_id, _EDIT_PAUSE_SECONDS)
        return PostedRef(message.thread.channel, posted)

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Say in the placeholder what is being done, or show that the bot is typing.

        A stage that comes within a second of the one before is left out. What Teams refuses for a
        message is left alone for a minute.
        """
        if not doing(activity) or not self._pacing.is_due(message.interaction_id):
            return
        try:
            await self._show(message, activity, placeholder)
        except DeliveryFailed as error:
            pause = error.retry_after_seconds or _REFUSED_PAUSE_SECONDS
            self._pacing.hold(message.interaction_id, pause)
            log.info("teams.progress_unavailable", error=str(error))

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Edit the placeholder into the reply, or post it where there is none, then the rest."""
        message, response = delivery.message, delivery.outcome.response
        remarks = delivery.outcome.remarks
        rendered = render(response, private=message.private, remarks=remarks)
        judged = isinstance(response, Reply) and bool(response.sources)
        feedback = judged
        first, *rest = activities(rendered, feedback=feedback)
        posted = self._posted_of(delivery.interaction_id, delivery.id)
        if not posted:
            posted.append(await self._answer(message, first, delivery.placeholder))
        for activity in rest[len(posted) - 1 :]:
            posted.append(await self.connector.send(message.reply_to, activity))
        return PostedRef(message.thread.channel, posted[0])

    async def find(self, delivery: Delivery) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked."""
        return None

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did where it was asked; theirs by name and words.

        A repetition in the same process adds only the parts that are missing.
        """
        posted = self._posted_of(message.interaction_id, notice.id)
        for activity in told(message, notice)[len(posted) :]:
            posted.append(await self.connector.send(message.reply_to, activity))
        return PostedRef(message.thread.channel, posted[0])

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked. Better told twice than never."""
        return None

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, and what else this process posted."""
        own = [
            activity
            for (interaction_id, _), activities_ in self._posted.items()
            if interaction_id == message.interaction_id
            for activity in activities_
        ]
        for activity_id in dict.fromkeys([*(ref.id for ref in posted), *own]):
            with suppress(Gone):
                await self.connector.delete(message.reply_to, activity_id)

    async def _show(self, message: Message, activity: Activity, where: PostedRef | None) -> None:
        if where is None:
            await self.connector.send(message.reply_to, typing(), patience_seconds=0.0)
            return
        self._pacing.hold(message.interaction_id, _EDIT_PAUSE_SECONDS)
        await self.connector.update(
            message.reply_to, where.id, waiting(activity), patience_seconds=0.0
        )

    async def _answer(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Show the first part; return its id. A placeholder that its reader deleted is left."""
        if where is not None:
            try:
                await self.connector.update(message.reply_to, where.id, activity)
            except Gone:
                log.info("teams.placeholder_gone", interaction_id=message.interaction_id)
            else:
                return where.id
        return await self.connector.send(message.reply_to, activity)

    def _posted_of(self, interaction_id: InteractionId, name: str) -> list[str]:
        """Return the ids of what this process posted of a delivery or notice, to be added to."""
        posted = self._posted.setdefault((interaction_id, name), [])
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)
        return posted


def _check(settings: Settings) -> None:
    """Refuse what would leave the door open or never work."""
    if settings.microsoft_app_id is None:
        if not settings.teams_dev_mode:
            raise SettingInvalid("Teams needs MICROSOFT_APP_ID; see docs/teams.md.")
        if settings.reachable:
            raise SettingInvalid(
                f"TEAMS_DEV_MODE=true with HOST={settings.host!r} and "
                f"PUBLIC_URL={settings.public_url!r} would let anyone in; set HOST=127.0.0.1 and "
                "no PUBLIC_URL, or MICROSOFT_APP_ID for a real registration."
            )
        return
    if settings.microsoft_app_tenant_id is None:
        raise SettingInvalid(
            "MICROSOFT_APP_TENANT_ID is not set; it is the directory id of the company served."
        )
    managed = settings.microsoft_app_type == "UserAssignedMSI"
    if settings.microsoft_app_password is None and not managed:
        raise SettingInvalid(
            "MICROSOFT_APP_PASSWORD is not set; it is the registration's client secret. With a "
            "managed identity set MICROSOFT_APP_TYPE=UserAssignedMSI instead."
        )


def _registration(settings: Settings, cloud: Cloud) -> Registration:
    password = settings.microsoft_app_password
    return Registration(
        APP_ID=settings.microsoft_app_id,
        APP_PASSWORD=password.get_secret_value() if password else None,
        APP_TYPE=settings.microsoft_app_type if settings.microsoft_app_id else "MultiTenant",
        APP_TENANTID=settings.microsoft_app_tenant_id,
        TO_BOT_FROM_CHANNEL_TOKEN_ISSUER=cloud.issuer,
        TO_BOT_FROM_CHANNEL_OPENID_METADATA_URL=cloud.metadata_url,
        TO_BOT_FROM_EMULATOR_OPENID_METADATA_URL=cloud.metadata_url,
        TO_CHANNEL_FROM_BOT_LOGIN_URL=cloud.login_url,
        TO_CHANNEL_FROM_BOT_OAUTH_SCOPE=cloud.scope,
        OAUTH_URL=cloud.oauth_url,
    )


def _send_all_fields() -> None:
    """Have botbuilder send what it otherwise drops: citations, and the tenant of a reference."""
    Entity.enable_additional_properties_sending()
    ConversationAccount.enable_additional_properties_sending()

"""Teams as a channel: where outcomes and progress become visible."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import Literal

import structlog
from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
    ConfigurationServiceClientCredentialFactory,
)
from botbuilder.schema import ConversationAccount, Entity

from bot.adapters.teams.cloud import Cloud, Registration
from bot.adapters.teams.connector import Connector, Pause
from bot.adapters.teams.credentials import CachedCredentials, CredentialsFactory
from bot.adapters.teams.gatekeeper import Gatekeeper
from bot.adapters.teams.keys import SigningKeys
from bot.adapters.teams.render import activities, typing
from bot.config import Settings
from bot.errors import BotError, DeliveryFailed, SettingInvalid
from bot.rendering import STAGES, render
from bot.startup import Part, teams
from bot.types import Delivery, Message, PostedRef, Reply, Stage

_REMEMBERED = 10_000
_TYPING_PAUSE_SECONDS = 60.0

log = structlog.get_logger(__name__)


def connect(
    settings: Settings,
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
    connector = Connector(adapter, cached, app_id=settings.microsoft_app_id or "", pause=pause)
    return TeamsChannel(settings, adapter, gatekeeper, connector, keys, cloud)


class TeamsChannel:
    """Implements bot.ports.Channel.

    A delivery may have several activities; the posted reference names the last. Teams cannot be
    asked what was posted; a delivery that is repeated in the same process only adds what is
    missing. ``takes_feedback`` shows thumbs below answers.
    """

    def __init__(
        self,
        settings: Settings,
        adapter: CloudAdapter,
        gatekeeper: Gatekeeper,
        connector: Connector,
        keys: SigningKeys | None,
        cloud: Cloud,
    ) -> None:
        self.settings = settings
        self._cloud = cloud
        self.adapter = adapter
        self.gatekeeper = gatekeeper
        self.keys = keys
        self.takes_feedback = False
        self._connector = connector
        self._typing_again_at = 0.0
        self._posted: OrderedDict[str, list[str]] = OrderedDict()

    @property
    def platform(self) -> Literal["teams"]:
        return "teams"

    async def check(self) -> Part:
        """Fetch the signing keys and a token, as the first message would; nothing is posted."""
        if self.keys is None:
            return teams(self.settings)
        try:
            await self.keys.prefetch()
            await self._connector.sign_in(self._cloud)
        except BotError as error:
            return Part("Teams", "failed", str(error))
        return Part("Teams", "ready", f"signed in as {self.settings.microsoft_app_id}")

    async def progress(self, message: Message, stage: Stage) -> None:
        """Show that the bot is typing; where Teams refuses it, it is left alone for a minute."""
        if stage not in STAGES or time.monotonic() < self._typing_again_at:
            return
        try:
            await self._connector.send(message.reply_to, typing())
        except DeliveryFailed as error:
            self._typing_again_at = time.monotonic() + _TYPING_PAUSE_SECONDS
            log.info("teams.typing_unavailable", error=str(error))

    async def deliver(self, delivery: Delivery) -> PostedRef:
        message, response = delivery.message, delivery.outcome.response
        rendered = render(response, private=message.private)
        feedback = self.takes_feedback and isinstance(response, Reply)
        posted = self._posted.setdefault(delivery.id, [])
        for activity in activities(rendered, feedback=feedback)[len(posted) :]:
            posted.append(await self._connector.send(message.reply_to, activity))
        self._forget()
        return PostedRef(message.thread.channel, posted[-1])

    async def find(self, delivery_id: str) -> PostedRef | None:  # noqa: ARG002  # the port's
        return None

    def _forget(self) -> None:
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)


def _check(settings: Settings) -> None:
    """Refuse what would leave the door open or never work."""
    if settings.microsoft_app_id is None:
        if not settings.teams_dev_mode:
            raise SettingInvalid("Teams needs MICROSOFT_APP_ID; see docs/teams.md.")
        if not settings.loopback:
            raise SettingInvalid(
                f"TEAMS_DEV_MODE=true with HOST={settings.host!r} would let anyone in; set "
                "HOST=127.0.0.1, or MICROSOFT_APP_ID for a real registration."
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

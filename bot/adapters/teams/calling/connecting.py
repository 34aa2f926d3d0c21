"""The parts between the bot and Microsoft, made of the settings."""

from __future__ import annotations

from dataclasses import dataclass

from botbuilder.integration.aiohttp import (
    CloudAdapter,
    ConfigurationBotFrameworkAuthentication,
    ConfigurationServiceClientCredentialFactory,
)

from bot.adapters.teams.arriving.door import Door
from bot.adapters.teams.arriving.gatekeeper import Gatekeeper
from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.clients import Clients
from bot.adapters.teams.calling.cloud import Cloud
from bot.adapters.teams.calling.connector import Connector, KnowsAbsence
from bot.adapters.teams.calling.credentials import CachedCredentials, CredentialsFactory
from bot.adapters.teams.calling.rates import Timing
from bot.adapters.teams.calling.registration import (
    registration_of,
    send_all_fields,
    set_up_quickly,
    wait_for_no_token_for_ever,
)
from bot.domain.settings import Settings


@dataclass(frozen=True, slots=True)
class Line:
    """The way in and the way out."""

    door: Door
    connector: Connector


def line_of(
    settings: Settings,
    cloud: Cloud,
    absence: KnowsAbsence,
    *,
    credentials: CredentialsFactory | None,
    timing: Timing,
) -> Line:
    """Return the ways of the configured registration; nothing is called yet.

    Raises SettingInvalid.
    """
    registration = registration_of(settings, cloud)
    send_all_fields()
    set_up_quickly()
    wait_for_no_token_for_ever()
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
        app_id=settings.microsoft_app_id,
        entra_tenant=settings.microsoft_app_tenant_id,
    )
    app_id = settings.microsoft_app_id or ""
    clients = Clients(adapter, app_id=app_id, clock=timing.clock)
    connector = Connector(clients, cached, absence, app_id=app_id, timing=timing)
    return Line(Door(adapter, gatekeeper, keys), connector)

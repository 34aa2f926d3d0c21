"""The bot's registration, read from the settings and checked."""

from __future__ import annotations

from functools import partial
from typing import Any

from botbuilder.schema import ConversationAccount, Entity
from botframework.connector.auth import microsoft_app_credentials
from msrest.universal_http.requests import ClientRetryPolicy

from bot.adapters.teams.calling.cloud import Cloud, Registration
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings

_TOKEN_SECONDS = 5.0
"""For an answer to one request; two are made for the first token, each twice at most."""


def registration_of(settings: Settings, cloud: Cloud) -> Registration:
    """Return the configured registration.

    Raises SettingInvalid for what would leave the door open or never work.
    """
    _check(settings)
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


def send_all_fields() -> None:
    """Have botbuilder send what it otherwise drops: citations, and the tenant of a reference."""
    Entity.enable_additional_properties_sending()
    ConversationAccount.enable_additional_properties_sending()


def set_up_quickly() -> None:
    """Have msrest look codes up, not search a list of 501 for each of 999 whenever it is set up.

    That happens four times an activity, which without this costs 14 ms.
    """
    codes: Any = frozenset(ClientRetryPolicy.safe_codes)
    ClientRetryPolicy.safe_codes = codes


def wait_for_no_token_for_ever() -> None:
    """Have MSAL give up on who issues tokens; botbuilder sets no deadline."""
    module: Any = microsoft_app_credentials
    unlimited = module.ConfidentialClientApplication
    module.ConfidentialClientApplication = partial(unlimited, timeout=_TOKEN_SECONDS)


def _check(settings: Settings) -> None:
    if settings.microsoft_app_id is None:
        _check_unregistered(settings)
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


def _check_unregistered(settings: Settings) -> None:
    if not settings.teams_dev_mode:
        raise SettingInvalid("Teams needs MICROSOFT_APP_ID; see docs/teams.md.")
    if settings.reachable:
        raise SettingInvalid(
            f"TEAMS_DEV_MODE=true with HOST={settings.host!r} and "
            f"PUBLIC_URL={settings.public_url!r} would let anyone in; set HOST=127.0.0.1 and "
            "no PUBLIC_URL, or MICROSOFT_APP_ID for a real registration."
        )

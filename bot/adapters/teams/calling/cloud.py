"""Where a Microsoft cloud keeps its bot services."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cloud:
    """The addresses of one cloud; the public one unless told otherwise."""

    issuer: str = "https://api.botframework.com"
    metadata_url: str = "https://login.botframework.com/v1/.well-known/openidconfiguration"
    login_url: str = "https://login.microsoftonline.com/"
    scope: str = "https://api.botframework.com"
    oauth_url: str = "https://api.botframework.com"


@dataclass(frozen=True)
class Registration:
    """A bot registration under the names that botbuilder looks for."""

    APP_ID: str | None
    APP_PASSWORD: str | None
    APP_TYPE: str
    APP_TENANTID: str | None
    TO_BOT_FROM_CHANNEL_TOKEN_ISSUER: str
    TO_BOT_FROM_CHANNEL_OPENID_METADATA_URL: str
    TO_BOT_FROM_EMULATOR_OPENID_METADATA_URL: str
    TO_CHANNEL_FROM_BOT_LOGIN_URL: str
    TO_CHANNEL_FROM_BOT_OAUTH_SCOPE: str
    OAUTH_URL: str

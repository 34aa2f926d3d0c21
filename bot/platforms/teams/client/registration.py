"""The bot's registration at Microsoft: read from settings and validated.

A refused token is explained in terms an administrator can act on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.identity import CredentialUnavailableError
from azure.identity.aio import ClientSecretCredential, ManagedIdentityCredential
from msrest.universal_http.requests import ClientRetryPolicy

from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings


@dataclass(frozen=True, slots=True)
class Cloud:
    """Endpoints of one Microsoft cloud; by default those of the public cloud."""

    issuer: str = "https://api.botframework.com"
    metadata_url: str = "https://login.botframework.com/v1/.well-known/openidconfiguration"
    login_url: str = "https://login.microsoftonline.com/"
    scope: str = "https://api.botframework.com"
    oauth_url: str = "https://api.botframework.com"


def registration_of(settings: Settings, cloud: Cloud) -> SimpleNamespace:
    """Return the configured registration, with the attribute names that botbuilder expects.

    Raises SettingInvalid for values that would disable authentication or could never work.
    """
    _check_settings(settings)
    password = settings.microsoft_app_password
    return SimpleNamespace(
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


CredentialFactory = Callable[[], AsyncTokenCredential]
"""Opens a credential for one token request."""

_MULTI_TENANT = "botframework.com"
"""Directory that issues the tokens of multi-tenant bots."""

_TOKEN_REQUEST_SECONDS = 5.0
_RETRIES = 1


def credential_factory(
    settings: Settings, cloud: Cloud, **transport: object
) -> CredentialFactory | None:
    """Return how to open the credential of the configured registration; None in development.

    ``transport`` are keyword arguments of azure-core's transport, such as ``connection_verify``.
    """
    app_id, password = settings.microsoft_app_id, settings.microsoft_app_password
    if app_id is None:
        return None
    limits: dict[str, Any] = {
        "connection_timeout": _TOKEN_REQUEST_SECONDS,
        "read_timeout": _TOKEN_REQUEST_SECONDS,
        "retry_total": _RETRIES,
        **transport,
    }
    if settings.microsoft_app_type == "UserAssignedMSI":
        return lambda: ManagedIdentityCredential(client_id=app_id, **limits)
    single = settings.microsoft_app_type == "SingleTenant"
    directory = settings.microsoft_app_tenant_id or "" if single else _MULTI_TENANT
    secret = password.get_secret_value() if password else ""
    return lambda: ClientSecretCredential(
        directory, app_id, secret, authority=cloud.login_url, **limits
    )


def speed_up_msrest() -> None:
    """Make msrest look up status codes in a set, not in a list of 501 for each of 999 codes.

    msrest does so four times per activity, which costs 14 ms without this.
    """
    codes: Any = frozenset(ClientRetryPolicy.safe_codes)
    ClientRetryPolicy.safe_codes = codes


def _check_settings(settings: Settings) -> None:
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


_ENTRA_CODE = re.compile(r"AADSTS(\d+)")
_CHECK_CURE = "Check MICROSOFT_APP_ID, MICROSOFT_APP_PASSWORD and MICROSOFT_APP_TENANT_ID."
_RENEWAL_CURE = (
    "Make a new client secret in the app registration, and set MICROSOFT_APP_PASSWORD to its value."
)
_REFUSALS_BY_CODE: dict[str, tuple[str, str]] = {
    "7000222": ("the client secret has expired", _RENEWAL_CURE),
    "7000215": (
        "the client secret is wrong",
        f"MICROSOFT_APP_PASSWORD is the secret's value, not its id. {_RENEWAL_CURE}",
    ),
    "700016": (
        "the app is not in the directory that was asked",
        f"{_CHECK_CURE} MICROSOFT_APP_TYPE is SingleTenant, unless the registration is an old one.",
    ),
    "90002": (
        "there is no such directory",
        "Set MICROSOFT_APP_TENANT_ID to the directory id of the company served.",
    ),
    "900023": (
        "the directory's id is none",
        "Set MICROSOFT_APP_TENANT_ID to the directory id of the company served.",
    ),
    "7000112": ("the app is disabled", "Enable the app registration's enterprise application."),
    "7000229": (
        "the app has no service principal in the directory",
        "Create the app registration's enterprise application in MICROSOFT_APP_TENANT_ID.",
    ),
}
_NETWORK_ERRORS = (ServiceRequestError, ServiceResponseError, TimeoutError)


@dataclass(frozen=True, slots=True)
class TokenRefusal:
    """Why a token was refused, and the cure."""

    why: str
    cure: str

    def __str__(self) -> str:
        return f"{self.why} {self.cure}"


def token_refusal_of(error: Exception) -> TokenRefusal:
    """Return the explanation of a token error; it repeats none of the error's own text."""
    code = _ENTRA_CODE.search(str(error))
    if code and code[1] in _REFUSALS_BY_CODE:
        why, cure = _REFUSALS_BY_CODE[code[1]]
        return TokenRefusal(f"Microsoft gives no token: {why}.", cure)
    if isinstance(error, _NETWORK_ERRORS):
        return TokenRefusal("Microsoft's login cannot be reached.", "Check the network.")
    if isinstance(error, CredentialUnavailableError):
        return TokenRefusal(
            "This machine's managed identity gives no token.",
            "Assign the identity whose client id is MICROSOFT_APP_ID to this machine, or set "
            "MICROSOFT_APP_TYPE=SingleTenant with a secret.",
        )
    return TokenRefusal(f"Microsoft gives no token ({type(error).__name__}).", _CHECK_CURE)

"""Load the settings, explain wrong values, and tell where each value came from."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource

from bot.domain.errors import SettingInvalid
from bot.domain.model_settings import NESTED, NamedModel, check_models
from bot.domain.settings import Settings
from bot.domain.urls import is_confidential, origin_of


def load_settings(**overrides: object) -> Settings:
    """Read the settings. Raises SettingInvalid: one line per wrong value, with the cure."""
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks the values
    except ValidationError as error:
        raise SettingInvalid("\n".join(_explain(error))) from error
    _check_together(settings)
    return settings


def _check_together(settings: Settings) -> None:
    """Reject incomplete and contradictory combinations."""
    _check_slack(settings)
    _check_outsiders(settings)
    if settings.microsoft_app_password and not settings.microsoft_app_id:
        raise SettingInvalid(
            "MICROSOFT_APP_PASSWORD is set and MICROSOFT_APP_ID is not. Set both, or none."
        )
    if settings.teams_dev_mode and (settings.slack_configured or settings.microsoft_app_id):
        raise SettingInvalid(
            "TEAMS_DEV_MODE=true takes unsigned messages, and Slack or a Teams registration makes "
            "this server reachable for others. Unset TEAMS_DEV_MODE, or the other one."
        )
    _check_case_webhook(settings)
    check_models(settings)
    _check_signing_in(settings)
    if settings.router == "llm" and not settings.model_configured:
        raise SettingInvalid(
            "ROUTER='llm' needs a model to ask. Set OPENAI_MODEL, or leave ROUTER at 'cascade'."
        )


def _check_slack(settings: Settings) -> None:
    """Reject swapped tokens, and an incomplete configuration of Slack."""
    bot, app = settings.slack_bot_token, settings.slack_app_token
    if bot is not None and not bot.get_secret_value().startswith("xox"):
        raise SettingInvalid(
            "SLACK_BOT_TOKEN=(hidden) is no bot token, which begins with xoxb-. Take it from "
            "OAuth & Permissions."
        )
    if app is not None and not app.get_secret_value().startswith("xapp-"):
        raise SettingInvalid(
            "SLACK_APP_TOKEN=(hidden) is no app-level token, which begins with xapp-. Make one "
            "under Basic Information > App-Level Tokens, with the scope connections:write."
        )
    secret = settings.slack_signing_secret
    if secret is not None and not secret.get_secret_value().strip():
        raise SettingInvalid(
            "SLACK_SIGNING_SECRET is blank, so anyone could sign as Slack. Copy it from Basic "
            "Information > App Credentials, or unset it."
        )
    if bot is None and (app is not None or secret is not None):
        raise SettingInvalid(
            "SLACK_SIGNING_SECRET or SLACK_APP_TOKEN is set and SLACK_BOT_TOKEN is not. Set it "
            "(OAuth & Permissions), or unset the other."
        )
    if bot is not None and not settings.slack_configured:
        raise SettingInvalid(
            "SLACK_BOT_TOKEN is set, and nothing by which events come in. Set SLACK_SIGNING_SECRET "
            "(Basic Information) for events over HTTP, or SLACK_APP_TOKEN (xapp-…) for Socket "
            "Mode."
        )


def _check_outsiders(settings: Settings) -> None:
    """Reject a value that let outsiders read what colleagues may, in earlier versions."""
    given = ("SLACK", settings.slack_outsiders), ("TEAMS", settings.teams_outsiders)
    for platform, outsiders in given:
        if outsiders == "answer":
            raise SettingInvalid(
                f"{platform}_OUTSIDERS='answer' is no longer possible: it let guests and people of "
                "other companies read what all colleagues may. Remove it, and name the spaces "
                f"that are meant for them in {platform}_OUTSIDER_SPACES (such as PUBLIC,FAQ); "
                "without a space they are refused."
            )


_WEBHOOK_SECRET_BYTES = range(24, 65)
"""As Standard Webhooks has it."""


def _check_case_webhook(settings: Settings) -> None:
    """Reject an address that is not confidential, and a key that is none."""
    url, secret = settings.case_webhook_url, settings.case_webhook_secret
    if (url is None) != (secret is None):
        raise SettingInvalid(
            "The webhook needs CASE_WEBHOOK_URL and CASE_WEBHOOK_SECRET, and only one is set. Set "
            "both, or none."
        )
    if url is None or secret is None:
        return
    if not is_confidential(url.get_secret_value()) or not urlsplit(url.get_secret_value()).hostname:
        raise SettingInvalid(
            "CASE_WEBHOOK_URL=(hidden) is no https:// address, and others could read what is sent. "
            "http:// is for this machine alone."
        )
    prefix, _, encoded = secret.get_secret_value().rpartition("whsec_")
    try:
        size = 0 if prefix else len(base64.b64decode(encoded, validate=True))
    except ValueError:
        size = 0
    if size not in _WEBHOOK_SECRET_BYTES:
        raise SettingInvalid(
            "CASE_WEBHOOK_SECRET=(hidden) is not whsec_ and 24 to 64 bytes in base64. Make one: "
            'echo "whsec_$(openssl rand -base64 32)"'
        )


def _check_signing_in(settings: Settings) -> None:
    """Reject a sign-in that can't work or is not confidential."""
    if bool(settings.oidc_issuer) != bool(settings.oidc_client_id):
        raise SettingInvalid(
            "Signing in needs OIDC_ISSUER and OIDC_CLIENT_ID, and only one is set. Set both, or "
            "none."
        )
    for name, address in _addresses(settings):
        try:
            origin_of(address)
        except ValueError as error:
            raise SettingInvalid(
                f"{name}={address!r} is no address. It needs a host, such as https://desk.example."
            ) from error
    if settings.oidc_issuer is None:
        return
    if settings.public_url is None:
        raise SettingInvalid(
            "OIDC_ISSUER is set and PUBLIC_URL is not. Set it to where colleagues reach this "
            "server, such as https://frontdesk.example.com; they come back there signed in."
        )
    for name, address in _addresses(settings):
        if not is_confidential(address):
            raise SettingInvalid(
                f"{name}={address!r} is plain HTTP, and others could read who signs in. Use "
                "https://; http:// is for this machine alone."
            )


def _addresses(settings: Settings) -> Iterator[tuple[str, str]]:
    given = ("OIDC_ISSUER", settings.oidc_issuer), ("PUBLIC_URL", settings.public_url)
    return ((name, address) for name, address in given if address is not None)


def _explain(error: ValidationError) -> list[str]:
    return [_line(item["loc"], item["input"], item["msg"]) for item in error.errors()]


def _line(location: tuple[int | str, ...], value: object, message: str) -> str:
    """Return a line with variable, value (hidden for a secret), problem and cure."""
    if len(location) > 1 and location[0] == "models":
        return _named_model_line(location, value, message)
    field = _field(str(location[0]))
    if field is None:
        return f"{str(location[0]).upper()}={value!r} is wrong: {message}. See docs/settings.md."
    # A mapping of models in one variable has their keys in it.
    secret = location[0] == "models" or "SecretStr" in str(field.annotation)
    shown = "(hidden)" if secret else repr(value)
    name = variable(str(location[0]), field)
    default = field.get_default(call_default_factory=True, validated_data={})
    return (
        f"{name}={shown} is wrong: {message}. It means: {field.description} Default: {default!r}."
    )


def _named_model_line(location: tuple[int | str, ...], value: object, message: str) -> str:
    """Return the line of a named model's variable.

    Its value is shown only where the variable is known to be no secret: what is unknown may be a
    misspelt key, and what is missing would show the model's other variables.
    """
    names = [str(part) for part in location if part != "[key]"]
    variable = NESTED.join(names).upper()
    field = NamedModel.model_fields.get(names[-1]) if len(names) > _MODEL_DEPTH else None
    if field is None:
        known = ", ".join(name.upper() for name in NamedModel.model_fields)
        cure = f"Write MODELS__NAME__ and one of {known}, NAME in letters, digits and _."
        return f"{variable}=(hidden) is wrong: {message}. {cure}"
    plain = isinstance(value, str) and "SecretStr" not in str(field.annotation)
    shown = repr(value) if plain else "(hidden)"
    return f"{variable}={shown} is wrong: {message}. It means: {field.description}"


_MODEL_DEPTH = 2
"""Parts of a location that name a model: ``models`` and its name."""


def _field(location: str) -> FieldInfo | None:
    for name, field in Settings.model_fields.items():
        if location.lower() in {name, (field.alias or "").lower()}:
            return field
    return None


def variable(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a field."""
    return (field.alias or name).upper()


SettingOrigin = Literal["environment", ".env", "default", "command"]
"""command: set by the running command. An empty value counts as unset."""


def setting_origins(*read: BaseSettings) -> Mapping[str, SettingOrigin]:
    """Read environment and ``.env`` again, and return the source of each field by its name.

    For a shared field the first settings count. Call it right after reading the settings, before
    either source can change.
    """
    sources: dict[str, SettingOrigin] = {}
    for settings in read:
        sources = {**_origins(settings), **sources}
    return sources


def _origins(settings: BaseSettings) -> Mapping[str, SettingOrigin]:
    kind = type(settings)
    environment = _fields_in(kind, EnvSettingsSource(kind)())
    file = _fields_in(kind, DotEnvSettingsSource(kind)())
    sources: dict[str, SettingOrigin] = {}
    for name in kind.model_fields:
        if name not in settings.model_fields_set:
            sources[name] = "default"
        elif name in environment:
            sources[name] = "environment"
        else:
            sources[name] = ".env" if name in file else "command"
    return sources


def _fields_in(kind: type[BaseSettings], values: Mapping[str, object]) -> frozenset[str]:
    """Return the fields that a source provides; it names them by field or by alias."""
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if name in values or (field.alias is not None and field.alias in values)
    )

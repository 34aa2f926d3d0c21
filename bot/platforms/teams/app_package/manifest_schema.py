"""Check an app manifest against the limits that Teams publishes; pure.

From Microsoft's published schema 1.30, as of @microsoft/app-manifest 1.1.2: every key, pattern,
value, length and number that it defines for the parts used here. Keys that this package does not
use are rejected too. The schema has no rules between keys, and describes the format of a version
only in prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

VERSIONS = ("1.30", "1.29", "1.28")
"""Newest first; the parts used here have the same limits in all of them."""

CHANNEL_FEATURES = "supportsChannelFeatures"

Check = Callable[[object, str], Iterator[str]]
"""Yields the problems of a value, given its path in the manifest."""


def text(most: int, pattern: str = "") -> Check:
    """Return a check for a string of at most ``most`` characters that fully matches ``pattern``."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield f"{at} is no text"
        elif len(value) > most:
            yield f"{at} has {len(value)} characters; Teams takes {most}"
        elif pattern and not re.fullmatch(pattern, value):
            yield f"{at}={value!r} is not of the form {pattern}"

    return check


def one_of(*values: str) -> Check:
    """Return a check for one of some strings."""

    def check(value: object, at: str) -> Iterator[str]:
        if value not in values:
            yield f"{at}={value!r} is none of {', '.join(values)}"

    return check


def flag(value: object, at: str) -> Iterator[str]:
    """Check that a value is a boolean."""
    if not isinstance(value, bool):
        yield f"{at}={value!r} is neither true nor false"


def items(check_one: Check, most: int, *, distinct: bool = False) -> Check:
    """Return a check for a list of at most ``most`` items."""

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{at} is no list"
            return
        if len(value) > most:
            yield f"{at} has {len(value)} entries; Teams takes {most}"
        if distinct and any(each in value[:number] for number, each in enumerate(value)):
            yield f"{at} has one twice"
        for number, each in enumerate(value):
            yield from check_one(each, f"{at}[{number}]")

    return check


def shape(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for an object with these keys and no other."""
    known = {**required, **(optional or {})}

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at or 'it'} is no object"
            return
        place = f"{at}." if at else ""
        yield from (f"{place}{key} is missing" for key in required if key not in value)
        for key, each in value.items():
            if key in known:
                yield from known[key](each, f"{place}{key}")
            else:
                yield f"{place}{key} is unknown here"

    return check


def schema_of(version: str) -> str:
    """Return the URL of a version's schema."""
    return (
        f"https://developer.microsoft.com/json-schemas/teams/v{version}/MicrosoftTeams.schema.json"
    )


_ADDRESS = text(2048, r"(?i:https?)://.*")
_PATH = text(2048)
_GUID = text(36, r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NUMBER = r"([0-9]|[1-9]+[0-9]*)"
_SCOPES = items(one_of("team", "personal", "groupChat", "copilot"), 4)
_CAPABILITY = one_of("tab", "bot", "connector")

_COMMAND = shape(
    {"title": text(128)},
    {"description": text(4000), "type": one_of("basic", "prompt"), "prompt": text(4000)},
)
_COMMANDS = shape(
    {"scopes": _SCOPES, "commands": items(_COMMAND, 12)},
    {"triggers": items(one_of("mention", "slash"), 2)},
)
_BOT = shape(
    {"botId": _GUID, "scopes": _SCOPES},
    {
        "supportsFiles": flag,
        "isNotificationOnly": flag,
        "needsChannelSelector": flag,
        "supportsCalling": flag,
        "supportsVideo": flag,
        "supportsTargetedMessages": flag,
        "commandLists": items(_COMMANDS, 3),
    },
)
_PERMISSION = shape({"name": text(128), "type": one_of("Application", "Delegated")})
_AUTHORIZATION = shape(
    {}, {"permissions": shape({}, {"resourceSpecific": items(_PERMISSION, 16, distinct=True)})}
)
_DEVELOPER = shape(
    {
        "name": text(32),
        "websiteUrl": _ADDRESS,
        "privacyUrl": _ADDRESS,
        "termsOfUseUrl": _ADDRESS,
    },
    {"mpnId": text(10)},
)
_LANGUAGE = text(26, r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8}){0,2}")
_LANGUAGES = items(shape({"languageTag": _LANGUAGE, "file": _PATH}), 100, distinct=True)

_MANIFEST = shape(
    {
        "manifestVersion": one_of(*VERSIONS),
        "version": text(256, rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"),
        "id": _GUID,
        "developer": _DEVELOPER,
        "name": shape({"short": text(30)}, {"full": text(100)}),
        "description": shape({"short": text(80), "full": text(4000)}),
        "icons": shape({"outline": _PATH, "color": _PATH}),
        "accentColor": text(7, r"#[0-9a-fA-F]{6}"),
    },
    {
        "$schema": one_of(*map(schema_of, VERSIONS)),
        "bots": items(_BOT, 1),
        "permissions": items(one_of("identity", "messageTeamMembers"), 2),
        "validDomains": items(text(2048), 100),
        "webApplicationInfo": shape({"id": _GUID}, {"resource": text(2048)}),
        "authorization": _AUTHORIZATION,
        CHANNEL_FEATURES: one_of("tier1"),
        "defaultInstallScope": one_of("personal", "team", "groupChat", "meetings", "copilot"),
        "defaultGroupCapability": shape(
            {}, {"team": _CAPABILITY, "groupchat": _CAPABILITY, "meetings": _CAPABILITY}
        ),
        "localizationInfo": shape(
            {"defaultLanguageTag": _LANGUAGE},
            {"defaultLanguageFile": _PATH, "additionalLanguages": _LANGUAGES},
        ),
        "publisherDocsUrl": _ADDRESS,
        "defaultBlockUntilAdminAction": flag,
    },
)


def manifest_problems(manifest: Mapping[str, object]) -> tuple[str, ...]:
    """Return why Teams would reject the manifest, each with its path; empty if it is valid."""
    found = tuple(_MANIFEST(dict(manifest), ""))
    return found or tuple(_inconsistent(manifest))


def _inconsistent(manifest: Mapping[str, object]) -> Iterator[str]:
    """Yield contradictions between keys of a manifest whose single values are valid."""
    version = str(manifest["manifestVersion"])
    if manifest.get("$schema", schema_of(version)) != schema_of(version):
        yield f"$schema is not that of manifestVersion {version}"
    bots = manifest.get("bots")
    scopes = [scope for bot in bots for scope in bot["scopes"]] if isinstance(bots, list) else []
    if not scopes:
        yield "bots holds no bot that can be asked anywhere"
    if "team" in scopes and CHANNEL_FEATURES not in manifest:
        yield f"{CHANNEL_FEATURES} is missing; from 1.25 on Teams wants it of apps in teams"
    permitted = manifest.get("authorization")
    application = manifest.get("webApplicationInfo")
    named = isinstance(application, dict) and application.get("resource")
    if permitted and not named:
        yield "webApplicationInfo.resource is missing; resource-specific consent needs it"

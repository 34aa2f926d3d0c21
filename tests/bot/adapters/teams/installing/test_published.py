"""What Teams would not take is refused, by name: the limits that its schema 1.30 states."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bot.platforms.teams.app_package.manifest_schema import VERSIONS, manifest_problems, schema_of

_ID = "12345678-1234-1234-1234-123456789abc"
_HOME = "https://frontdesk.example.com"


def least() -> dict[str, Any]:
    """Return a manifest that Teams takes, with everything that this package may use."""
    return {
        "manifestVersion": "1.30",
        "version": "1.0.0",
        "id": _ID,
        "developer": {
            "name": "D",
            "websiteUrl": _HOME,
            "privacyUrl": _HOME,
            "termsOfUseUrl": _HOME,
        },
        "name": {"short": "N", "full": "N"},
        "description": {"short": "S", "full": "F"},
        "icons": {"outline": "o.png", "color": "c.png"},
        "accentColor": "#1f5f5b",
        "bots": [
            {
                "botId": _ID,
                "scopes": ["personal", "team", "groupChat"],
                "commandLists": [{"scopes": ["personal"], "commands": [{"title": "help"}]}],
            }
        ],
        "permissions": ["identity"],
        "validDomains": ["frontdesk.example.com"],
        "supportsChannelFeatures": "tier1",
        "webApplicationInfo": {"id": _ID, "resource": _HOME},
        "authorization": {
            "permissions": {
                "resourceSpecific": [{"name": "ChatMessage.Read.Chat", "type": "Application"}]
            }
        },
    }


def at(manifest: dict[str, Any], place: str) -> tuple[Any, Any]:
    """Return what holds the value at a place, and the value's key there."""
    *way, last = (int(key) if key.isdecimal() else key for key in place.split("/"))
    inside: Any = manifest
    for key in way:
        inside = inside[key]
    return inside, last


LENGTHS = [
    ("developer/name", 32),
    ("name/short", 30),
    ("name/full", 100),
    ("description/short", 80),
    ("description/full", 4000),
    ("icons/color", 2048),
    ("validDomains/0", 2048),
    ("webApplicationInfo/resource", 2048),
    ("authorization/permissions/resourceSpecific/0/name", 128),
    ("bots/0/commandLists/0/commands/0/title", 128),
    ("bots/0/commandLists/0/commands/0/description", 4000),
    ("bots/0/commandLists/0/commands/0/prompt", 4000),
]
NUMBERS = [
    ("bots", 1),
    ("bots/0/scopes", 4),
    ("bots/0/commandLists", 3),
    ("bots/0/commandLists/0/scopes", 4),
    ("bots/0/commandLists/0/commands", 12),
    ("permissions", 2),
    ("validDomains", 100),
]
REFUSED: list[tuple[str, object]] = [
    ("manifestVersion", "1.27"),
    ("$schema", "https://example.com/schema.json"),
    ("version", "1.0"),
    ("version", "v1.0.0"),
    ("id", "frontdesk"),
    ("id", _ID + "0"),
    ("accentColor", "teal"),
    ("accentColor", "#fff"),
    ("developer/websiteUrl", "frontdesk.example.com"),
    ("developer/websiteUrl", _HOME + "/" * 2048),
    ("developer/privacyUrl", "ftp://example.com"),
    ("name", "Frontdesk"),
    ("name/short", 5),
    ("name/nick", "x"),
    ("bots", {}),
    ("bots/0/botId", "bot"),
    ("bots/0/scopes", ["groupchat"]),
    ("bots/0/supportsFiles", "yes"),
    ("bots/0/commandLists/0/commands/0/type", "question"),
    ("bots/0/commandLists/0/commands/0/icon", "x"),
    ("permissions", ["everything"]),
    ("supportsChannelFeatures", "tier2"),
    ("defaultInstallScope", "tenant"),
    ("defaultGroupCapability", {"team": "card"}),
    ("authorization/permissions/resourceSpecific/0/type", "Whatever"),
    ("authorization/permissions/orgWide", []),
    ("webApplicationInfo/id", "x"),
    ("color", "red"),
]
REQUIRED = [
    "manifestVersion",
    "version",
    "id",
    "developer",
    "developer/name",
    "developer/websiteUrl",
    "developer/privacyUrl",
    "developer/termsOfUseUrl",
    "name",
    "name/short",
    "description",
    "description/short",
    "description/full",
    "icons",
    "icons/color",
    "icons/outline",
    "accentColor",
    "bots/0/botId",
    "bots/0/scopes",
    "bots/0/commandLists/0/scopes",
    "bots/0/commandLists/0/commands",
    "bots/0/commandLists/0/commands/0/title",
    "webApplicationInfo/id",
    "authorization/permissions/resourceSpecific/0/name",
    "authorization/permissions/resourceSpecific/0/type",
]


def dotted(place: str) -> str:
    """Return a place as problems name it."""
    keys = place.split("/")
    return "".join(f"[{key}]" if key.isdecimal() else f".{key}" for key in keys)[1:]


def test_a_manifest_within_all_limits_is_taken() -> None:
    assert manifest_problems(least()) == ()


@pytest.mark.parametrize(("place", "most"), LENGTHS)
def test_texts_are_taken_up_to_their_length_and_no_longer(place: str, most: int) -> None:
    manifest = least()
    inside, key = at(manifest, place)
    inside[key] = "x" * most
    assert manifest_problems(manifest) == ()

    inside[key] += "x"
    assert manifest_problems(manifest) == (
        f"{dotted(place)} has {most + 1} characters; Teams takes {most}",
    )


@pytest.mark.parametrize(("place", "most"), NUMBERS)
def test_lists_are_taken_up_to_their_number_and_no_more(place: str, most: int) -> None:
    manifest = least()
    inside, key = at(manifest, place)
    inside[key] = [copy.deepcopy(inside[key][0]) for _ in range(most)]
    assert manifest_problems(manifest) == ()

    inside[key].append(copy.deepcopy(inside[key][0]))
    assert manifest_problems(manifest) == (
        f"{dotted(place)} has {most + 1} entries; Teams takes {most}",
    )


def test_sixteen_different_permissions_are_taken_and_no_more() -> None:
    manifest = least()
    inside, key = at(manifest, "authorization/permissions/resourceSpecific")
    inside[key] = [{"name": f"P{n}", "type": "Application"} for n in range(16)]
    assert manifest_problems(manifest) == ()

    inside[key][0] = inside[key][1]
    assert manifest_problems(manifest) == (
        "authorization.permissions.resourceSpecific has one twice",
    )

    inside[key] = [{"name": f"P{n}", "type": "Application"} for n in range(17)]
    assert len(manifest_problems(manifest)) == 1


@pytest.mark.parametrize(("place", "value"), REFUSED)
def test_what_the_schema_does_not_know_is_refused_by_its_place(place: str, value: object) -> None:
    manifest = least()
    inside, key = at(manifest, place)
    inside[key] = value

    assert len(manifest_problems(manifest)) == 1
    assert manifest_problems(manifest)[0].startswith(dotted(place))


@pytest.mark.parametrize("place", REQUIRED)
def test_what_is_required_is_missed_by_its_place(place: str) -> None:
    manifest = least()
    inside, key = at(manifest, place)
    del inside[key]

    assert manifest_problems(manifest) == (f"{dotted(place)} is missing",)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_earlier_version_of_the_same_limits_is_taken_with_its_own_schema(version: str) -> None:
    manifest = {**least(), "manifestVersion": version, "$schema": schema_of(version)}
    assert manifest_problems(manifest) == ()

    other = next(each for each in VERSIONS if each != version)
    manifest["$schema"] = schema_of(other)
    assert manifest_problems(manifest) == (f"$schema is not that of manifestVersion {version}",)


def test_an_app_for_teams_has_to_say_which_channels_it_knows() -> None:
    manifest = least()
    del manifest["supportsChannelFeatures"]

    assert "supportsChannelFeatures" in manifest_problems(manifest)[0]
    manifest["bots"][0]["scopes"] = ["personal"]
    assert manifest_problems(manifest) == ()


@pytest.mark.parametrize("gone", ["webApplicationInfo", "webApplicationInfo/resource"])
def test_resource_specific_consent_needs_an_application_and_a_resource(gone: str) -> None:
    manifest = least()
    inside, key = at(manifest, gone)
    del inside[key]

    assert "webApplicationInfo.resource" in manifest_problems(manifest)[0]

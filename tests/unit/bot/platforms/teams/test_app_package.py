"""Test that the app package asks for what the code uses, and stays within Teams' limits."""

from __future__ import annotations

import ast
import copy
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.parsing import parse_message_text
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.suggested_prompts import DEFAULT_PROMPTS
from bot.platforms.teams.app_package import (
    FOLDER,
    READ_ALONG_PERMISSIONS,
    PackageOptions,
    manifest_problems,
    package_of,
    schema_of,
)
from bot.platforms.teams.members import COMMAND_SPELLING
from bot.platforms.teams.payloads.activity import ConversationKind

VERSIONS = ("1.30", "1.29", "1.28")
"""Newest first."""

_BYTES_A_PIXEL = {2: 3, 6: 4}


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of pixels, each red, green, blue, opacity from 0 to 255."""

    rows: tuple[tuple[tuple[int, int, int, int], ...], ...]


def read_png(content: bytes) -> Picture:
    """Return a picture that is not interlaced, and has no palette."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks = list(_chunks(content))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">LLBBBBB", chunks[0][1])
    assert (depth, interlaced) == (8, 0)
    step = _BYTES_A_PIXEL[kind]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    above, rows = bytes(width * step), []
    for number in range(height):
        line = raw[number * (width * step + 1) :][: width * step + 1]
        above = _unfiltered(line[0], line[1:], above, step)
        rows.append(tuple(_pixel(above[at : at + step]) for at in range(0, width * step, step)))
    return Picture(tuple(rows))


def _chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(content):
        length, name = struct.unpack_from(">L4s", content, at)
        found.append((name, content[at + 8 : at + 8 + length]))
        at += length + 12
    return found


def _pixel(told: bytes) -> tuple[int, int, int, int]:
    red, green, blue, *opacity = told
    return red, green, blue, opacity[0] if opacity else 255


def _unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    read = bytearray(line)
    for at, value in enumerate(line):
        left, up = (read[at - step] if at >= step else 0), above[at]
        corner = above[at - step] if at >= step else 0
        guessed = (0, left, up, (left + up) // 2, _nearest(left, up, corner))[kind]
        read[at] = (value + guessed) % 256
    return bytes(read)


def _nearest(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda each: abs(guess - each))


ADAPTER = Path(__file__).parents[5] / "bot" / "platforms" / "teams"
APP_ID = "12345678-1234-1234-1234-123456789abc"
HOME = "https://frontdesk.example.com"
NOTHING: PackageOptions = PackageOptions()

SCOPE_OF: dict[ConversationKind, str] = {
    "personal": "personal",
    "groupChat": "groupChat",
    "channel": "team",
}
"""What Teams calls where the bot can be asked."""

PERMISSION_OF: dict[str, str] = {
    "open_chat": "messageTeamMembers",  # what only an asker may read, to them alone
    "member": "identity",  # whether somebody is a colleague
    "members": "identity",  # whether outsiders read along
    "delete": "",
    "send": "",
    "update": "",
}
"""Functions that call the connector, and the permission that tells people of it."""

READ_ALONG_IN: dict[str, ConversationKind] = {
    "ChannelMessage.Read.Group": "channel",
    "ChatMessage.Read.Chat": "groupChat",
}
"""Where something may be overheard; a personal chat needs no permission."""


@pytest.fixture
def configured() -> Settings:
    return settings()


def settings(**overrides: object) -> Settings:
    given = {"microsoft_app_id": APP_ID, "public_url": HOME, **overrides}
    return load_settings(_env_file=None, **given)


def opened(package: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_in(package: bytes) -> dict[str, Any]:
    return dict(json.loads(opened(package)["manifest.json"]))


def bot_in(package: bytes) -> dict[str, Any]:
    (bot,) = manifest_in(package)["bots"]
    return dict(bot)


def commands_for(package: bytes, scope: str) -> list[dict[str, str]]:
    (found,) = [each for each in bot_in(package)["commandLists"] if scope in each["scopes"]]
    return list(found["commands"])


def prompts_for(package: bytes, scope: str) -> list[tuple[str, str]]:
    offered = commands_for(package, scope)
    return [(each["title"], each["prompt"]) for each in offered if each.get("type") == "prompt"]


def called() -> Iterator[str]:
    """Yield the names of the functions that make a request to the connector, from the code."""
    for file in ADAPTER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.AsyncFunctionDef) and _makes_request(node):
                yield node.name


def _makes_request(function: ast.AsyncFunctionDef) -> bool:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(getattr(call.func, "id", "") == "ConnectorRequest" for call in calls)


def folder_with(tmp_path: Path, **changed: object) -> Path:
    """Return the folder of the package with other values at the top of its manifest."""
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    source = json.loads((FOLDER / "manifest.json").read_text()) | changed
    (tmp_path / "manifest.json").write_text(json.dumps(source))
    return tmp_path


@pytest.mark.parametrize(
    "wishes", [NOTHING, PackageOptions(follow_ups=True), PackageOptions(copilot=True)]
)
def test_teams_takes_it(configured: Settings, wishes: PackageOptions) -> None:
    manifest = manifest_in(package_of(configured, wishes))

    assert manifest_problems(manifest) == ()
    assert (manifest["manifestVersion"], manifest["$schema"]) == (
        VERSIONS[0],
        schema_of(VERSIONS[0]),
    )


def test_it_holds_a_manifest_and_the_icons_that_this_names(configured: Settings) -> None:
    held = opened(package_of(configured, NOTHING))

    assert set(held) == {"manifest.json", "color.png", "outline.png"}
    assert held["color.png"] == (FOLDER / "color.png").read_bytes()
    assert held["outline.png"] == (FOLDER / "outline.png").read_bytes()


def test_app_and_bot_have_the_id_of_the_registration(configured: Settings) -> None:
    package = package_of(configured, NOTHING)

    assert manifest_in(package)["id"] == bot_in(package)["botId"] == APP_ID


@given(
    st.booleans(),
    st.sampled_from([None, "2.0.1"]),
    st.sampled_from([HOME, "https://a.example:8443/desk"]),
)
def test_the_same_settings_make_the_same_bytes(
    follow_ups: bool,  # noqa: FBT001  # hypothesis
    version: str | None,
    home: str,
) -> None:
    wishes, configured = (
        PackageOptions(follow_ups=follow_ups, version=version),
        settings(public_url=home),
    )

    package = package_of(configured, wishes)
    assert package == package_of(configured, wishes)
    assert manifest_problems(manifest_in(package)) == ()
    assert package != package_of(configured, PackageOptions(version="9.9.9"))


def test_it_tells_where_this_server_is(configured: Settings) -> None:
    manifest = manifest_in(package_of(configured, NOTHING))

    assert manifest["validDomains"] == ["frontdesk.example.com"]
    urls = [value for key, value in manifest["developer"].items() if key.endswith("Url")]
    assert urls == [HOME] * 3


def test_privacy_and_terms_can_be_told_elsewhere(configured: Settings) -> None:
    wishes = PackageOptions(
        privacy_url="https://acme.example/privacy", terms_url="https://acme.example/t"
    )
    developer = manifest_in(package_of(configured, wishes))["developer"]

    assert developer["privacyUrl"] == "https://acme.example/privacy"
    assert developer["termsOfUseUrl"] == "https://acme.example/t"
    assert developer["websiteUrl"] == HOME


def test_every_scope_is_a_place_in_which_messages_are_taken(configured: Settings) -> None:
    assert SCOPE_OF.keys() == set(get_args(ConversationKind))
    assert sorted(bot_in(package_of(configured, NOTHING))["scopes"]) == sorted(SCOPE_OF.values())


def test_permissions_are_those_that_what_is_called_needs(configured: Settings) -> None:
    assert set(called()) == PERMISSION_OF.keys()
    asked = manifest_in(package_of(configured, NOTHING))["permissions"]
    assert set(asked) == set(PERMISSION_OF.values()) - {""}


def test_the_guide_says_what_everything_is_asked_for() -> None:
    guide = (ADAPTER.parents[2] / "docs" / "teams.md").read_text()
    table = guide.partition("## What the app asks for")[2].partition("\n## ")[0]

    asked = {*SCOPE_OF.values(), *PERMISSION_OF.values(), *READ_ALONG_PERMISSIONS} - {""}
    assert [name for name in sorted(asked) if f"`{name}`" not in table] == []


def test_nothing_is_read_along_unless_that_is_wished(configured: Settings) -> None:
    manifest = manifest_in(package_of(configured, NOTHING))

    assert "authorization" not in manifest
    assert "webApplicationInfo" not in manifest
    assert "Read." not in json.dumps(manifest)


def test_follow_ups_ask_to_read_along_where_they_can_be(configured: Settings) -> None:
    manifest = manifest_in(package_of(configured, PackageOptions(follow_ups=True)))

    asked = manifest["authorization"]["permissions"]["resourceSpecific"]
    assert {each["name"] for each in asked} == set(READ_ALONG_PERMISSIONS) == READ_ALONG_IN.keys()
    assert {each["type"] for each in asked} == {"Application"}
    assert set(READ_ALONG_IN.values()) == set(get_args(ConversationKind)) - {"personal"}
    assert manifest["webApplicationInfo"] == {"id": APP_ID, "resource": HOME}
    assert "without a mention" in manifest["description"]["full"]


@pytest.mark.mended(id="teams-5")
@pytest.mark.parametrize("scope", SCOPE_OF.values())
def test_the_prompts_of_every_scope_are_those_of_every_platform(
    configured: Settings, scope: str
) -> None:
    assert prompts_for(package_of(configured, NOTHING), scope) == [
        (prompt.title, prompt.message) for prompt in DEFAULT_PROMPTS
    ]


@pytest.mark.mended(id="teams-5")
def test_a_company_writes_its_own_prompts() -> None:
    own = settings(suggested_prompts="Leave=How many days of leave do I have?; Who pays?")

    assert prompts_for(package_of(own, NOTHING), "team") == [
        ("Leave", "How many days of leave do I have?"),
        ("Who pays?", "Who pays?"),
    ]


@pytest.mark.mended(id="teams-5")
def test_who_gets_a_hello_gets_no_prompts() -> None:
    greeting = settings(teams_hello=True)

    assert prompts_for(package_of(greeting, NOTHING), "personal") == []


def test_the_same_bot_is_an_agent_of_copilot_if_that_is_wished(configured: Settings) -> None:
    manifest = manifest_in(package_of(configured, PackageOptions(copilot=True)))

    (agent,) = manifest["copilotAgents"]["customEngineAgents"]
    assert (agent["id"], agent["type"]) == (APP_ID, "bot")
    (bot,) = manifest["bots"]
    assert {"personal", "copilot"} <= set(bot["scopes"])
    assert [each["scopes"] for each in bot["commandLists"]] == [
        ["personal", "copilot"],
        ["team", "groupChat"],
    ]
    assert "copilotAgents" not in manifest_in(package_of(configured, NOTHING))


@pytest.mark.parametrize("scope", SCOPE_OF.values())
def test_every_command_that_is_offered_is_one(configured: Settings, scope: str) -> None:
    commands = [
        each["title"]
        for each in commands_for(package_of(configured, NOTHING), scope)
        if "type" not in each
    ]

    assert {"help", "status", "/why", "reindex"} <= set(commands)
    assert all(parse_message_text(title, COMMAND_SPELLING) is not None for title in commands)


def test_the_colour_icon_is_a_full_square_with_the_mark_in_its_middle() -> None:
    picture = read_png((FOLDER / "color.png").read_bytes())

    assert size_of(picture) == (192, 192)
    assert {pixel[3] for row in picture.rows for pixel in row} == {255}
    left, top, right, bottom = bounds(picture, background=picture.rows[0][0])
    assert min(left, top) >= 36
    assert max(right, bottom) < 156


def test_the_outline_icon_is_white_on_nothing() -> None:
    picture = read_png((FOLDER / "outline.png").read_bytes())

    assert size_of(picture) == (32, 32)
    seen = [pixel for row in picture.rows for pixel in row if pixel[3]]
    assert {pixel[:3] for pixel in seen} == {(255, 255, 255)}
    assert 60 < len(seen) < 32 * 32 / 2


def size_of(picture: Picture) -> tuple[int, int]:
    return len(picture.rows[0]), len(picture.rows)


def bounds(picture: Picture, background: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return the first and last column and row of what is not background."""
    marks = [
        (x, y)
        for y, row in enumerate(picture.rows)
        for x, pixel in enumerate(row)
        if pixel != background
    ]
    columns, rows = [x for x, _ in marks], [y for _, y in marks]
    return min(columns), min(rows), max(columns), max(rows)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"microsoft_app_id": None}, "MICROSOFT_APP_ID is not set"),
        ({"microsoft_app_id": "frontdesk"}, "MICROSOFT_APP_ID='frontdesk' is no id"),
        ({"public_url": None}, "PUBLIC_URL is not set"),
        ({"public_url": "http://desk.example"}, "PUBLIC_URL='http://desk.example' can't"),
        ({"public_url": "https://localhost:3978"}, "PUBLIC_URL='https://localhost:3978' can't"),
    ],
)
def test_a_setting_that_is_missing_or_wrong_is_named_in_one_line(
    wrong: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        package_of(settings(**wrong), NOTHING)

    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": {"short": "F" * 31}}, "name.short has 31 characters; Teams takes 30"),
        ({"developer": "Acme"}, "not formed as that of the repository"),
        ({"bots": [{"scopes": ["personal"]}]}, "not formed as that of the repository"),
        ({"bots": []}, "bots holds no bot"),
        ({"icons": {"color": "color.png"}}, "icons.outline is missing"),
        ({"icons": {"color": "outline.png", "outline": "outline.png"}}, "of 192 x 192 pixels"),
        ({"icons": {"color": "manifest.json", "outline": "outline.png"}}, "is no PNG"),
        ({"icons": {"color": "gone.png", "outline": "outline.png"}}, "No such file"),
    ],
)
def test_words_of_ones_own_that_teams_would_not_take_are_refused(
    configured: Settings, tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    folder = folder_with(tmp_path, **changed)
    with pytest.raises(SettingInvalid, match=said.replace(".", r"\.")):
        package_of(configured, PackageOptions(follow_ups=True), folder=folder)


@pytest.mark.parametrize("content", ["{", "[]", "\x00"])
def test_a_source_that_is_no_json_object_is_refused(
    configured: Settings, tmp_path: Path, content: str
) -> None:
    (folder_with(tmp_path) / "manifest.json").write_text(content)

    with pytest.raises(SettingInvalid, match="infra/teams/manifest"):
        package_of(configured, NOTHING, folder=tmp_path)


def test_a_version_that_is_none_is_refused(configured: Settings) -> None:
    with pytest.raises(SettingInvalid, match="version='2' is not of the form"):
        package_of(configured, PackageOptions(version="2"))


def least() -> dict[str, Any]:
    """Return a manifest that Teams takes, with everything that this package may use."""
    return manifest_in(package_of(settings(), PackageOptions(follow_ups=True)))


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
    ("id", APP_ID + "0"),
    ("accentColor", "teal"),
    ("accentColor", "#fff"),
    ("developer/websiteUrl", "frontdesk.example.com"),
    ("developer/websiteUrl", HOME + "/" * 2048),
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
REQUIRED = """
    manifestVersion version id accentColor
    developer developer/name developer/websiteUrl developer/privacyUrl developer/termsOfUseUrl
    name name/short description description/short description/full icons icons/color icons/outline
    bots/0/botId bots/0/scopes bots/0/commandLists/0/scopes bots/0/commandLists/0/commands
    bots/0/commandLists/0/commands/0/title webApplicationInfo/id
    authorization/permissions/resourceSpecific/0/name
    authorization/permissions/resourceSpecific/0/type
""".split()


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


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("name/short", 5, "name.short is no text"),
        ("bots", {}, "bots is no list"),
        ("name", "Frontdesk", "name is no object"),
        ("bots/0/supportsFiles", "yes", "bots[0].supportsFiles='yes' is neither true nor false"),
        ("accentColor", "teal", "accentColor='teal' is not of the form #[0-9a-fA-F]{6}"),
        (
            "developer/websiteUrl",
            "x" * 3000,
            "developer.websiteUrl has 3000 characters; Teams takes 2048",
        ),
    ],
)
def test_a_problem_is_told_once_in_an_operators_words(
    place: str, value: object, problem: str
) -> None:
    manifest = least()
    inside, key = at(manifest, place)
    inside[key] = value

    assert manifest_problems(manifest) == (problem,)


def test_a_long_value_is_not_repeated_in_full() -> None:
    (problem,) = manifest_problems({**least(), "supportsChannelFeatures": "x" * 3000})
    assert len(problem) < 300
    assert problem.endswith("is none of tier1")


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

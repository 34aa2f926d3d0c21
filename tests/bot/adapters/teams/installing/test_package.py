"""The package opens as it was meant: its manifest asks for what the code uses, and no more."""

from __future__ import annotations

import ast
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from botframework.connector.aio.operations_async import ConversationsOperations
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.help_texts import SUGGESTED_PROMPTS
from bot.chat.commands.parsing import parse_message_text
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.app_package.builder import (
    FOLDER,
    READ_ALONG_PERMISSIONS,
    PackageOptions,
    package_of,
)
from bot.platforms.teams.app_package.manifest_schema import VERSIONS, manifest_problems, schema_of
from bot.platforms.teams.payloads.activity import ConversationKind
from bot.platforms.teams.tenant.identity import COMMAND_SPELLING
from tests.bot.adapters.teams.installing.pictures import Picture, read_png

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
    "create_conversation": "messageTeamMembers",  # what only an asker may read, to them alone
    "get_conversation_member": "identity",  # whether somebody is a colleague
    "get_conversation_paged_members": "identity",  # whether outsiders read along
    "delete_activity": "",
    "reply_to_activity": "",
    "send_to_conversation": "",
    "update_activity": "",
}
"""What is called of the connector, and the permission that tells people of it."""

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


def called() -> Iterator[str]:
    """Yield what the adapter calls of the connector, from its code."""
    for file in ADAPTER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "conversations":
                assert hasattr(ConversationsOperations, node.attr)
                yield node.attr


def folder_with(tmp_path: Path, **changed: object) -> Path:
    """Return the folder of the package with other values at the top of its manifest."""
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    source = json.loads((FOLDER / "manifest.json").read_text()) | changed
    (tmp_path / "manifest.json").write_text(json.dumps(source))
    return tmp_path


@pytest.mark.parametrize("wishes", [NOTHING, PackageOptions(follow_ups=True)])
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


def test_the_prompts_are_those_that_are_offered_on_every_platform(configured: Settings) -> None:
    package = package_of(configured, NOTHING)
    offered = [each for each in commands_for(package, "personal") if each.get("type") == "prompt"]

    assert [(each["title"], each["prompt"]) for each in offered] == [
        (prompt.title, prompt.message) for prompt in SUGGESTED_PROMPTS
    ]
    assert not [each for each in commands_for(package, "team") if "prompt" in each]


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

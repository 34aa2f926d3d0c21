"""Test that the app manifests ask for what the code uses, for no more, and in Slack's schema."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import yaml
from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import ChatContext
from bot.chat.commands.types import InvalidCommand
from bot.domain.settings import Settings
from bot.domain.suggested_prompts import DEFAULT_PROMPTS
from bot.platforms.slack import PATH, dispatch, mount
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.health_checks import OPTIONAL_SCOPES, REQUIRED_SCOPES, SMALL_MANIFEST
from bot.platforms.slack.slash_commands import Command
from tests.fakes.slack import people, state
from tests.fakes.slack.blocks import Check, flag, items, one_of, shape, string

_WORD = string(50)


def _matching(pattern: str, most: int) -> Check:
    def check(value: object) -> str:
        fits = isinstance(value, str) and re.fullmatch(pattern, value) and len(value) <= most
        return "" if fits else f"{value!r} is not of the form {pattern}"

    return check


def _address(most: int) -> Check:
    return _matching(r"https?://\S+", most)


def _distinct(most: int) -> Check:
    """Take a list of different names."""

    def check(value: object) -> str:
        wrong = items(_WORD, most)(value)
        twice = not wrong and isinstance(value, list) and len(set(value)) < len(value)
        return "names one twice" if twice else wrong

    return check


_PROMPT = shape({"title": string(10_000), "message": string(10_000)})
_COMMAND = shape(
    {"command": _matching(r"/\S+", 32), "description": string(2000)},
    url=_address(3000),
    usage_hint=string(1000),
    should_escape=flag,
)
_SHORTCUT = shape(
    {
        "name": string(24),
        "type": one_of("message", "global"),
        "callback_id": string(255),
        "description": string(150),
    }
)
_FEATURES = shape(
    {},
    app_home=shape(
        {},
        home_tab_enabled=flag,
        messages_tab_enabled=flag,
        messages_tab_read_only_enabled=flag,
    ),
    bot_user=shape({"display_name": string(80)}, always_online=flag),
    agent_view=shape({}, agent_description=string(300, 0), suggested_prompts=items(_PROMPT, 4, 0)),
    slash_commands=items(_COMMAND, 50),
    shortcuts=items(_SHORTCUT, 10),
)
_SETTINGS = shape(
    {},
    event_subscriptions=shape({}, request_url=_address(3500), bot_events=_distinct(100)),
    interactivity=shape({"is_enabled": flag}, request_url=_address(3500)),
    org_deploy_enabled=flag,
    socket_mode_enabled=flag,
    token_rotation_enabled=flag,
)
_MANIFEST = shape(
    {
        "display_information": shape(
            {"name": string(35)},
            description=string(140),
            background_color=_matching("#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?", 7),
        )
    },
    features=_FEATURES,
    oauth_config=shape({}, scopes=shape({}, bot=_distinct(255))),
    settings=_SETTINGS,
)


def manifest_problem(manifest: dict[str, Any]) -> str:
    """Return what Slack would not take, "" when it takes the manifest."""
    return _MANIFEST(manifest) or _inconsistent(manifest)


def _inconsistent(manifest: dict[str, Any]) -> str:
    """Tell what is missing between the parts: over HTTP Slack needs to know where to send."""
    settings, features = manifest["settings"], manifest["features"]
    if settings["socket_mode_enabled"]:
        return ""
    addressed = [
        settings["event_subscriptions"].get("request_url"),
        settings["interactivity"].get("request_url"),
        *(command.get("url") for command in features["slash_commands"]),
    ]
    return "" if all(addressed) else "without Socket Mode each needs its address"


ROOT = Path(__file__).parents[5]
ADAPTER = ROOT / "bot" / "platforms" / "slack"
HTTP = ROOT / "infra" / "slack" / "manifest.yaml"
SOCKET = ROOT / "infra" / "slack" / "manifest-socket.yaml"
SMALL = ROOT / "infra" / "slack" / "manifest-small.yaml"

BY_EVENT: dict[str, set[str]] = {
    "agent_session_stopped": {"assistant:write"},
    "app_home_opened": set(),
    "app_mention": {"app_mentions:read"},
    "app_uninstalled": set(),
    "member_joined_channel": {"channels:read", "groups:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "message.mpim": {"mpim:history"},
    "reaction_added": {"reactions:read"},
    "reaction_removed": {"reactions:read"},
    "tokens_revoked": set(),
}
HISTORIES = {"channels:history", "groups:history", "im:history", "mpim:history"}
BY_METHOD: dict[str, set[str]] = {
    "agents.sessions.setStatus": {"chat:write"},
    "apps.connections.open": set(),  # the app's own token: connections:write
    "assistant.threads.setStatus": {"chat:write"},
    "assistant.threads.setSuggestedPrompts": {"assistant:write"},
    "auth.test": set(),
    "chat.delete": {"chat:write"},
    "chat.getPermalink": set(),
    "chat.postEphemeral": {"chat:write"},
    "chat.postMessage": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.history": HISTORIES,
    "conversations.info": {"channels:read", "groups:read", "mpim:read"},
    "conversations.members": {"channels:read", "groups:read", "mpim:read"},
    "conversations.open": {"im:write"},
    "conversations.replies": HISTORIES,
    "reactions.add": {"reactions:write"},
    "reactions.remove": {"reactions:write"},
    "usergroups.list": {"usergroups:read"},
    "usergroups.users.list": {"usergroups:read"},
    "users.info": {"users:read", "users:read.email"},
    "users.list": {"users:read"},
    "users.lookupByEmail": {"users:read.email"},
    "views.open": set(),
    "views.publish": set(),
    "views.update": set(),
}
"""conversations.info is never asked of a direct message, so that im:read is not needed."""

BY_FEATURE = {"files:read": "downloads", "commands": "slash commands and the shortcut"}


class Taken:
    """What the listeners hang on, in place of Bolt: only what they take is noted."""

    def __init__(self) -> None:
        self.by_kind: dict[str, set[str]] = {}

    def __getattr__(self, kind: str) -> Callable[..., Callable[..., None]]:
        if not hasattr(AsyncApp, kind):
            raise AttributeError(kind)

        def take(name: object, *_: object, **__: object) -> Callable[..., None]:
            named = name["type"] if isinstance(name, dict) else name
            self.by_kind.setdefault(kind, set()).add(str(named))
            return lambda _: None

        return take


@pytest.fixture(params=[HTTP, SOCKET], ids=["http", "socket"])
def manifest(request: pytest.FixtureRequest) -> dict[str, Any]:
    return loaded(request.param)


@pytest.fixture
def taken(channel: SlackChannel, context: ChatContext, monkeypatch: pytest.MonkeyPatch) -> Taken:
    """Return what the listeners take that an application has."""
    taken = Taken()

    def noting(settings: Settings, listeners: Sequence[dispatch.Listener]) -> AsyncApp:
        for listener in listeners:
            listener.register(cast("AsyncApp", taken))
        return dispatch.bolt_app(settings, listeners)

    monkeypatch.setattr("bot.platforms.slack.bolt_app", noting)
    mount(web.Application(), channel, context)
    return taken


def loaded(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text()))


def events_of(manifest: dict[str, Any]) -> list[str]:
    return list(manifest["settings"]["event_subscriptions"]["bot_events"])


def scopes_of(manifest: dict[str, Any]) -> list[str]:
    return list(manifest["oauth_config"]["scopes"]["bot"])


def called() -> Iterator[str]:
    """Yield the methods of Slack's that the adapter calls, from its code."""
    for file in ADAPTER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and is_client(node.value):
                method = getattr(AsyncWebClient, node.attr, None)
                if callable(method) and "_" in node.attr:
                    yield node.attr.replace("_", ".")


def is_client(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "web"


def test_slack_takes_it(manifest: dict[str, Any]) -> None:
    assert manifest_problem(manifest) == ""


def test_scopes_are_those_that_events_calls_and_features_need(manifest: dict[str, Any]) -> None:
    by_event = set().union(*(BY_EVENT[event] for event in events_of(manifest)))
    by_method = set().union(*BY_METHOD.values())

    assert set(scopes_of(manifest)) == by_event | by_method | set(BY_FEATURE)


def test_every_method_that_is_called_has_its_scopes_named() -> None:
    assert set(called()) == set(BY_METHOD)


def test_every_scope_is_known_to_the_doctor(manifest: dict[str, Any]) -> None:
    assert set(scopes_of(manifest)) == REQUIRED_SCOPES.keys() | OPTIONAL_SCOPES.keys()
    assert not REQUIRED_SCOPES.keys() & OPTIONAL_SCOPES.keys()


@pytest.mark.parametrize("file", [HTTP, SOCKET], ids=["http", "socket"])
def test_every_scope_says_why(file: Path) -> None:
    lines = file.read_text().splitlines()

    for scope in scopes_of(loaded(file)):
        assert [line for line in lines if re.match(rf"\s*- {re.escape(scope)}  # \S", line)]


def test_every_event_is_taken_and_every_one_that_is_taken_is_sent(
    manifest: dict[str, Any], taken: Taken
) -> None:
    sent = events_of(manifest)

    assert {event.partition(".")[0] for event in sent} == taken.by_kind["event"]


def test_messages_are_sent_from_wherever_the_bot_can_be(manifest: dict[str, Any]) -> None:
    places = {event for event in events_of(manifest) if event.startswith("message.")}

    assert places == {"message.channels", "message.groups", "message.im", "message.mpim"}


def test_every_shortcut_is_taken_and_the_reverse(manifest: dict[str, Any], taken: Taken) -> None:
    offered = manifest["features"]["shortcuts"]

    assert {each["type"] for each in offered} == {"message"}
    assert {each["callback_id"] for each in offered} == taken.by_kind["message_shortcut"]


def test_every_command_is_taken_and_the_reverse(manifest: dict[str, Any], taken: Taken) -> None:
    offered = manifest["features"]["slash_commands"]

    assert {each["command"] for each in offered} == taken.by_kind["command"]


def test_what_commands_are_said_to_take_they_take(manifest: dict[str, Any]) -> None:
    for each in manifest["features"]["slash_commands"]:
        words = each["usage_hint"].replace("[--dry-run]", "| all --dry-run").split("|")
        for word in words:
            command = Command(each["command"], word.strip(), "U1", "C1", "t", "https://x")
            assert not isinstance(command.request(), InvalidCommand), word


def test_what_people_press_comes_back(manifest: dict[str, Any]) -> None:
    assert manifest["settings"]["interactivity"]["is_enabled"]


def test_the_prompts_are_those_that_are_offered_later_too(manifest: dict[str, Any]) -> None:
    prompts = manifest["features"]["agent_view"]["suggested_prompts"]

    assert [(each["title"], each["message"]) for each in prompts] == [
        (prompt.title, prompt.message) for prompt in DEFAULT_PROMPTS
    ]


def test_direct_messages_can_be_written(manifest: dict[str, Any]) -> None:
    home = manifest["features"]["app_home"]

    assert home["messages_tab_enabled"]
    assert not home["messages_tab_read_only_enabled"]


def test_one_workspace_is_served_with_a_token_that_stays(manifest: dict[str, Any]) -> None:
    assert not manifest["settings"]["org_deploy_enabled"]
    assert not manifest["settings"]["token_rotation_enabled"]


def test_every_address_is_where_the_server_listens() -> None:
    addresses = re.findall(r"url: (\S+)", HTTP.read_text())

    assert len(addresses) == 2 + len(loaded(HTTP)["features"]["slash_commands"])
    assert {urlsplit(address).path for address in addresses} == {PATH}
    assert len({urlsplit(address).netloc for address in addresses}) == 1


def test_over_a_socket_it_is_the_same_app_without_addresses() -> None:
    """When this fails, change manifest.yaml, and write its lines without addresses below."""
    lines = [line for line in body(HTTP) if "url: " not in line]
    wanted = [
        line.replace("socket_mode_enabled: false", "socket_mode_enabled: true") for line in lines
    ]

    assert body(SOCKET) == wanted


def test_the_small_app_is_the_same_without_what_it_leaves_out() -> None:
    """When this fails, change manifest-socket.yaml, and write its lines but those below."""
    left_out = [f"- {scope}  #" for scope in SMALL_MANIFEST]
    left_out += ["- message.groups", "- message.mpim"]
    wanted = [line for line in body(SOCKET) if not line.strip().startswith(tuple(left_out))]

    assert body(SMALL) == wanted
    assert manifest_problem(loaded(SMALL)) == ""
    assert set(scopes_of(loaded(SOCKET))) - set(scopes_of(loaded(SMALL))) == SMALL_MANIFEST


def body(file: Path) -> list[str]:
    """Return the lines below the comment at the head."""
    lines = file.read_text().splitlines()
    return lines[lines.index("display_information:") :]


def test_the_slack_that_runs_here_is_one_with_this_app(manifest: dict[str, Any]) -> None:
    assert sorted(people.INSTALLED) == sorted(scopes_of(manifest))
    assert sorted(state.EVENTS) == sorted(events_of(manifest))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("features", "shortcuts", 0, "name", "Ask Frontdesk about this one"), "24 characters"),
        (("features", "slash_commands", 0, "command", "frontdesk"), "is not of the form"),
        (("features", "agent_view", "suggested_prompts", [{"title": "x"}]), "missing"),
        (("features", "assistant_view", {"assistant_description": "x"}), "not allowed"),
        (("oauth_config", "scopes", "bot", ["commands", "commands"]), "names one twice"),
        (("settings", "interactivity", {"is_enabled": True}), "needs its address"),
        (("display_information", "background_color", "blue"), "is not of the form"),
    ],
)
def test_what_slack_does_not_take_is_found(change: tuple[Any, ...], problem: str) -> None:
    manifest = loaded(HTTP)
    *way, key, value = change
    place: Any = manifest
    for step in way:
        place = place[step]
    place[key] = value

    assert problem in manifest_problem(manifest)

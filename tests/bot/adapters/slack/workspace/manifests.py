"""What Slack takes of an app's manifest, as its published schema has it; only what is used here."""

from __future__ import annotations

import re
from typing import Any

from tests.bot.adapters.slack.workspace.shapes import Check, flag, items, one_of, shape, string

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

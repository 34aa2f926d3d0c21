"""What may stand in a block: buttons, menus and fields, each with Slack's limits."""

from __future__ import annotations

from typing import Any

from tests.bot.adapters.slack.workspace.shapes import (
    Check,
    flag,
    items,
    number,
    one_of,
    plain,
    shape,
    string,
    text,
)

ACTION_ID = string(255)
CONFIRM = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    style=one_of("primary", "danger"),
)


def option(label: Check) -> Check:
    """Take an option with such a label."""
    return shape({"text": label, "value": string(150)}, description=text(75), url=string(3000))


OPTION = option(plain(75))
MARKED_OPTION = option(text(75))
GROUP = shape({"label": plain(75), "options": items(OPTION, 100)})
FEEDBACK = shape({"text": plain(75), "value": string(2000)}, accessibility_label=string(75))

MENU = {
    "action_id": ACTION_ID,
    "placeholder": plain(150),
    "confirm": CONFIRM,
    "focus_on_load": flag,
}
CHOICES = {**MENU, "options": items(OPTION, 100), "option_groups": items(GROUP, 100)}
BOXES = {"action_id": ACTION_ID, "confirm": CONFIRM, "focus_on_load": flag}


def _kind(name: str, required: dict[str, Check], /, **optional: Check) -> Check:
    return shape({"type": one_of(name), **required}, **optional)


ELEMENTS: dict[str, Check] = {
    "button": _kind(
        "button",
        {"text": plain(75)},
        action_id=ACTION_ID,
        value=string(2000),
        url=string(3000),
        style=one_of("primary", "danger"),
        confirm=CONFIRM,
        accessibility_label=string(75),
    ),
    "static_select": _kind("static_select", {}, initial_option=OPTION, **CHOICES),
    "multi_static_select": _kind(
        "multi_static_select",
        {},
        initial_options=items(OPTION, 100),
        max_selected_items=number(1, 100),
        **CHOICES,
    ),
    "conversations_select": _kind(
        "conversations_select",
        {},
        initial_conversation=string(255),
        default_to_current_conversation=flag,
        response_url_enabled=flag,
        filter=shape(
            {},
            include=items(one_of("im", "mpim", "private", "public"), 4),
            exclude_external_shared_channels=flag,
            exclude_bot_users=flag,
        ),
        **MENU,
    ),
    "checkboxes": _kind(
        "checkboxes",
        {"options": items(MARKED_OPTION, 10)},
        initial_options=items(MARKED_OPTION, 10),
        **BOXES,
    ),
    "radio_buttons": _kind(
        "radio_buttons",
        {"options": items(MARKED_OPTION, 10)},
        initial_option=MARKED_OPTION,
        **BOXES,
    ),
    "plain_text_input": _kind(
        "plain_text_input",
        {},
        action_id=ACTION_ID,
        initial_value=string(3000, 0),
        multiline=flag,
        min_length=number(0, 3000),
        max_length=number(1, 3000),
        placeholder=plain(150),
        focus_on_load=flag,
    ),
    "number_input": _kind(
        "number_input",
        {"is_decimal_allowed": flag},
        action_id=ACTION_ID,
        initial_value=string(32),
        min_value=string(32),
        max_value=string(32),
        placeholder=plain(150),
        focus_on_load=flag,
    ),
    "feedback_buttons": _kind(
        "feedback_buttons",
        {"positive_button": FEEDBACK, "negative_button": FEEDBACK},
        action_id=ACTION_ID,
    ),
    "icon_button": _kind(
        "icon_button",
        {"icon": one_of("trash"), "text": plain(75)},
        action_id=ACTION_ID,
        value=string(2000),
        confirm=CONFIRM,
        accessibility_label=string(75),
        visible_to_user_ids=items(string(32), 10),
    ),
}


def element(*kinds: str) -> Check:
    """Take an element of one of these types."""

    def check(value: object) -> str:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind not in kinds:
            return f"{kind!r} may not stand here"
        return ELEMENTS[kind](value) or _inconsistent(value)

    return check


def _inconsistent(value: Any) -> str:  # noqa: ANN401  # the shape was checked before
    """Tell what is wrong between the fields of one element."""
    kind = value["type"]
    if kind.endswith("static_select") and ("options" in value) == ("option_groups" in value):
        return f"{kind} needs either options or option_groups"
    groups = value.get("option_groups", [])
    offered = value.get("options", []) + [o for group in groups for o in group["options"]]
    chosen = value.get("initial_options", [])
    first = value.get("initial_option")
    if any(item not in offered for item in [*chosen, *([first] if first else [])]):
        return f"{kind} begins with an option that it does not offer"
    values = [item["value"] for item in offered]
    return f"{kind} offers a value twice" if len(values) != len(set(values)) else ""

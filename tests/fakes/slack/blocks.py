"""Check messages and views against Slack's published limits, and read them as a person does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Check = Callable[[Any], str]


def string(most: int, least: int = 1) -> Check:
    """Take a text of some length, in characters."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is no string"
        if not least <= len(value) <= most:
            return f"must have {least} to {most} characters, has {len(value)}"
        return ""

    return check


def flag(value: object) -> str:
    return "" if isinstance(value, bool) else f"{value!r} is not true or false"


def number(least: int, most: int) -> Check:
    def check(value: object) -> str:
        fits = isinstance(value, int) and least <= value <= most
        return "" if fits else f"{value!r} is not between {least} and {most}"

    return check


def one_of(*values: str) -> Check:
    return lambda value: "" if value in values else f"{value!r} is none of {values}"


def items(check: Check, most: int, least: int = 1) -> Check:
    """Take a list of so many things."""

    def each(value: object) -> str:
        if not isinstance(value, list) or not least <= len(value) <= most:
            return f"must be a list of {least} to {most}"
        wrong = (f"[{at}] {check(item)}" for at, item in enumerate(value) if check(item))
        return next(wrong, "")

    return each


def shape(required: Mapping[str, Check], **optional: Check) -> Check:
    """Take an object with these fields and no other."""

    def check(value: object) -> str:
        if not isinstance(value, dict):
            return f"{value!r} is no object"
        missing = [key for key in required if key not in value]
        extra = [key for key in value if key not in required and key not in optional]
        if missing or extra:
            return f"missing {missing}, not allowed {extra}"
        every = {**required, **optional}
        wrong = (f"{key}: {every[key](item)}" for key, item in value.items() if every[key](item))
        return next(wrong, "")

    return check


def plain(most: int) -> Check:
    """Take a plain_text object."""
    return shape({"type": one_of("plain_text"), "text": string(most)}, emoji=flag)


def mrkdwn(most: int) -> Check:
    """Take a mrkdwn object."""
    return shape({"type": one_of("mrkdwn"), "text": string(most)}, verbatim=flag)


def text(most: int) -> Check:
    """Take a plain_text or mrkdwn object."""

    def check(value: object) -> str:
        kind = value.get("type") if isinstance(value, dict) else None
        return (mrkdwn(most) if kind == "mrkdwn" else plain(most))(value)

    return check


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
    "multi_users_select": _kind(
        "multi_users_select",
        {},
        initial_users=items(string(255), 100),
        max_selected_items=number(1, 100),
        **MENU,
    ),
    "users_select": _kind("users_select", {}, initial_user=string(255), **MENU),
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
    "datepicker": _kind(
        "datepicker",
        {},
        initial_date=string(10),
        placeholder=plain(150),
        **BOXES,
    ),
    "feedback_buttons": _kind(
        "feedback_buttons",
        {"positive_button": FEEDBACK, "negative_button": FEEDBACK},
        action_id=ACTION_ID,
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


MARKDOWN_LIMIT = 12_000
MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
_ALL_TEXT_LIMIT = 13_200
_MENUS = (
    "static_select",
    "multi_static_select",
    "multi_users_select",
    "users_select",
    "conversations_select",
)
_BOXES = ("checkboxes", "radio_buttons")
_MESSAGES_ONLY = frozenset({"markdown", "context_actions", "table"})
_TABLE_TEXT = 10_000


def _block(name: str, required: dict[str, Check], **optional: Check) -> Check:
    return shape({"type": one_of(name), **required}, block_id=string(255), **optional)


_SECTION = _block(
    "section",
    {},
    text=text(3000),
    fields=items(text(2000), 10),
    accessory=element("button", *_MENUS, *_BOXES),
    expand=flag,
)


def _section(value: Mapping[str, Any]) -> str:
    needs = "" if "text" in value or "fields" in value else "section needs text or fields"
    return _SECTION(value) or needs


_RICH_TEXT = shape(
    {"type": one_of("text"), "text": string(_TABLE_TEXT)},
    style=shape({}, bold=flag, code=flag),
)
_CELL = shape(
    {
        "type": one_of("rich_text"),
        "elements": items(
            shape({"type": one_of("rich_text_section"), "elements": items(_RICH_TEXT, 1000)}), 1
        ),
    }
)
_TABLE = _block(
    "table",
    {"rows": items(items(_CELL, 20), 100)},
    column_settings=items(shape({"align": one_of("left", "center", "right")}, is_wrapped=flag), 20),
)


def _table(value: Mapping[str, Any]) -> str:
    if wrong := _TABLE(value):
        return wrong
    if len({len(row) for row in value["rows"]}) > 1:
        return "table rows differ in length"
    return "table has too much text" if len(block_text(value)) > _TABLE_TEXT else ""


BLOCKS: dict[str, Check] = {
    "table": _table,
    "markdown": _block("markdown", {"text": string(MARKDOWN_LIMIT)}),
    "section": _section,
    "context": _block("context", {"elements": items(text(3000), 10)}),
    "actions": _block(
        "actions",
        {
            "elements": items(
                element("button", "static_select", "conversations_select", *_BOXES), 25
            )
        },
    ),
    "context_actions": _block(
        "context_actions", {"elements": items(element("feedback_buttons"), 5)}
    ),
    "input": _block(
        "input",
        {
            "label": plain(2000),
            "element": element("plain_text_input", "datepicker", *_MENUS, *_BOXES),
        },
        hint=plain(2000),
        optional=flag,
        dispatch_action=flag,
    ),
}
BLOCK_TYPES = frozenset(BLOCKS)


def refusal(payload: Mapping[str, Any], block_types: frozenset[str]) -> str:
    """Return Slack's reason for refusing a message, "" when it takes it."""
    blocks = payload.get("blocks") or []
    if not (blocks or payload.get("text")):
        return "no_text"
    if wrong_in(blocks, block_types) or sum(b["type"] == "table" for b in blocks) > 1:
        return "invalid_blocks"
    written = sum(len(b["text"]) for b in blocks if b["type"] == "markdown")
    if written > MARKDOWN_LIMIT or sum(len(block_text(b)) for b in blocks) > _ALL_TEXT_LIMIT:
        return "msg_blocks_too_long"
    return "msg_too_long" if len(payload.get("text") or "") > 40_000 else ""


def wrong_in(blocks: object, block_types: frozenset[str], *, view: bool = False) -> str:
    """Return what is wrong with blocks, in words for who wrote them; "" when nothing is."""
    most = VIEW_BLOCKS if view else MESSAGE_BLOCKS
    if not isinstance(blocks, list) or len(blocks) > most:
        return f"blocks: must be a list of at most {most}"
    allowed = block_types - _MESSAGES_ONLY if view else block_types
    wrong = (
        f"blocks/{at}: {_wrong(block, allowed)}{_pointer(block, allowed, at)}"
        for at, block in enumerate(blocks)
        if _wrong(block, allowed)
    )
    return next(wrong, "") or _repeated([b["block_id"] for b in blocks if "block_id" in b])


def _wrong(block: object, allowed: frozenset[str]) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or kind not in allowed:
        return f"unsupported type: {kind}"
    return BLOCKS[kind](block) or _repeated(
        [part["action_id"] for part in parts_of(block) if "action_id" in part]
    )


def _pointer(block: object, allowed: frozenset[str], at: int) -> str:
    """Return where a type stands that is not supported, as Slack says it."""
    kind = block.get("type") if isinstance(block, dict) else None
    return "" if kind in allowed else f" [json-pointer:/blocks/{at}/type]"


def _repeated(ids: Sequence[str]) -> str:
    twice = sorted({one for one in ids if ids.count(one) > 1})
    return f"the ids {twice} are not unique" if twice else ""


def parts_of(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the buttons, menus and fields of a block."""
    found = [*block.get("elements", []), block.get("accessory"), block.get("element")]
    return [part for part in found if part and part["type"] not in {"mrkdwn", "plain_text"}]


def block_text(block: Mapping[str, Any]) -> str:
    """Return what a block shows: its texts, and what is written on its buttons and menus."""
    return "\n".join(_texts(block))


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    for row in block.get("rows", []):
        yield from ("".join(_words(part) for part in _inline_of(cell)) for cell in row)
    if "label" in block:
        yield str(block["label"]["text"])
    if "text" in block:
        yield _words(block["text"])
    yield from (_words(field) for field in block.get("fields", []))
    for part in [*block.get("elements", []), block.get("accessory"), block.get("element")]:
        if part:
            yield from labels_of(part)
    if "hint" in block:
        yield str(block["hint"]["text"])


def _inline_of(cell: Mapping[str, Any]) -> Iterator[object]:
    return (part for section in cell["elements"] for part in section["elements"])


def labels_of(part: Mapping[str, Any]) -> Iterator[str]:
    """Return what is written on a text, a button or a menu."""
    if "text" in part:
        yield _words(part["text"])
    for key in ("positive_button", "negative_button"):
        if key in part:
            yield str(part[key]["text"]["text"])
    groups = [option for group in part.get("option_groups", []) for option in group["options"]]
    yield from (str(option["text"]["text"]) for option in [*part.get("options", []), *groups])
    if part.get("initial_value"):
        yield str(part["initial_value"])


def _words(value: object) -> str:
    return str(value["text"] if isinstance(value, dict) else value)

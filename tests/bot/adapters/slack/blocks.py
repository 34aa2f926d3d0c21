"""What Slack takes of a message or a view, and what a person reads of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.bot.adapters.slack.workspace.elements import element
from tests.bot.adapters.slack.workspace.shapes import (
    Check,
    flag,
    items,
    one_of,
    plain,
    shape,
    string,
    text,
)

MARKDOWN_LIMIT = 12_000
MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
_ALL_TEXT_LIMIT = 13_200
_MENUS = ("static_select", "multi_static_select", "conversations_select")
_BOXES = ("checkboxes", "radio_buttons")
_FIELDS = ("plain_text_input", "number_input")
_MESSAGES_ONLY = frozenset({"markdown", "context_actions"})


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


BLOCKS: dict[str, Check] = {
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
        "context_actions", {"elements": items(element("feedback_buttons", "icon_button"), 5)}
    ),
    "input": _block(
        "input",
        {"label": plain(2000), "element": element(*_FIELDS, *_MENUS, *_BOXES)},
        hint=plain(2000),
        optional=flag,
        dispatch_action=flag,
    ),
    "divider": _block("divider", {}),
    "header": _block("header", {"text": plain(150)}),
}
BLOCK_TYPES = frozenset(BLOCKS)


def refusal(payload: Mapping[str, Any], block_types: frozenset[str]) -> str:
    """Return Slack's reason for refusing a message, "" when it takes it."""
    blocks = payload.get("blocks") or []
    if not (blocks or payload.get("text")):
        return "no_text"
    if wrong_in(blocks, block_types):
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

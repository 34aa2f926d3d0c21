"""Finding a button or field by what is written on it, and what Slack sends of using it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bot.adapters.slack.blocks import labels_of, parts_of
from tests.bot.adapters.slack.workspace.posts import block_id

Block = Mapping[str, Any]
Values = dict[str, dict[str, Any]]
ONE, MANY = ("static_select", "radio_buttons"), ("multi_static_select", "checkboxes")


@dataclass(frozen=True)
class Control:
    """A button, menu or field where it stands; ``side`` is one of a pair of feedback buttons."""

    block: Block
    block_id: str
    part: Mapping[str, Any]
    action_id: str
    side: Mapping[str, Any] | None = None

    def is_named(self, name: str) -> bool:
        label = str((self.block.get("label") or {}).get("text", ""))
        words = [self.side["text"]["text"]] if self.side else list(labels_of(self.part))
        buttons = words if self.side or "text" in self.part else []
        return name in {self.block_id, self.action_id, label, *buttons}

    def action(self, chosen: object, at: str) -> dict[str, Any]:
        """Return the action that Slack sends of using it."""
        kind = self.part["type"]
        place = {"action_id": self.action_id, "block_id": self.block_id, "action_ts": at}
        if self.side:
            return {"type": kind, **place, "value": self.side["value"], "text": self.side["text"]}
        if kind in {"button", "icon_button"}:
            kept = {key: self.part[key] for key in ("text", "value", "url") if key in self.part}
            return {"type": kind, **kept, **place}
        return {**value_of(self.part, chosen), **place}


def controls(blocks: Sequence[Block]) -> Iterator[Control]:
    """Return everything that can be used, in the order in which it stands."""
    for at, block in enumerate(blocks):
        for number, part in enumerate(parts_of(block)):
            action_id = str(part.get("action_id") or f"action{at}.{number}")
            sides = [part.get("positive_button"), part.get("negative_button")]
            for side in sides if part["type"] == "feedback_buttons" else [None]:
                yield Control(block, block_id(block, at), part, action_id, side)


def find(blocks: Sequence[Block], name: str) -> Control:
    """Return the one control of that id or label."""
    every = list(controls(blocks))
    found = [control for control in every if control.is_named(name)]
    there = [(control.action_id, *labels_of(control.part)) for control in every]
    assert len(found) == 1, f"{len(found)} of {name!r} among {there}"
    return found[0]


def initial(blocks: Sequence[Block]) -> Values:
    """Return what is filled in before anybody touched anything."""
    values: Values = {}
    for control in controls(blocks):
        if control.part["type"] in {*ONE, *MANY, *_FREE}:
            given = value_of(control.part, None)
            values.setdefault(control.block_id, {})[control.action_id] = given
    return values


def filled(blocks: Sequence[Block], before: Values, given: Mapping[str, object]) -> Values:
    """Return what a form holds after somebody filled fields in, named by id or label."""
    values: Values = {key: dict(value) for key, value in {**initial(blocks), **before}.items()}
    for name, chosen in given.items():
        control = find(blocks, name)
        value = value_of(control.part, chosen)
        values.setdefault(control.block_id, {})[control.action_id] = value
    return values


def unfilled(blocks: Sequence[Block], values: Values) -> list[str]:
    """Return the labels of fields without which Slack does not send a form."""
    asked = [c for c in controls(blocks) if c.block["type"] == "input"]
    needed = [c for c in asked if not c.block.get("optional")]
    empty = [c for c in needed if not _content(values[c.block_id][c.action_id])]
    return [str(control.block["label"]["text"]) for control in empty]


_FREE = {
    "plain_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
}


def value_of(part: Mapping[str, Any], chosen: object) -> dict[str, Any]:
    """Return a field's value as Slack sends it; None leaves what it begins with."""
    kind = part["type"]
    if kind in ONE:
        first = part.get("initial_option") if chosen is None else _option(part, str(chosen))
        return {"type": kind, "selected_option": first}
    if kind in MANY:
        several = chosen if isinstance(chosen, list | tuple | set | frozenset) else [chosen]
        begun = part.get("initial_options", [])
        options = begun if chosen is None else [_option(part, str(one)) for one in several]
        return {"type": kind, "selected_options": options}
    key, begins = _FREE[kind]
    value = part.get(begins) if chosen is None else str(chosen)
    _check_length(part, value)
    return {"type": kind, key: value}


def _option(part: Mapping[str, Any], name: str) -> dict[str, Any]:
    groups = [option for group in part.get("option_groups", []) for option in group["options"]]
    every = [*part.get("options", []), *groups]
    found = [option for option in every if name in {option["value"], option["text"]["text"]}]
    assert len(found) == 1, f"{name!r} is not offered among {[o['value'] for o in every]}"
    return dict(found[0])


def _check_length(part: Mapping[str, Any], value: str | None) -> None:
    most = part.get("max_length", 3000)
    assert not value or part.get("min_length", 0) <= len(value) <= most, f"{len(value)} characters"


def _content(value: Mapping[str, Any]) -> object:
    return next(item for key, item in value.items() if key != "type")

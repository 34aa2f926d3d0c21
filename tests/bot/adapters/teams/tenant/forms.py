"""Buttons and fields of a card, as somebody uses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.bot.adapters.teams.tenant.cards import Button, Card, buttons, inputs

_UNDER = " > "


def find(shown: Sequence[Card], title: str) -> Button:
    """Return a button by its title; "Reply > Send" is a Send below what Reply unfolds."""
    every = [button for card in shown for button in buttons(card)]
    found = [each for each in every if title in {each.title, _UNDER.join(each.path)}]
    assert found, f"no button {title!r} in {[_UNDER.join(each.path) for each in every]}"
    button = found[0]
    assert button.action.get("isEnabled", True), f"{title!r} cannot be pressed"
    return button


def sent(button: Button, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the button's data with what is in the fields around it."""
    data = dict(button.action.get("data") or {})
    if button.action.get("associatedInputs") == "none":
        return data
    fields = [each for card in button.within for each in inputs(card)]
    return {**data, **filled(fields, given)}


def filled(fields: Iterable[Card], given: Mapping[str, object]) -> dict[str, str]:
    """Return values by field; fields are named by id or label, choices by value or title."""
    left = dict(given)
    values = {str(each["id"]): _value(each, _taken(each, left)) for each in fields}
    assert not left, f"no field {sorted(left)} beside this button"
    return values


def _taken(field: Card, left: dict[str, object]) -> object:
    for name in (field["id"], field.get("label")):
        if name in left:
            return left.pop(name)
    return None


def _value(field: Card, given: object) -> str:
    value = str(field.get("value", "")) if given is None else _typed(field, given)
    named = field.get("label") or field["id"]
    assert value or not field.get("isRequired"), f"Teams asks to fill in {named!r} first"
    most = field.get("maxLength")
    assert most is None or len(value) <= most, f"{named!r} takes {most} characters"
    if field["type"] == "Input.Toggle" and not value:
        return str(field.get("valueOff", "false"))
    return value


def _typed(field: Card, given: object) -> str:
    if field["type"] == "Input.Toggle":
        return str(field.get("valueOn" if given else "valueOff", str(bool(given)).lower()))
    if field["type"] == "Input.ChoiceSet":
        return _chosen(field, given)
    return str(given)


def _chosen(field: Card, given: object) -> str:
    choices = {choice["title"]: choice["value"] for choice in field["choices"]}
    several = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    assert len(several) <= 1 or field.get("isMultiSelect"), f"{field['id']} takes one choice"
    values = [choices.get(each, each) for each in several]
    unknown = set(values) - set(choices.values())
    free = field.get("style") == "filtered" and "choices.data" in field
    assert free or not unknown, f"no choice {unknown} in {choices}"
    return ",".join(values)

"""Find and fill the controls of a card or dialog, and build the payloads that Teams sends of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.fakes.teams import cards
from tests.fakes.teams.cards import Button, Card, buttons, inputs
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.state import Tenant

_PATH_SEPARATOR = " > "


def find_button(shown: Sequence[Card], title: str) -> Button:
    """Return a button by its title; "Reply > Send" is a Send below what Reply unfolds."""
    every = [button for card in shown for button in buttons(card)]
    found = [each for each in every if title in {each.title, _PATH_SEPARATOR.join(each.path)}]
    assert found, f"no button {title!r} in {[_PATH_SEPARATOR.join(each.path) for each in every]}"
    button = found[0]
    assert button.action.get("isEnabled", True), f"{title!r} cannot be pressed"
    return button


def submitted_data(button: Button, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the button's data with what is in the fields around it."""
    data = dict(button.action.get("data") or {})
    if button.action.get("associatedInputs") == "none":
        return data
    fields = [each for card in button.within for each in inputs(card)]
    return {**data, **fill_fields(fields, given)}


def fill_fields(fields: Iterable[Card], given: Mapping[str, object]) -> dict[str, str]:
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


Json = dict[str, Any]


def button_action(shown: Sequence[cards.Card], title: str, inputs: Mapping[str, object]) -> Json:
    """Return the action of a button, Action.Execute or Action.Submit, with the fields around it."""
    button = find_button(shown, title)
    assert button.action["type"] in {"Action.Execute", "Action.Submit"}, f"{title!r} sends nothing"
    return {**button.action, "data": submitted_data(button, inputs)}


def execute_value(action: Mapping[str, Any], trigger: str = "manual") -> Json:
    """Return the value of adaptiveCard/action."""
    return {"action": {"id": str(uuid4()), **action}, "trigger": trigger}


def task_value(data: Json) -> Json:
    """Return the value of task/fetch and task/submit."""
    return {"data": data, "context": {"theme": "default"}}


def feedback_value(post: Sent, reaction: str, text: str, *, plain: bool) -> Json:
    """Return the value of message/submitAction, below what asks for it."""
    told = post.activity.get("channelData") or {}
    asked = told.get("feedbackLoop") or told.get("feedbackLoopEnabled")
    assert asked, "there are no thumbs below this message"
    words = text if plain else json.dumps({"feedbackText": text})
    action = {"reaction": reaction, "feedback": words}
    return {"actionName": "feedback", "actionValue": action}


def refresh_action_of(shown: Sequence[cards.Card], user: str) -> Json | None:
    """Return what a card that refreshes itself asks for when somebody looks at it."""
    for card in shown:
        refresh = card.get("refresh") or {}
        users = refresh.get("userIds")
        if refresh.get("action") and (users is None or user in users):
            return dict(refresh["action"])
    return None


def show_answer(teams: Tenant, person: str, post: Sent, answer: Mapping[str, Any]) -> str:
    """Show somebody the card of an answer instead; return words that they are told."""
    shown = answer.get("value")
    if answer.get("type") != cards.CARD_TYPE:
        return str(shown.get("message") if isinstance(shown, dict) else shown or "")
    assert isinstance(shown, dict), answer
    cards.check_card(shown)
    teams.views[person, post.id] = shown
    return ""


@dataclass
class Dialog:
    """A window over Teams: a card, or only words. ``over`` is the message it was opened from."""

    over: Sent
    title: str = ""
    words: str = ""
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """What a person reads."""
        read = [self.title, self.words, cards.words(self.card)]
        return "\n".join(part for part in read if part)

    @property
    def labels(self) -> list[str]:
        """What is written on its buttons, in order."""
        return cards.labels(self.card)


def dialog_of(over: Sent, answer: Mapping[str, Any]) -> Dialog | None:
    """Return what an answer shows; None for one that closes the dialog."""
    task = answer.get("task")
    if not task:
        return None
    if task["type"] == "message":
        return Dialog(over, words=str(task["value"]))
    assert task["type"] == "continue", task
    shown = task["value"]
    card = shown["card"]
    assert card["contentType"] == cards.CARD_TYPE, card
    cards.check_card(card["content"])
    return Dialog(over, title=shown["title"], card=card["content"])

"""Adaptive Cards as people read and use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Card = Mapping[str, Any]
CARD_TYPE = "application/vnd.microsoft.card.adaptive"

_WORDS = ("text", "title", "value", "codeSnippet", "label", "placeholder", "altText")
_UNSEEN = ("data", "msteams", "refresh", "fallback", "url", "id", "verb")


@dataclass(frozen=True)
class Button:
    """A button, the cards around it and the titles that lead to it: the outermost first."""

    action: Card
    within: Sequence[Card]
    path: Sequence[str]

    @property
    def title(self) -> str:
        return self.path[-1]


def attached(activity: Mapping[str, Any]) -> Sequence[Card]:
    """Return the Adaptive Cards of an activity."""
    hung = activity.get("attachments") or []
    return [each["content"] for each in hung if each.get("contentType") == CARD_TYPE]


def words(card: Card) -> str:
    """Return what can be read on a card, also what a button unfolds."""
    return "\n".join(_words(card))


def labels(card: Card) -> list[str]:
    """Return what is written on the buttons, in order."""
    return [button.title for button in buttons(card)]


def buttons(card: Card) -> list[Button]:
    """Return the buttons of a card and of what they unfold, in order."""
    return list(_buttons(card, (card,), ()))


def inputs(card: Card) -> list[Card]:
    """Return the fields of a card, without those of what its buttons unfold."""
    return [each for each in elements(card) if str(each.get("type", "")).startswith("Input.")]


def elements(part: Any) -> Iterator[Card]:  # noqa: ANN401  # any JSON
    """Yield every object of a card that has a type, but not into other cards."""
    if isinstance(part, list):
        for each in part:
            yield from elements(each)
    if not isinstance(part, Mapping):
        return
    if "type" in part:
        yield part
    for key, value in part.items():
        if key not in (*_UNSEEN, "card"):
            yield from elements(value)


def _buttons(card: Card, within: Sequence[Card], path: Sequence[str]) -> Iterator[Button]:
    for element in elements(card):
        if not str(element.get("type", "")).startswith("Action."):
            continue
        here = (*path, str(element.get("title", "")))
        yield Button(element, within, here)
        unfolded = element.get("card")
        if unfolded:
            yield from _buttons(unfolded, (*within, unfolded), here)


def _words(part: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    if isinstance(part, list):
        for each in part:
            yield from _words(each)
    if not isinstance(part, Mapping) or part.get("isVisible") is False:
        return
    for key, value in part.items():
        if isinstance(value, str) and key in _WORDS:
            yield value
        elif key not in _UNSEEN:
            yield from _words(value)

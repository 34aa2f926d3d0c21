"""Check Adaptive Cards against what Teams shows of them, and read them as a person does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def paragraphs(activity: Mapping[str, Any]) -> str:
    """Return the paragraphs of a card that is a whole answer, as older clients are told of it."""
    whole = [card for card in attached(activity) if card.get("fallbackText")]
    written = ("TextBlock", "Container")
    return "\n\n".join(
        "\n".join(_words(each))
        for card in whole
        for each in card["body"]
        if each["type"] in written
    )


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
    if part.get("style") == "emphasis" and "items" in part:
        yield from (f"> {said}" for said in _words(part["items"]))
        return
    for key, value in part.items():
        if isinstance(value, str) and key in _WORDS:
            yield value
        elif key not in _UNSEEN:
            yield from _words(value)


NEWEST = (1, 5)
_ELEMENTS = frozenset(
    "ActionSet AdaptiveCard CodeBlock Column ColumnSet Container FactSet Image ImageSet Media "
    "RichTextBlock Table TableCell TableColumnDefinition TableRow TextBlock TextRun Data.Query "
    "Input.ChoiceSet Input.Date Input.Number Input.Text Input.Time Input.Toggle".split()
)
_ACTIONS = frozenset(
    "Action.Execute Action.OpenUrl Action.ShowCard Action.Submit Action.ToggleVisibility".split()
)
_LANGUAGES = frozenset(
    "bash c cpp csharp css dos go graphql html java javascript json objectivec perl php plaintext "
    "powershell python sql typescript vbnet verilog vhdl xml".split()
)


def check_card(card: Card) -> None:
    """Fail for a card that Teams does not show, or whose buttons do nothing."""
    wrong = card_problems(card)
    assert not wrong, f"Teams does not show this card: {'; '.join(wrong)}"


def card_problems(card: Card) -> list[str]:
    """Return why Teams would not show a card, nothing when it does."""
    return [*_problems_of_cards(card), *_problems_of_parts(card), *_problems_of_ids(card)]


def _every_card(card: Card) -> list[Card]:
    unfolded = [button.action["card"] for button in buttons(card) if button.action.get("card")]
    return [card, *unfolded]


def _problems_of_cards(card: Card) -> Iterator[str]:
    for each in _every_card(card):
        if each.get("type") != "AdaptiveCard":
            yield f"{each.get('type')!r} is no card"
        version = str(each.get("version", card.get("version", "")))
        if not _is_shown(version):
            yield f"version {version!r} is not shown everywhere"
        if not isinstance(each.get("body", []), list):
            yield "the body is no list"


def _is_shown(version: str) -> bool:
    major, dot, minor = version.partition(".")
    numbers = dot and major.isdigit() and minor.isdigit()
    return bool(numbers) and (1, 0) <= (int(major), int(minor)) <= NEWEST


def _problems_of_parts(card: Card) -> Iterator[str]:
    for each in _every_card(card):
        for part in elements(each):
            kind = str(part["type"])
            if kind not in _ELEMENTS | _ACTIONS:
                yield f"{kind} is not known"
            rule = _RULES.get("Input" if kind.startswith("Input.") else kind)
            if rule and not rule(part):
                yield f"{kind} is incomplete: {dict(part)!r:.200}"


def _problems_of_ids(card: Card) -> Iterator[str]:
    fields = [field for each in _every_card(card) for field in inputs(each)]
    counted = Counter(str(field.get("id")) for field in fields)
    for name, count in counted.items():
        if count > 1:
            yield f"{count} fields are called {name!r}"


def _has_text(*keys: str) -> Callable[[Card], bool]:
    return lambda part: all(isinstance(part.get(key), str) for key in keys)


def _is_table(part: Card) -> bool:
    columns, rows = part.get("columns") or [], part.get("rows") or []
    cells = [row.get("cells") or [] for row in rows]
    widths = [column.get("width", 1) for column in columns]
    return (
        bool(columns)
        and all(row.get("type") == "TableRow" for row in rows)
        and all(len(row) <= len(columns) for row in cells)
        and all(
            cell.get("type") == "TableCell" and "items" in cell for row in cells for cell in row
        )
        and all(isinstance(w, int) or str(w).endswith("px") for w in widths)
    )


def _is_code(part: Card) -> bool:
    language = str(part.get("language", "PlainText")).lower()
    return isinstance(part.get("codeSnippet"), str) and language in _LANGUAGES


def _is_choice(part: Mapping[str, Any]) -> bool:
    choices = part.get("choices") or []
    return all(_has_text("title", "value")(choice) for choice in choices)


def _is_field(part: Card) -> bool:
    named = bool(part.get("id")) and _has_text("id")(part)
    return named and (part["type"] != "Input.ChoiceSet" or _is_choice(part))


def _is_execute(part: Card) -> bool:
    return bool(part.get("verb")) and _has_text("title", "verb")(part)


def _is_link(part: Card) -> bool:
    return str(part.get("url", "")).startswith(("https://", "http://", "mailto:", "tel:"))


def _is_image(part: Card) -> bool:
    return str(part.get("url", "")).startswith(("https://", "data:image/"))


def _unfolds(part: Card) -> bool:
    return _has_text("title")(part) and isinstance(part.get("card"), Mapping)


def _is_facts(part: Card) -> bool:
    return all(_has_text("title", "value")(fact) for fact in part.get("facts") or [{}])


_RULES: Mapping[str, Callable[[Card], bool]] = {
    "Action.Execute": _is_execute,
    "Action.OpenUrl": _is_link,
    "Action.ShowCard": _unfolds,
    "Action.Submit": _has_text("title"),
    "CodeBlock": _is_code,
    "FactSet": _is_facts,
    "Image": _is_image,
    "Input": _is_field,
    "Table": _is_table,
    "TextBlock": _has_text("text"),
    "TextRun": _has_text("text"),
}

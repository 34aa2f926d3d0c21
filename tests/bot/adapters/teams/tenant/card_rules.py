"""What Teams shows of Adaptive Cards: version 1.5, and CodeBlock which is its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.bot.adapters.teams.tenant.cards import Card, buttons, elements, inputs

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


def check(card: Card) -> None:
    """Fail for a card that Teams does not show, or whose buttons do nothing."""
    wrong = problems(card)
    assert not wrong, f"Teams does not show this card: {'; '.join(wrong)}"


def problems(card: Card) -> list[str]:
    """Return why Teams would not show a card, nothing when it does."""
    return [*_of_cards(card), *_of_parts(card), *_of_ids(card)]


def _every_card(card: Card) -> list[Card]:
    unfolded = [button.action["card"] for button in buttons(card) if button.action.get("card")]
    return [card, *unfolded]


def _of_cards(card: Card) -> Iterator[str]:
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


def _of_parts(card: Card) -> Iterator[str]:
    for each in _every_card(card):
        for part in elements(each):
            kind = str(part["type"])
            if kind not in _ELEMENTS | _ACTIONS:
                yield f"{kind} is not known"
            rule = _RULES.get("Input" if kind.startswith("Input.") else kind)
            if rule and not rule(part):
                yield f"{kind} is incomplete: {dict(part)!r:.200}"


def _of_ids(card: Card) -> Iterator[str]:
    fields = [field for each in _every_card(card) for field in inputs(each)]
    counted = Counter(str(field.get("id")) for field in fields)
    for name, count in counted.items():
        if count > 1:
            yield f"{count} fields are called {name!r}"


def _has(*keys: str) -> Callable[[Card], bool]:
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
    return all(_has("title", "value")(choice) for choice in choices)


def _is_field(part: Card) -> bool:
    named = bool(part.get("id")) and _has("id")(part)
    return named and (part["type"] != "Input.ChoiceSet" or _is_choice(part))


def _is_execute(part: Card) -> bool:
    return bool(part.get("verb")) and _has("title", "verb")(part)


def _is_link(part: Card) -> bool:
    return str(part.get("url", "")).startswith(("https://", "http://", "mailto:", "tel:"))


def _is_image(part: Card) -> bool:
    return str(part.get("url", "")).startswith(("https://", "data:image/"))


def _unfolds(part: Card) -> bool:
    return _has("title")(part) and isinstance(part.get("card"), Mapping)


def _is_facts(part: Card) -> bool:
    return all(_has("title", "value")(fact) for fact in part.get("facts") or [{}])


_RULES: Mapping[str, Callable[[Card], bool]] = {
    "Action.Execute": _is_execute,
    "Action.OpenUrl": _is_link,
    "Action.ShowCard": _unfolds,
    "Action.Submit": _has("title"),
    "CodeBlock": _is_code,
    "FactSet": _is_facts,
    "Image": _is_image,
    "Input": _is_field,
    "Table": _is_table,
    "TextBlock": _has("text"),
    "TextRun": _has("text"),
}

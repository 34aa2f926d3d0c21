"""Which cards Teams shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.card_rules import check, problems
from tests.bot.adapters.teams.tenant.rest import Rest

Json = dict[str, Any]
FIELD = {"type": "Input.Text", "id": "words", "label": "Words"}


def card(*body: Json, actions: tuple[Json, ...] = (), version: str = "1.5") -> Json:
    return {
        "type": "AdaptiveCard",
        "version": version,
        "body": list(body),
        "actions": list(actions),
    }


def table(**changes: object) -> Json:
    cell = {"type": "TableCell", "items": [{"type": "TextBlock", "text": "a"}]}
    row = {"type": "TableRow", "cells": [cell, cell]}
    return {"type": "Table", "columns": [{"width": 1}, {"width": 2}], "rows": [row], **changes}


def unfolds(*body: Json) -> Json:
    return {"type": "Action.ShowCard", "title": "More", "card": card(*body)}


def column(item: Json) -> Json:
    return {"type": "ColumnSet", "columns": [{"type": "Column", "items": [item]}]}


SHOWN = [
    card({"type": "TextBlock", "text": "a"}, version="1.4"),
    card(table()),
    card({"type": "CodeBlock", "codeSnippet": "ls", "language": "Bash"}),
    card(FIELD, actions=({"type": "Action.Execute", "title": "Go", "verb": "go"},)),
    card(actions=(unfolds(FIELD),)),
    card({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "a"}, "b"]}),
    card({"type": "FactSet", "facts": [{"title": "a", "value": "b"}]}),
    card(
        {
            "type": "Input.ChoiceSet",
            "id": "which",
            "choices": [{"title": "a", "value": "b"}],
            "choices.data": {"type": "Data.Query", "dataset": "graph.microsoft.com/users"},
        }
    ),
]
NOT_SHOWN = [
    ({"type": "Card"}, "no card"),
    (card(version="1.6"), "version '1.6'"),
    (card(version="2.0"), "version"),
    (card(version=""), "version"),
    (card({"type": "Rating"}), "Rating is not known"),
    (card({"type": "TextBlock"}), "TextBlock"),
    (card(column({"type": "Chart.Pie"})), "Chart.Pie"),
    (card({"type": "Container", "items": [{"type": "Textblock", "text": "x"}]}), "Textblock"),
    (card({"type": "CodeBlock", "codeSnippet": "x", "language": "Brainfuck"}), "CodeBlock"),
    (card({"type": "CodeBlock", "text": "x"}), "CodeBlock"),
    (card(table(columns=[{"width": 1}])), "Table"),
    (card(table(rows=[{"cells": []}])), "Table"),
    (card({"type": "Image", "url": "http://example.com/a.png"}), "Image"),
    (card({"type": "Input.Text", "label": "x"}), "Input.Text"),
    (card({"type": "Input.ChoiceSet", "id": "x", "choices": [{"title": "a"}]}), "ChoiceSet"),
    (card(FIELD, FIELD), "2 fields are called 'words'"),
    (card(FIELD, actions=(unfolds(FIELD),)), "2 fields are called 'words'"),
    (card(actions=({"type": "Action.Execute", "title": "Go"},)), "Action.Execute"),
    (card(actions=({"type": "Action.Http", "title": "Go"},)), "Action.Http"),
    (card(actions=({"type": "Action.OpenUrl", "title": "Go", "url": "javascript:x"},)), "OpenUrl"),
    (card(actions=(unfolds({"type": "Rating"}),)), "Rating"),
]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_what_teams_shows_is_taken(shown: Json) -> None:
    check(shown)


@pytest.mark.parametrize(("wrong", "why"), NOT_SHOWN, ids=str)
def test_what_teams_does_not_show_is_named(wrong: Json, why: str) -> None:
    assert why in "; ".join(problems(wrong))
    with pytest.raises(AssertionError, match="does not show"):
        check(wrong)


async def test_a_message_with_a_card_that_is_not_shown_is_refused(
    teams: FakeTeams, rest: Rest
) -> None:
    kind = "application/vnd.microsoft.card.adaptive"
    hung = [{"contentType": kind, "content": card({"type": "Rating"})}]
    told = await rest.post(names.HELP, {"type": "message", "attachments": hung})
    assert told.status == 400
    assert "Rating" in told.body["error"]["message"]
    assert not teams.messages

"""Tests that the notes of a trace are read in the reader's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.answering.explanations.notes import LIMITS, NOTES, note_text
from bot.domain.texts import Text, load_catalogue

BOT = Path(__file__).parents[4] / "bot"
GERMAN = load_catalogue("de").default


def sources() -> Iterator[ast.Module]:
    for path in sorted(BOT.rglob("*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def written_notes() -> Iterator[str]:
    """Yield the notes without values that the sources put into a trace."""
    for tree in sources():
        constants = {
            ast.unparse(node.targets[0]): node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
        }
        for node in ast.walk(tree):
            for given in _given(node):
                found = constants.get(ast.unparse(given), given)
                if isinstance(found, ast.Constant) and isinstance(found.value, str):
                    yield found.value


def _given(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "trace_with_note":
        yield node.args[1]
    if isinstance(node, ast.keyword) and node.arg == "notes" and isinstance(node.value, ast.Tuple):
        yield from node.value.elts


def refusals() -> Iterator[str]:
    """Yield the names of why messages are refused."""
    for tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Refusal":
                named = node.args[1] if len(node.args) > 1 else None
                if isinstance(named, ast.Constant):
                    yield str(named.value)


@pytest.mark.parametrize("note", sorted({*written_notes()}))
def test_each_note_that_is_written_has_a_text(note: str) -> None:
    assert isinstance(note_text(note), Text)
    assert GERMAN.text(note_text(note)) != note


@pytest.mark.parametrize("name", sorted({*refusals(), *LIMITS}))
def test_each_refusal_has_a_text(name: str) -> None:
    assert isinstance(note_text(f"limit:{name}"), Text)


def test_the_notes_of_all_rooms_are_found() -> None:
    assert {"the index did not answer", "the spelling of the question was corrected"} <= {
        *written_notes()
    }
    assert {"asked_already", "queue_full", "outsiders"} <= {*refusals()}
    assert {*written_notes()} <= {*NOTES}


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("the model failed (model_unavailable): answered without one", "model_unavailable"),
        ("pages that failed the last check were left out: 2", "2"),
        ("standard answer: answer-7.md", "answer-7.md"),
        (
            "people from outside ask or read along: answered from the spaces open to them, HELP",
            "HELP",
        ),
    ],
)
def test_a_note_keeps_its_value(note: str, kept: str) -> None:
    told = note_text(note)
    assert isinstance(told, Text)
    assert kept in GERMAN.text(told)
    assert GERMAN.text(told) != told


def test_a_note_of_another_version_stays_as_it_is() -> None:
    assert note_text("it rained") == "it rained"
    assert note_text("limit:none") == "limit:none"

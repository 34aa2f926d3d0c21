"""Tests of the catalogue: each language is whole, current, and asks for the same values."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TypeGuard

import pytest
from babel.messages.catalog import Catalog, Message

from bot.domain.texts import FOLDER, placeholders, shipped_tags
from tests.structure.texts import ROOT, compiled, extracted, forms, read_language, untranslated

FILES = sorted(FOLDER.glob("*.po"))
CURE = "run `make texts`, and translate what is new"


@pytest.fixture(scope="module")
def found() -> Catalog:
    return extracted()


def test_english_and_german_are_shipped() -> None:
    assert {"de", "en"} <= set(shipped_tags()) == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_language_has_the_texts_of_the_sources(path: Path, found: Catalog) -> None:
    ids = {each.id for each in read_language(path)}
    assert ids == {each.id for each in found}, CURE


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_language_is_compiled(path: Path) -> None:
    assert path.with_suffix(".mo").read_bytes() == compiled(read_language(path)), CURE


@pytest.mark.parametrize(
    "path", [each for each in FILES if each.stem != "en"], ids=lambda path: path.stem
)
def test_no_text_is_untranslated(path: Path) -> None:
    assert not untranslated(read_language(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_translation_has_the_placeholders_of_its_text(path: Path) -> None:
    wrong = [each.id for each in read_language(path) if each.id and not _agree(each)]
    assert not wrong


def test_what_is_refused_to_people_is_in_the_catalogue() -> None:
    assert not [each for path in sorted((ROOT / "bot").rglob("*.py")) for each in _plain(path)]


def _plain(path: Path) -> list[str]:
    """Return where a file refuses an act in plain English."""
    calls = [each for each in ast.walk(ast.parse(path.read_text("utf-8"))) if _refuses(each)]
    return [f"{path.name}:{each.lineno}" for each in calls if _is_plain(each.args[-1])]


def _refuses(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {"ActRefused", "CsvProblem"}


def _is_plain(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant | ast.JoinedStr)


def _agree(message: Message) -> bool:
    """Return whether all forms have the same placeholders; a singular may leave out the number."""
    asked = frozenset[str]().union(*map(placeholders, forms(message.id)))
    given = [placeholders(each) for each in forms(message.string) if each]
    return all(asked - {"n"} <= names <= asked for names in given)

"""Tests that what ingestion says to people has a text in the catalogue."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.texts import Text, load_catalogue
from bot.domain.texts.ingestion_texts import ingestion_text
from ingestion.records.types import Failure
from ingestion.runs.tracking import failure_of

ROOT = Path(__file__).parents[4]
REFUSALS = frozenset(
    {
        "DocumentInTheWay",
        "DocumentRefused",
        "DocumentUnknown",
        "LeaseLost",
        "PublishingRefused",
        "RunInProgress",
    }
)
FILES = ("ingestion/documents", "ingestion/folder.py", "ingestion/text.py", "ingestion/confluence")
PLAIN_CALLS = frozenset({"join", "repr", "shortened", "str"})
PASSED_ON = frozenset({"error", "why", "reason", "trouble", "what"})
WIKI_ERRORS = frozenset(
    {"EndpointGone", "NotVisible", "TryAgain", "WikiRefused", "WikiUnavailable"}
)


def said_by(names: frozenset[str], within: str) -> Iterator[str]:
    """Yield the sentences given to calls of these names, with 'x' for each value."""
    top = ROOT / within
    for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                given = node.args[-1] if node.args and node.func.id in names else None
                if isinstance(given, ast.Constant | ast.JoinedStr) and not _is_passed_on(given):
                    yield "".join(map(_words, _parts(given)))


def _parts(given: ast.Constant | ast.JoinedStr) -> list[ast.expr]:
    return given.values if isinstance(given, ast.JoinedStr) else [given]


def _words(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "'x'"


def _is_passed_on(given: ast.expr) -> bool:
    """Return whether a sentence is made of another one, such as a converter's reason."""
    found = [each.value for each in ast.walk(given) if isinstance(each, ast.FormattedValue)]
    names = {each.id for each in found if isinstance(each, ast.Name)}
    return bool(
        names & {"error", "why", "reason", "trouble", "what"}
    ) or "str(error)" in ast.unparse(given)


@pytest.mark.parametrize("sentence", sorted({*said_by(REFUSALS, "ingestion")}))
def test_each_refusal_of_ingestion_is_in_the_catalogue(sentence: str) -> None:
    assert isinstance(ingestion_text(sentence), Text)


@pytest.mark.parametrize(
    "reason",
    sorted({each for within in FILES for each in said_by(frozenset({"PageUnreadable"}), within)}),
)
def test_each_problem_of_a_page_is_in_the_catalogue(reason: str) -> None:
    failure = failure_of("HR", "page", reason)
    assert isinstance(ingestion_text(failure.reason), Text)
    assert isinstance(ingestion_text(failure.cure), Text)


@pytest.mark.parametrize("sentence", sorted({*said_by(WIKI_ERRORS, "ingestion/confluence/client")}))
def test_each_error_of_confluence_is_in_the_catalogue(sentence: str) -> None:
    assert isinstance(ingestion_text(sentence), Text)


def test_a_problem_is_read_in_german_with_its_cure() -> None:
    failure: Failure = failure_of("HR", "a.pdf", "is encrypted; save it without a password")
    german = load_catalogue("de").default
    told = [german.text(ingestion_text(each)) for each in (failure.reason, failure.cure)]
    assert told == ["ist verschlüsselt", "Speichern Sie die Datei ohne Passwort."]


def test_a_refused_file_keeps_its_name() -> None:
    told = ingestion_text("'It is empty.txt' is empty; upload a document with text.")
    assert isinstance(told, Text)
    assert told == "'It is empty.txt' is empty; upload a document with text."


def test_what_people_wrote_is_no_sentence_of_ingestion() -> None:
    named = "There is no run 7"
    told = ingestion_text(f"There is no readable page at {named}.")
    assert named in load_catalogue("de").default.text(told)


def test_a_text_of_any_length_is_read_or_left_as_it_is() -> None:
    nested = "cannot be read: " * 1000
    assert ingestion_text(nested) == nested
    assert ingestion_text(nested[:1000]) == nested[:1000]


def test_counts_are_written_with_the_signs_of_the_language() -> None:
    line = "Embedding took 12,345 tokens in 2 requests, less than $0.01."
    assert "12.345" in load_catalogue("de").default.text(ingestion_text(line))


def test_what_is_not_known_stays_as_it_is() -> None:
    assert ingestion_text("Something new broke.") == "Something new broke."
    assert not isinstance(ingestion_text("Something new broke."), Text)

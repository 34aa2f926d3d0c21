"""Settings of Confluence become sources and rules, and the documentation lists each of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingestion.config import Settings
from ingestion.confluence.assembly import confluence_sources
from ingestion.confluence.people_file import parse_people
from ingestion.confluence.permissions import Selection, rules_of
from ingestion.confluence.wiki import PageHead, Subjects, WikiSpace
from ingestion.errors import SettingInvalid

SITE = {"confluence_url": "https://acme.atlassian.net/wiki", "confluence_token": "t"}


def settings(**given: object) -> Settings:
    return Settings(_env_file=None, **given)  # type: ignore[arg-type]


def test_without_settings_there_is_no_confluence() -> None:
    assert confluence_sources(settings()) is None


async def test_with_settings_there_is_one_that_asks_nothing_yet() -> None:
    known = confluence_sources(settings(**SITE, confluence_spaces="IT,HR"))

    assert known is not None
    assert (await known.source("IT")).space == "IT"
    await known.close()


def test_wrong_settings_are_refused_before_anything_is_opened() -> None:
    with pytest.raises(SettingInvalid, match="CONFLUENCE_SPACE_READERS"):
        confluence_sources(settings(**SITE, confluence_space_readers="IT"))


def test_the_rules_are_what_the_settings_say() -> None:
    rules = rules_of(
        settings(
            confluence_labels="a,b",
            confluence_oldest_days=30,
            confluence_attachments=False,
            confluence_everyone_groups="all staff",
            confluence_space_readers="IT=everyone",
        )
    )

    assert rules.selection.labels == {"a", "b"}
    assert rules.selection.oldest == timedelta(days=30)
    assert rules.largest == 0
    assert rules.everyone_groups == ("all staff",)
    assert rules.space_readers == {"IT": Subjects(anyone=True)}


NOW = datetime(2026, 11, 23, tzinfo=UTC)
PAGE = PageHead("9", "page", "VPN", "IT", "5", 1, NOW - timedelta(days=30), "https://x")
IT = WikiSpace("1", "IT", "It", "https://x")


def why(selection: Selection, *, labels: tuple[str, ...] = (), head: PageHead = PAGE) -> str:
    return selection.page(head, labels=labels, chain=("1", "5"), now=NOW)


def test_without_settings_all_but_archived_and_personal_spaces_are_read() -> None:
    every = Selection()

    assert every.space(IT) == ""
    assert "archived" in every.space(replace(IT, archived=True))
    assert "personal" in every.space(replace(IT, key="~ann"))
    assert why(every) == ""


def test_a_personal_space_is_read_when_it_is_named() -> None:
    assert Selection(spaces=frozenset({"~ann"})).space(replace(IT, key="~ann")) == ""


def test_spaces_are_taken_and_left_out_by_key() -> None:
    assert Selection(spaces=frozenset({"IT"})).space(IT) == ""
    assert "CONFLUENCE_SPACES" in Selection(spaces=frozenset({"HR"})).space(IT)
    both = Selection(spaces=frozenset({"IT"}), skip_spaces=frozenset({"IT"}))
    assert "CONFLUENCE_SKIP_SPACES" in both.space(IT)


def test_pages_are_taken_and_left_out_by_label() -> None:
    assert why(Selection(labels=frozenset({"public"})), labels=("public", "x")) == ""
    assert "CONFLUENCE_LABELS" in why(Selection(labels=frozenset({"public"})), labels=("x",))
    assert "'x'" in why(Selection(skip_labels=frozenset({"x"})), labels=("x",))


def test_pages_are_taken_and_left_out_with_what_is_below() -> None:
    for place in ("1", "5", "9"):
        assert why(Selection(ancestors=frozenset({place}))) == ""
        assert "CONFLUENCE_SKIP_ANCESTORS" in why(Selection(skip_ancestors=frozenset({place})))
    assert "CONFLUENCE_ANCESTORS" in why(Selection(ancestors=frozenset({"7"})))


def test_pages_are_left_out_by_age() -> None:
    assert why(Selection(oldest=timedelta(days=30))) == ""
    assert "29 days" in why(Selection(oldest=timedelta(days=29)))


ROOT = Path(__file__).parents[4]
PAGES = ("docs/confluence.md", "docs/confluence-sync.md")
TEXT = "\n".join((ROOT / page).read_text() for page in PAGES)
BLANK = "…"
SHORTEST = 4
"""A part of a message that is shorter says too little to be looked for."""


def said(path: Path) -> Iterator[str]:
    """Yield the texts of a module, with a blank for each value that is put in."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = (
                str(each.value) if isinstance(each, ast.Constant) else BLANK for each in node.values
            )
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


ALL_SAID = "\n".join(
    text for path in sorted((ROOT / "ingestion").rglob("*.py")) for text in said(path)
)


def quoted() -> Iterator[str]:
    """Yield the messages of the tables about what goes wrong and what holds back."""
    for section in ("## Brakes", "## What goes wrong"):
        rows = TEXT.partition(section)[2].partition("\n## ")[0].splitlines()
        for row in rows:
            if row.startswith("| `"):
                yield from re.findall(r"`([^`]+)`", row.split(" | ")[0])


@pytest.mark.parametrize("message", sorted(set(quoted())))
def test_a_message_is_said_as_it_is_told(message: str) -> None:
    parts = [part.strip(" :()") for part in re.split(r"…|\b\d{3}\b", message)]

    missing = [part for part in parts if len(part) >= SHORTEST and part not in ALL_SAID]

    assert missing == []


def test_every_setting_that_is_told_is_there() -> None:
    there = {name.upper() for name in Settings.model_fields}

    assert set(re.findall(r"\bCONFLUENCE_[A-Z_]+[A-Z]\b", TEXT)) <= there


def test_the_example_of_a_directory_can_be_read() -> None:
    (example,) = re.findall(r"```csv\n(.*?)```", TEXT, re.DOTALL)

    assert len(parse_people(example.encode())) == 2


@pytest.mark.mended(id="confluence-5")
def test_the_first_settings_say_who_is_whom() -> None:
    (settings,) = re.findall(r"```dotenv\n(.*?)```", TEXT, re.DOTALL)

    assert re.search(r"^CONFLUENCE_DIRECTORY=.+", settings, re.MULTILINE)

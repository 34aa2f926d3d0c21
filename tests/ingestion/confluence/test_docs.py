"""docs/confluence.md tells what there is: every setting, and messages as they are said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingestion.config import Settings
from ingestion.confluence.directory.people_file import parse_people

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/confluence.md").read_text()
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

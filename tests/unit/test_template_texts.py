"""A test that templates say no text outside of the catalogue."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.structure.texts import ROOT, sources

ENGLISH = frozenset({"reference"})
"""Templates of English pages, such as the reference of the API."""

NAMES = frozenset({"Frontdesk", "HANDBOOK", "slack:C0123", "name@example.com"})
SHOWN = frozenset({"aria-label", "title", "placeholder", "alt"})
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
WORD = re.compile(r"[A-Za-z]{2,}")
TEMPLATES = [path for path in sources() if path.suffix == ".html" and path.stem not in ENGLISH]


class Shown(HTMLParser):
    """Collects the text and the shown attributes of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value or "" for name, value in attrs if name in SHOWN]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_template_has_no_text_outside_of_the_catalogue(path: Path) -> None:
    page = Shown()
    page.feed(JINJA.sub(" ", path.read_text(encoding="utf-8")))
    bare = {text.strip(" \n·:,.()") for text in page.texts} - NAMES
    assert not {text for text in bare if WORD.search(text)}

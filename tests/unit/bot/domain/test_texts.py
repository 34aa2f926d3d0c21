"""Tests of texts and the languages that they are shown in."""

from __future__ import annotations

import gettext

import pytest

from bot.domain.texts import (
    DEFAULT,
    Catalogue,
    Language,
    join_texts,
    load_catalogue,
    tr,
    trn,
)


class Shouting(gettext.NullTranslations):
    """A language of capitals; numbers are written as in German."""

    def gettext(self, message: str) -> str:
        return "1.000,5" if message == "1,000.5" else message.replace("Page", "SEITE")

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return msgid1.replace("page", "SEITE") if n == 1 else msgid2.replace("pages", "SEITEN")


LOUD = Language("xx", Shouting())


def test_a_text_is_english_as_it_stands() -> None:
    assert tr("Page of {name}", name="Ana") == "Page of Ana"


def test_a_text_is_rendered_late_in_another_language() -> None:
    assert LOUD.text(tr("Page of {name}", name="Page")) == "SEITE of Page"


def test_a_number_is_written_as_the_language_writes_it() -> None:
    assert trn("{n} page", "{n} pages", 1200) == "1,200 pages"
    assert LOUD.text(trn("{n} page", "{n} pages", 1200)) == "1.200 SEITEN"


def test_a_text_within_a_text_is_in_the_same_language() -> None:
    outer = tr("Page with {count}", count=trn("{n} page", "{n} pages", 1))
    assert LOUD.text(join_texts(" · ", ("Page", outer))) == "Page · SEITE with 1 SEITE"


def test_braces_of_a_value_are_no_placeholders() -> None:
    assert tr("Page of {name}", name="{name!r} {0}") == "Page of {name!r} {0}"


def test_a_plain_str_is_data_and_stays_as_it_is() -> None:
    assert LOUD.text("Page") == "Page"


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr, de;q=0.4, en;q=0.3", "de"),
        ("de;q=0.2, en", "en"),
        ("de;q=0, fr", "en"),
        ("fr;q=nonsense", "en"),
        ("", "en"),
    ],
)
def test_the_best_language_that_a_browser_accepts(header: str, tag: str) -> None:
    assert load_catalogue().accepted(header).tag == tag


def test_who_accepts_none_gets_the_default() -> None:
    catalogue = Catalogue([LOUD], "xx")
    assert catalogue.accepted("fr").tag == "xx"
    assert catalogue.accepted("en").tag == DEFAULT

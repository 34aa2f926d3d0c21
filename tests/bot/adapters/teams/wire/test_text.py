"""What is text stays text: in a message, and in a card, which reads another Markdown."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.text.markdown import disarm, plain_code
from bot.platforms.teams.rendering.text import (
    card_plain,
    card_text,
    teams_label,
    teams_markdown,
    teams_plain,
)

_PIECES = "[ ] ( ) ! a - https://e.example e.example <at> </at> <img ` `` \\ : ** _ | {{ DATE( }} #"
HOSTILE = st.lists(st.sampled_from([*_PIECES.split(), " ", "\n"]), max_size=25).map("".join)
_LIVE_IN_CARD = re.compile(r"\]\(|://|<|[a-z]\.[a-z]{2}|\{\{")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Steps ##", "**Steps**"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ("| a | b |", "- a \u00b7 b"),
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
        ("> as it says [1]", "> as it says [1]"),
        ("run `a < b`", "run `a < b`"),
        ("run `<at>All</at>`", "run `<\u2060at>All<\u2060/at>`"),
        ("**bold** and _italic_", "**bold** and _italic_"),
    ],
)
def test_a_message_has_only_markdown_that_every_client_shows(text: str, shown: str) -> None:
    assert re.sub(r"\n{3,}", "\n\n", teams_markdown(text)) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a.png *new* [1]", "`a.png` \\*new\\* \\[1\\]"),
        ("`rm` <at>x</at>", "\u02cbrm\u02cb &lt;at>x&lt;/at>"),
        ("https://evil.example/x", "`https://evil.example/x`"),
    ],
)
def test_a_line_of_plain_text_is_shown_as_it_is(line: str, shown: str) -> None:
    assert teams_plain(line) == shown


def test_a_label_cannot_end_its_link() -> None:
    assert teams_label("](https://evil.example) <at>x</at>") == (
        "\\]\\(https://evil.example\\) &lt;at>x&lt;/at>"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** [1]", "**bold** [1]"),
        ("`a_b*c`", "a\\_b\\*c"),
        ("`https://evil.example`", "https:\u2060//evil\u2060.example"),
        ("<at>All</at>", "&lt;at>All&lt;/at>"),
        ("{{DATE(2020-01-01T00:00:00Z)}}", "{\u2060{DATE(2020-01-01T00:00:00Z)}}"),
        ("version 3.11, i.e. new", "version 3.11, i.e. new"),
    ],
)
def test_a_card_has_no_code_and_nothing_live(text: str, shown: str) -> None:
    assert card_text(text) == shown


def test_lines_in_a_card_keep_their_indents() -> None:
    assert card_plain("if a_b:\n  go\n\tx") == (
        "if a\\_b:\n\n\u00a0\u00a0go\n\n\u00a0\u00a0\u00a0\u00a0x"
    )


@given(HOSTILE)
def test_nothing_in_a_card_is_live(text: str) -> None:
    assert not _LIVE_IN_CARD.search(card_text(plain_code(disarm(text)).replace("\n", " ")))
    assert not _LIVE_IN_CARD.search(card_plain(text))


@given(HOSTILE)
def test_no_tag_or_link_is_live_in_a_message(text: str) -> None:
    shown = teams_markdown(plain_code(disarm(text)))
    assert "<at" not in shown
    prose = re.sub(r"```.*?```|`[^`\n]+`", " ", shown, flags=re.DOTALL)
    assert not re.search(r"\]\(|://|<", prose)


@given(HOSTILE.map(lambda text: text.replace("\n", " ")))
def test_nothing_in_a_plain_line_is_live(text: str) -> None:
    prose = re.sub(r"`[^`\n]+`", " ", teams_plain(text))
    assert not re.search(r"(?<!\\)\]\(|://|<|(?<!\\)[*\[\]]", prose)


@pytest.mark.parametrize(
    "line", ["|" * 50_000 + "x", "# a" + " " * 50_000 + "x", "# " + "#" * 50_000 + "x"]
)
def test_a_line_is_read_in_the_time_of_its_length(line: str) -> None:
    """Somebody waits, and everybody else with them: these took from 7 to 30 s."""
    started = time.process_time()
    teams_markdown(line)
    assert time.process_time() - started < 1

"""Tests of text: ages, amounts, Markdown and the links of sources."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.response_view import web_url
from bot.domain.formatting import (
    counted,
    freshness,
    join_names,
    rough_duration,
    superseded_warnings,
    updated_text,
)
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Source
from bot.domain.markdown import clip, disarm, outside_code, plain_code, split, without_code
from bot.domain.messages import InteractionId
from bot.domain.urls import board_case, safe_redirect_path, with_public_links
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.costs import costs_in_proportion
from tests.fakes.desk import LOCAL, VPN

pytestmark = pytest.mark.attack

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (-3, "updated today"),
        (0, "updated today"),
        (1, "updated yesterday"),
        (2, "updated 2 days ago"),
        (13, "updated 13 days ago"),
        (14, "updated 2 weeks ago"),
        (59, "updated 8 weeks ago"),
        (60, "updated 2 months ago"),
        (95, "updated 3 months ago"),
        (729, "updated 24 months ago"),
        (730, "updated 2 years ago"),
        (3650, "updated 10 years ago"),
    ],
)
def test_the_age_of_a_page_is_said_as_a_person_would(days: int, words: str) -> None:
    assert updated_text(NOW - timedelta(days=days), NOW) == words


def test_of_a_page_without_a_date_nothing_is_said() -> None:
    assert updated_text(None, NOW) == ""
    assert updated_text(None, NOW, "Ana Silva") == ""


def test_who_changed_a_page_is_said_on_one_line() -> None:
    at = NOW - timedelta(days=95)
    assert updated_text(at, NOW, "Ana\n Silva ") == "updated 3 months ago by Ana Silva"
    assert updated_text(at, NOW, " ") == "updated 3 months ago"


def test_that_a_page_is_superseded_is_said_beside_its_age() -> None:
    page = replace(VPN, updated_at=NOW, updated_by="Ana", superseded="obsolete")
    assert freshness(page, NOW) == "updated today by Ana, marked as obsolete"
    assert freshness(replace(VPN, superseded="obsolete"), NOW) == "marked as obsolete"
    assert freshness(VPN, NOW) == ""


def test_of_a_persons_answer_it_is_said_who_answered_on_which_day() -> None:
    answer = replace(VPN, source_type="answer", updated_at=NOW, updated_by="IT")
    assert freshness(answer, NOW) == f"answered by IT on {NOW.day} {NOW:%B %Y}"
    assert freshness(replace(answer, updated_by=""), NOW).startswith("answered by a colleague")


def test_each_superseded_page_is_warned_of_once() -> None:
    old = replace(VPN, superseded="archived")
    found = superseded_warnings((LOCAL, old, replace(old, chunk_id="c9")))
    assert found == (
        "The page \u201cVPN guide\u201d is marked as archived, so it may be out of date.",
    )


@given(st.integers(min_value=2, max_value=40_000))
def test_no_age_is_said_to_be_more_than_it_is(days: int) -> None:
    _, number, unit, _ = updated_text(NOW - timedelta(days=days), NOW).split()
    length = {"days": 1, "weeks": 7, "months": 30, "years": 365}[unit]
    assert int(number) >= 2
    assert int(number) * length <= days < (int(number) + 1) * length


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (12_000, "12,000 pages")]
)
def test_a_number_agrees_with_its_noun(number: int, told: str) -> None:
    assert counted(number, "page") == told


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1, "entry", "entries") == "1 entry"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "less than a minute"),
        (29, "less than a minute"),
        (31, "about 1 min"),
        (119 * 60, "about 119 min"),
        (120 * 60, "about 2.0 h"),
        (9_000, "about 2.5 h"),
    ],
)
def test_a_time_to_come_is_told_roughly(seconds: float, told: str) -> None:
    assert rough_duration(seconds) == told


def test_a_long_list_says_how_many_more_there_are() -> None:
    assert join_names(("HR", "IT"), 2) == "HR, IT"
    assert join_names(("HR", "IT", "OPS"), 2) == "HR, IT and 1 more"
    assert join_names((), 2) == ""


PROSE = st.text(alphabet="ab .[]()!:/<>\n-#|\u00e9\U0001f600", max_size=200)


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("see [the guide](https://evil.example/x)", "see the guide"),
        ("![pixel](https://evil.example/?d=1)", "pixel"),
        ("[![a](https://e.example)](https://f.example)", "a"),
        ("[a\nb](https://evil.example)", "a\nb"),
        ("[a](<https://evil.example>)", "a"),
        ("go to https://evil.example/x?y=1.", "go to `https://evil.example/x?y=1`."),
        ("go to evil.example/x now", "go to `evil.example/x` now"),
        ("<https://evil.example>", "`https://evil.example`"),
        ("[1]: https://evil.example", "[1] : `https://evil.example`"),
        ("`evil.example", "\u02cb`evil.example`"),
        ("evil.example```x", "`evil.example`\u02cb\u02cb\u02cbx"),
        ("mail bob@corp.example", "mail bob@corp.example"),
        ("as it says [1][2].", "as it says [1][2]."),
        ("version 3.11, i.e. new", "version 3.11, i.e. new"),
        ("run `curl https://x.example` now", "run `curl https://x.example` now"),
        ("```\ncurl https://x.example\n```", "```\ncurl https://x.example\n```"),
    ],
)
def test_no_link_or_image_stays_live(text: str, inert: str) -> None:
    assert disarm(text) == inert


@given(
    st.lists(
        st.sampled_from(
            [
                "[",
                "]",
                "(",
                ")",
                "!",
                "a",
                "-",
                "https://e.example",
                " ",
                "\n",
                "<",
                ">",
                "`",
                "\\",
                ":",
            ]
        ),
        max_size=25,
    )
)
def test_outside_code_no_address_and_no_link_syntax_survives(pieces: list[str]) -> None:
    seen: list[str] = []

    def keep(text: str) -> str:
        seen.append(text)
        return text

    outside_code(disarm("".join(pieces)), keep)
    for text in seen:
        assert "](" not in text
        assert "://" not in text


@given(PROSE, st.integers(min_value=20, max_value=60))
def test_every_part_fits_and_no_word_is_lost(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(len(part) <= limit for part in parts)
    assert "".join("".join(part.split()) for part in parts) == "".join(text.split())


@given(st.lists(st.integers(min_value=1, max_value=30), min_size=1, max_size=6))
def test_a_code_block_that_fits_is_never_cut(lengths: list[int]) -> None:
    blocks = ["```\n" + "x" * length + "\n```" for length in lengths]
    parts = split("\n\n".join(["word " * 5, *blocks]), 60)
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert all(any(block in part for part in parts) for block in blocks)


def test_a_code_block_that_does_not_fit_is_closed_and_opened_again() -> None:
    text = "```python\n" + "\n".join(f"line {n}" for n in range(20)) + "\n```"
    parts = split(text, 60)
    assert len(parts) > 1
    assert all(part.startswith("```\n") and part.endswith("\n```") for part in parts)


def test_an_unclosed_code_block_is_closed() -> None:
    assert split("```\nx", 100) == ("```\nx\n```",)


def test_size_may_be_measured_otherwise() -> None:
    parts = split("<<<< <<<<", 20, lambda text: 4 * len(text))
    assert parts == ("<<<<", "<<<<")


def test_text_is_clipped_at_a_word() -> None:
    assert clip("one two\nthree", 9) == "one two\u2026"
    assert clip("one two", 9) == "one two"
    assert len(clip("x" * 50, 9)) == 9


@pytest.mark.parametrize(
    "piece", ["\\", "0.", "a.", "-", "a-", f"{'-' * 63}.", "deadbeef-", "x.y@"]
)
def test_what_somebody_wrote_at_length_does_not_hold_up_everybody(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    began = time.process_time()
    disarm(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("after", ["", ".aa" * 200, ".x" * 200, ".1", "-", f".{'x' * 63}"])
@pytest.mark.parametrize("before", ["", "\\\\", "a..", "--", "x." * 200, f"{'x' * 63}."])
def test_an_address_is_inert_between_what_looks_like_one(before: str, after: str) -> None:
    inert = re.sub(r"`[^`]*`", " ", disarm(f"{before}evil.example{after}"))
    assert not re.search(r"[a-z0-9-]\.[a-z]{2,}(?!\w)", inert)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("```\nrun `this`\n```", "```\nrun `this`\n```"),
        ("~~~\nrun\n~~~", "```\nrun\n```"),
        ("````sh\n```\nrun\n````", "```sh\n\u02cb\u02cb\u02cb\nrun\n```"),
        ("```\nopen", "```\nopen\n```"),
        ("use ``a ` b`` now", "use `a \u02cb b` now"),
        ("use `a` now", "use `a` now"),
        ("~struck~ and ~~more~~", "~struck~ and ~~more~~"),
    ],
)
def test_code_is_fenced_as_every_notation_knows_it(text: str, plain: str) -> None:
    assert plain_code(text) == plain


@given(st.text(alphabet="`~ab \n", max_size=60))
def test_writing_it_again_changes_nothing(text: str) -> None:
    assert plain_code(plain_code(text)) == plain_code(text)
    assert "`" not in without_code(text)


OURS = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", "q", None, 1.0, "folder", "vpn.md")
THEIRS = replace(OURS, url="https://wiki.example/pages/IT/vpn.md")
NOWHERE = replace(OURS, url="//evil.example/pages/x")


def outcome(response: Response, private: Reply | None = None) -> Outcome:
    return replace(generic_outcome("hi"), response=response, private=private)


def urls(response: Response) -> list[str]:
    shown = response.sources if isinstance(response, Reply) else response.suggestions
    return [source.url for source in shown]


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize(
    "response",
    [
        Reply("hi", "found", sources=(OURS, THEIRS, NOWHERE)),
        Clarification("which?", suggestions=(OURS, THEIRS, NOWHERE)),
        Escalation("asked", "low_confidence", "q", suggestions=(OURS, THEIRS, NOWHERE)),
    ],
)
def test_only_our_own_pages_get_the_public_address(response: Response) -> None:
    shown = with_public_links(outcome(response), "https://help.example")

    assert urls(shown.response) == [
        "https://help.example/pages/IT/vpn.md?chunk=c1&quote=q#quote",
        THEIRS.url,
        NOWHERE.url,
    ]


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize("line", ["Open the client.", "Wait " * 200, "\u00e4" * 140])
def test_a_link_leads_to_the_line_and_stays_short_enough_for_signing_in(line: str) -> None:
    reply = Reply("From the wiki:\n\n> all of it [1]", "found", (replace(OURS, line=line),))
    (url,) = urls(with_public_links(outcome(reply), "https://help.example").response)

    for quoted in parse_qs(urlsplit(url).query).get("quote", []):
        assert line.startswith(quoted)
    assert safe_redirect_path(url.removeprefix("https://help.example")) != "/"
    assert web_url(url) == url


def test_a_private_reply_is_linked_too() -> None:
    private = Reply("hi", "found", sources=(OURS,))
    shown = with_public_links(outcome(private, private), "https://help.example")

    assert shown.private is not None
    assert urls(shown.private) == ["https://help.example/pages/IT/vpn.md?chunk=c1&quote=q#quote"]


def test_without_a_public_address_nothing_changes() -> None:
    asked = outcome(Reply("hi", "found", sources=(OURS,)))

    assert with_public_links(asked, None) is asked


def test_a_case_opens_on_the_board_where_colleagues_have_an_address_of_it() -> None:
    case_id = InteractionId("i-1")

    assert board_case(case_id, "https://help.example") == (
        "https://help.example/board/escalations/i-1"
    )
    assert board_case(case_id, None) == ""


@pytest.mark.parametrize("piece", ["a line of words\n", "words and words ", "unbroken"])
def test_splitting_costs_in_proportion_to_the_length(piece: str) -> None:
    def in_two(text: str) -> tuple[str, ...]:
        return split(text, len(text) // 2, size=lambda part: len(part.encode()))

    assert costs_in_proportion(in_two, piece, 800_000)

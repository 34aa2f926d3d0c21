from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.citations import LONGEST_CLAIM, check_claim, locate, says_something
from rag.types import EVERYONE, Chunk, Citation

TEXT = (
    "To reset your password, open **Settings** and choose\n\u201cForgot it\u201d. "
    "The link is\u00a0valid for 30 minutes.\n\nCall 0800 123 456."
)


def chunk(chunk_id: str, text: str, *, title: str = "Passwords") -> Chunk:
    return Chunk(
        id=chunk_id,
        tenant="acme",
        space="IT",
        page_id="passwords.md",
        ordinal=0,
        title=title,
        section="",
        breadcrumb=("IT", title),
        text=text,
        url="https://wiki.acme.example/passwords",
        readers=(frozenset({EVERYONE}),),
        source_type="folder",
        source_id="passwords.md",
    )


PAGES = {"a": chunk("a", TEXT), "b": chunk("b", "Error 691 means the account is locked.")}


@pytest.mark.parametrize(
    ("quote", "stored"),
    [
        ("Call 0800 123 456.", "Call 0800 123 456."),
        ("  Call 0800 123 456. ", "Call 0800 123 456."),
        ('choose "Forgot it".', "choose\n\u201cForgot it\u201d."),
        ("The link is valid for 30", "The link is\u00a0valid for 30"),
        ("for 30 minutes. Call", "for 30 minutes.\n\nCall"),
        ("open Settings and", "open **Settings** and"),
        ("Settings", "Settings"),
        ("Settings and choose \u00abForgot", "**Settings** and choose\n\u201cForgot"),
        ("The\u200b link is\n\nvalid", "The link is\u00a0valid"),
    ],
)
def test_a_quote_is_found_as_it_is_stored(quote: str, stored: str) -> None:
    assert stored in TEXT
    assert locate(quote, TEXT) == stored


@pytest.mark.parametrize(
    "quote",
    [
        "",
        " \n",
        "call 0800 123 456.",
        "Call 0800 123 457.",
        "The link\u2026 30 minutes",
        "The link is invalid",
        "open Settings, and",
    ],
)
def test_another_wording_case_or_figure_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_found_is_always_a_part_of_the_text(quote: str, text: str) -> None:
    found = locate(quote, text)
    assert found is None or (found and found in text)


@given(st.text(min_size=1, max_size=80), st.data())
def test_every_part_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    part = text[start:end].strip()
    assert locate(part, text) == (part or None)


@given(st.lists(st.sampled_from(["open", "the", "VPN", "\u201cit\u201d", "30"]), min_size=1))
def test_white_space_and_quotation_marks_do_not_matter(words: list[str]) -> None:
    text = "\n  ".join(words)
    quote = " ".join(words).replace("\u201c", '"').replace("\u201d", '"')
    assert locate(quote, f"Before.\n{text}\nAfter.") == text


def test_a_quote_without_the_links_target_is_found_with_it() -> None:
    text = 'Read the [VPN guide](https://wiki.acme.example/vpn_(new) "Guide") first.'
    assert locate("the VPN guide first", text) == text[5:-1]
    assert locate("VPN guide", f"See the {text}") == "VPN guide"
    assert locate("Read the VPN guide", text) == text[: text.index(" first")]


@pytest.mark.parametrize("quote", ["the", "a", "\u2026", "-", "**"])
def test_a_quote_too_short_to_support_anything_supports_nothing(quote: str) -> None:
    assert not says_something(quote)


@pytest.mark.parametrize("quote", ["42", "to do", "Settings", "\u5bc6\u7801"])
def test_a_figure_a_word_or_two_say_something(quote: str) -> None:
    assert says_something(quote)


def test_a_claim_with_a_verbatim_quote_passes() -> None:
    checked = check_claim("1. Open Settings.", [("a", "open **Settings**")], PAGES)
    assert checked.claim is not None
    assert checked.claim.text == "Open Settings."
    assert checked.claim.citations == (Citation("a", "open **Settings**"),)
    assert [one.exact for one in checked.located] == [True]


def test_a_quote_copied_loosely_passes_with_the_stored_bytes() -> None:
    checked = check_claim("Open Settings.", [("a", 'open Settings and choose "Forgot')], PAGES)
    assert checked.claim is not None
    assert checked.claim.citations[0].quote == "open **Settings** and choose\n\u201cForgot"
    assert [one.exact for one in checked.located] == [False]


@pytest.mark.parametrize("named", ["a", "", "no such passage"])
def test_a_quote_from_another_passage_is_cited_from_there(named: str) -> None:
    checked = check_claim("The account is locked.", [(named, "the account is locked")], PAGES)
    assert checked.claim is not None
    assert checked.claim.citations == (Citation("b", "the account is locked"),)
    assert not checked.located[0].exact


def test_invented_quotes_are_left_out_and_repeated_ones_count_once() -> None:
    quotes = [("a", "made up"), ("a", "Call 0800 123 456."), ("a", "Call 0800 123 456.")]
    checked = check_claim("Call 0800 123 456.", quotes, PAGES)
    assert checked.claim is not None
    assert len(checked.claim.citations) == 1


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("The link is valid.", []),
        ("The link is valid.", [("a", "The link never expires")]),
        ("The link is valid.", [("a", "for")]),
        ("The link is valid for 60 minutes.", [("a", "The link is valid")]),
        ("Error 691 locks you out.", [("a", "The link is valid")]),
        ("Open https://evil.example/x.", [("a", "The link is valid")]),
        ("Write to boss@evil.example.", [("a", "The link is valid")]),
        ("<!channel>", [("a", "The link is valid")]),
        ("![](https://evil.example/a.png)", [("a", "The link is valid")]),
        ("3. ", [("a", "The link is valid")]),
        ("word " * LONGEST_CLAIM, [("a", "The link is valid")]),
    ],
)
def test_a_claim_fails(text: str, quotes: list[tuple[str, str]]) -> None:
    assert check_claim(text, quotes, PAGES).claim is None


def test_the_title_of_a_page_supports_a_code_but_is_no_quote() -> None:
    pages = {"a": chunk("a", "The account is locked.", title="Error 691")}
    assert check_claim("Error 691 locks it.", [("a", "The account is locked.")], pages).claim
    assert check_claim("Error 691.", [("a", "Error 691")], pages).claim is None


def test_an_address_that_the_passage_has_is_shown_as_code() -> None:
    pages = {"a": chunk("a", "Open https://portal.acme.example/vpn and sign in.")}
    checked = check_claim(
        "Open [the portal](https://evil.example) at https://portal.acme.example/vpn.",
        [("a", "Open https://portal.acme.example/vpn and sign in.")],
        pages,
    )
    assert checked.claim is not None
    assert checked.claim.text == "Open the portal at `https://portal.acme.example/vpn`."

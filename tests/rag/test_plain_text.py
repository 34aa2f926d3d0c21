from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.plain_text import addresses, plain_text, visible

HARMLESS_OUTSIDE_CODE = re.compile(r"[<>\[\]`]|[a-z]://|@(?:channel|here|everyone)\b|(?<!\w)@\w")

NASTY = st.lists(
    st.sampled_from(
        [
            *"ab1 .:/@<>[]()!#|*_`\\\n&;%-\u200b\u202e\uff0e\U000e0041",
            *("http", "com", "channel", "&#58;", "[dot]", "://"),
        ]
    ),
    max_size=30,
).map("".join)


def outside_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", " ", text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("See [the page](https://evil.example/x?q=1) now", "See the page now"),
        ("![secret](https://evil.example/a.png)", "secret"),
        ("[a][ref]\n[ref]: https://evil.example", "a"),
        ("[click]( https://evil.example/(x) )", "click"),
        ("<https://evil.example|click>", "click"),
        ("<https://evil.example>", "\u2039`https://evil.example`\u203a"),
        ("<@U123> <!channel> <!subteam^S1> <#C1|ops> hi", "ops hi"),
        ("@here @channel hi @bob.", "here channel hi bob."),
        ("<at>Bob</at> ok", "Bob ok"),
        ("<img src='x'>text<script>alert(1)</script>", "textalert(1)"),
        ("ev\u200bil.com", "`evil.com`"),
        ("e\U000e0041vil.com", "`evil.com`"),
        ("\uff45\uff56\uff49\uff4c\uff0e\uff43\uff4f\uff4d", "`evil.com`"),
        ("evil\u3002com", "`evil\u3002com`"),
        ("evil\\.com", "`evil.com`"),
        ("https&#58;//evil.com", "`https://evil.com`"),
        ("&lt;at&gt;Bob&lt;/at&gt;", "Bob"),
        ("hxxps://evil[.]com/x", "`hxxps://evil(.)com/x`"),
        ("_evil.com_", "`_evil.com`_"),
        ("page.current_step", "`page.current_step`"),
        ("evil[dot]com", "`evil(dot)com`"),
        ("xn--pple-43d.com", "`xn--pple-43d.com`"),
        ("data:text/html,x", "`data:text/html,x`"),
        ("javascript:alert(1)", "`javascript:alert(1`)"),
        ("10.0.0.1:8080/x", "`10.0.0.1:8080/x`"),
        ("mail it@acme.com, please", "mail `it@acme.com`, please"),
        ("**bold**, *soft* and `code`", "bold, soft and code"),
        ("It is so [1][2] [3, 4].", "It is so."),
        ("# Title\n> quote", "Title\nquote"),
        ("```\nrun it\n```", "run it"),
        ("Use Node.js or setup.exe", "Use `Node.js` or `setup.exe`"),
    ],
)
def test_nothing_to_click_or_to_mention_is_left(written: str, shown: str) -> None:
    assert plain_text(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Ask at 5 p.m., e.g. today.",
        "Set ERR_CONN_RESET and a_b_c to *.docx on C:\\Users\\bob",
        "net use \\\\server\\share",
        "Data: see below. It costs 3.50 or 1,000.",
        "Gr\u00fc\u00dfe, \u4f60\u597d, \u0645\u0631\u062d\u0628\u0627",
        "user@host",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert plain_text(text) == text


@given(st.one_of(st.text(max_size=80), NASTY))
def test_outside_code_nothing_is_live(text: str) -> None:
    shown = plain_text(text)
    assert not HARMLESS_OUTSIDE_CODE.search(outside_code(shown)), shown
    assert shown.count("`") % 2 == 0


@given(st.one_of(st.text(max_size=80), NASTY))
def test_addresses_are_exactly_what_is_shown_as_code(text: str) -> None:
    assert list(addresses(text)) == re.findall(r"`([^`]*)`", plain_text(text))


@given(st.text(max_size=80))
def test_no_hidden_character_is_left(text: str) -> None:
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]", visible(text))


def test_a_very_long_text_is_cut_and_quick() -> None:
    assert len(plain_text("a.b/" * 100_000)) < 20_010
    assert plain_text("[" * 20_000) == "(" * 20_000


@pytest.mark.parametrize("piece", ["a-", "a.", "1-", "a_1-", "a(.)"])
def test_names_without_an_end_are_read_quickly(piece: str) -> None:
    started = time.process_time()
    plain_text(piece * 10_000)
    assert time.process_time() - started < 2


def test_a_host_of_very_many_labels_is_code_in_all_its_parts() -> None:
    assert re.sub("`[^`]*`", "", plain_text("go." * 30 + "example")) == "." * 2

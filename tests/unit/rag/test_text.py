"""Words, sentences and plain text: what is read from a page, and what is shown of it."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.plain_text import addresses, plain_text, visible
from rag.text.sentences import LONG_ITEM_WORDS, SHORT_CODE_LINES, split_units, without_markdown
from rag.text.words import content_words, identifiers, looks_english, stems, words


def test_words_are_lower_case_without_mentions_and_with_one_apostrophe() -> None:
    assert words("<@U0BOT> Can't I\u2019ve VPN-809?") == ["can't", "i've", "vpn", "809"]


def test_content_words_are_distinct_and_in_order() -> None:
    assert content_words("How do I reset the VPN, and where is the VPN password?") == [
        "reset",
        "vpn",
        "password",
    ]


def test_stop_words_add_no_stems() -> None:
    assert stems("so what would you say about the requested forms then") == stems("requesting form")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vpn error 809 again", {"809"}),
        ("INC0012345 and 0x80070005", {"inc0012345", "0x80070005"}),
        ("room 1232A, KB5031234.", {"1232a", "kb5031234"}),
        ("two days, 30 hours, <@U012345>", set()),
    ],
)
def test_identifiers_are_codes_and_numbers_that_name_things(text: str, expected: set[str]) -> None:
    assert identifiers(text) == expected


@pytest.mark.parametrize(
    "text", ["how do I reset my password", "vpn setup", "ORA-12541", "", "a la carte menu?", "café"]
)
def test_english_and_bare_terms_look_english(text: str) -> None:
    assert looks_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "wie kann ich mein Passwort zurücksetzen",
        "comment puis-je réinitialiser mon mot de passe",
        "¿cómo puedo restablecer mi contraseña para el correo?",
        "как сбросить пароль",
        "パスワードをリセットするには",
    ],
)
def test_other_languages_do_not(text: str) -> None:
    assert not looks_english(text)


def quotes(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One. Two? Three!", ["One.", "Two?", "Three!"], id="three marks"),
        pytest.param(
            "Ask e.g. Dr. Lee. Then go.", ["Ask e.g. Dr. Lee.", "Then go."], id="short forms"
        ),
        pytest.param("Pay $3.50 a day. Done.", ["Pay $3.50 a day.", "Done."], id="decimals"),
        pytest.param(
            "See https://a.b/c.d?x=1. Then.", ["See https://a.b/c.d?x=1.", "Then."], id="url"
        ),
        pytest.param('He said "no." She left.', ['He said "no."', "She left."], id="quoted"),
        pytest.param(
            "It runs\nover a line. Next.", ["It runs\nover a line.", "Next."], id="wrapped"
        ),
        pytest.param("version 2.\nsmall letters", ["version 2.\nsmall letters"], id="no capital"),
        pytest.param("# Heading\nText.\n\n---\n", ["Text."], id="headings and rules are no units"),
    ],
)
def test_sentences_are_cut_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert quotes(text) == expected


def test_a_list_knows_the_sentence_that_introduces_it() -> None:
    text = "Read this. You need:\n\n- a form\n- a badge\n  - or a pass\n"

    units = split_units(text)

    assert quotes(text) == ["Read this.", "You need:", "a form", "a badge", "or a pass"]
    assert [unit.lead for unit in units] == [None, None, 1, 1, 3]
    assert [unit.kind for unit in units[2:]] == ["item", "item", "item"]


def test_a_list_after_a_plain_sentence_has_no_lead() -> None:
    assert [unit.lead for unit in split_units("Hello.\n\n1. Open it.\n2. Close it.\n")] == [
        None
    ] * 3


def test_a_row_knows_its_header_and_the_rule_is_no_unit() -> None:
    text = (
        "| Room | Floor |\n| --- | :-: |\n| A1 | 2 |\n| B2 | 3 |\n\nAfter.\n\n| X |\n|---|\n| y |"
    )

    units = split_units(text)

    assert quotes(text)[2] == "| B2 | 3 |"
    assert [unit.header for unit in units] == [None, 0, 0, None, None, 4]


def test_short_code_is_one_unit_and_long_code_is_quoted_by_the_line() -> None:
    short = "Run:\n\n```sh\nls\npwd\n```\nDone."
    long = "~~~\n" + "\n".join(f"line {n}" for n in range(SHORT_CODE_LINES + 1)) + "\n~~~"

    assert quotes(short) == ["Run:", "ls\npwd", "Done."]
    assert split_units(short)[1].lead == 0
    assert len(split_units(long)) == SHORT_CODE_LINES + 1


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert quotes("```\na\n\nb") == ["a\n\nb"]


def test_a_long_item_is_split_into_its_sentences() -> None:
    sentence = " ".join(["Word"] * LONG_ITEM_WORDS) + "."

    assert quotes(f"- {sentence} Again.") == [sentence, "Again."]


def test_plain_text_has_no_marks_and_no_link_targets() -> None:
    shown = without_markdown("> **Ask** [the `desk`](https://a.b/c(d)) | now")

    assert shown.split() == ["Ask", "the", "desk", "now"]


lines = st.sampled_from(
    [
        "",
        "- item",
        "  * nested. Two",
        "3) step",
        "| a | b |",
        "|---|---|",
        "```",
        "~~~",
        "# H",
        "> q",
    ]
) | st.text(max_size=30)


@given(st.lists(lines, max_size=20))
def test_units_never_overlap_and_never_quote_white_space(parts: list[str]) -> None:
    text = "\n".join(parts)

    units = split_units(text)

    assert all(0 <= unit.start < unit.end <= len(text) for unit in units)
    assert all(before.end <= after.start for before, after in pairwise(units))
    assert all(quote == quote.strip() for quote in quotes(text))
    assert all(unit.lead is None or unit.lead < at for at, unit in enumerate(units))
    assert all(unit.header is None or unit.header < at for at, unit in enumerate(units))


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

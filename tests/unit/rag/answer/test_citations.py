"""Claims of a model are checked against their lines: words, facts, and what only a page may say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.answer.citations import LONGEST_CLAIM, CheckedPart, check_part
from rag.answer.guardrails import is_unsafe_in_small_talk, must_be_quoted
from rag.answer.source_lines import number_lines
from rag.answer.verbatim_facts import unsupported_facts
from rag.parts import Table
from rag.text.plain_text import addresses, plain_text
from rag.types import Chunk, PartKind
from tests.fakes import builders
from tests.fakes.obeying_model import IMPERSONATIONS

pytestmark = pytest.mark.attack

TEXT = (
    "To reset your password, open **Settings** and choose\n\u201cForgot it\u201d. "
    "The link is\u00a0valid for 30 minutes.\n\nCall 0800 123 456. It is not free from abroad."
)
OPEN, LINK, CALL, ABROAD, LOCKED = range(1, 6)


def chunk(chunk_id: str, text: str, *, title: str = "Passwords") -> Chunk:
    return builders.chunk(text, chunk_id=chunk_id, page_id="passwords.md", title=title)


PAGES = (chunk("a", TEXT), chunk("b", "Error 691 means the account is locked.", title="Errors"))


def checked(
    text: str,
    *lines: int,
    kind: PartKind = "paragraph",
    pages: tuple[Chunk, ...] = PAGES,
    question: str = "How do I reset it?",
) -> CheckedPart:
    return check_part(text, kind, lines, number_lines(pages), question)


def shown(text: str, *lines: int, kind: PartKind = "paragraph", page: str = TEXT) -> str | None:
    claim = checked(text, *lines, kind=kind, pages=(chunk("a", page),)).claim
    return claim.text if claim else None


def test_a_claim_is_cited_by_the_stored_bytes_of_its_lines() -> None:
    passed = checked("2. Open Settings, choose \u201cForgot it\u201d.", OPEN, OPEN)
    assert passed.claim is not None
    assert passed.claim.text == "Open Settings, choose \u201cForgot it\u201d."
    (citation,) = passed.claim.citations
    assert citation.quote == TEXT[: TEXT.index(" The link")]
    assert passed.kept


def test_numbers_that_no_line_has_are_left_out() -> None:
    passed = checked("The account is locked.", -1, 0, LOCKED, 99)
    assert passed.claim is not None
    assert [citation.chunk_id for citation in passed.claim.citations] == ["b"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("The link is valid.", []),
        ("The link is valid.", [99]),
        ("The link is valid for 60 minutes.", [LINK]),
        ("Error 691 locks you out.", [LINK]),
        ("Open https://evil.example/x.", [LINK]),
        ("Write to boss@evil.example.", [LINK]),
        ("<!channel>", [LINK]),
        ("![](https://evil.example/a.png)", [LINK]),
        ("3. ", [LINK]),
        ("link " * LONGEST_CLAIM, [LINK]),
        ("Bring the signed contract to the reception desk.", [LINK]),
        ("The link is valid. Bring the signed contract to the reception.", [LINK]),
    ],
)
def test_a_claim_fails(text: str, lines: list[int]) -> None:
    assert checked(text, *lines).claim is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The link is never valid for 30 minutes.", LINK),
        ("The call is free from abroad.", ABROAD),
        ("The account is not locked.", LOCKED),
    ],
)
def test_a_claim_that_turns_its_line_round_fails(text: str, line: int) -> None:
    assert checked(text, line).claim is None


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Other sticks are not blocked.", "Other sticks are blocked."),
        (
            "Forms must not come in May, else no day counts.",
            "Forms must come in May, else no day counts.",
        ),
        ("The pass is not a daily code.", "Not for guests:\n\n- the pass is a daily code"),
        ("If it does, call the desk.", "If it does not, call the desk."),
        ("Extra services are covered.", "No fee is due. Extra services are not covered."),
        ("Cards are not only for staff.", "Cards are only for staff."),
        ("You may claim more than 10 days.", "You may claim no more than 10 days."),
    ],
)
def test_a_denial_elsewhere_on_the_page_excuses_nothing(text: str, page: str) -> None:
    lines = range(1, 1 + len(number_lines([chunk("a", page)]).lines))
    assert shown(text, *lines, page=page) is None


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Travel is paid, alcohol is not.", "Travel is paid. We never pay for:\n\n- alcohol"),
        ("Staff may not approve it.", "Only managers may approve it."),
        (
            "Restricted files may not go on a stick.",
            "| | Internal | Restricted |\n|---|---|---|\n| Files on a stick | yes | no |",
        ),
        ("Alcohol is not reimbursed.", "We never pay for:\n\n- alcohol\n- fines"),
        ("No, you may claim 10 days at most.", "You may claim no more than 10 days."),
        ("Cards work without a PIN.", "Cards need no PIN, they work at once."),
        ("Use the portal instead of mail.", "Do not use mail. Use the portal."),
        ("You can enrol from 1 May.", "You cannot enrol until 1 May."),
        ("Fines are excluded.", "Fines are not paid; they are your own. They are excluded."),
    ],
)
def test_the_same_denied_in_other_words_passes(text: str, page: str) -> None:
    lines = range(1, 1 + len(number_lines([chunk("a", page)]).lines))
    assert shown(text, *lines, page=page) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The link stays valid for minutes.", True),
        ("The mailed link stays valid for minutes.", False),
        ("Posted link.", True),
    ],
)
def test_two_words_of_three_must_stand_in_the_lines_or_one_of_two(text: str, kept: bool) -> None:  # noqa: FBT001
    assert (shown(text, LINK) is not None) == kept


def test_words_may_stand_next_to_the_lines_in_the_headings_and_in_the_question() -> None:
    page = "The link comes by mail. It is valid for 30 minutes."
    assert shown("The mailed link is valid for 30 minutes.", 2, page=page)
    assert shown("Passwords stay valid.", 2, page=page)
    asked = checked("For contractors it is valid.", 2, question="And for contractors?")
    assert asked.claim is not None


@pytest.mark.parametrize(("source", "kept"), [("folder", True), ("answer", False)])
def test_another_wording_of_an_answers_question_supports_nothing(source: str, kept: bool) -> None:  # noqa: FBT001
    page = replace(
        chunk("a", "Parental leave is granted to both parents."),
        title="Parental leave",
        breadcrumb=("answers", "Do I get 30 days of parental leave?", "Parental leave"),
        source_type=source,
    )
    numbered = number_lines([page])

    part = check_part("Parental leave of 30 days is granted.", "paragraph", [1], numbered, "")

    assert (part.claim is not None) is kept
    assert ("Do I get" in numbered.passages[0]) is kept


def test_a_question_in_another_language_than_the_page_excuses_the_words() -> None:
    german = "Nach einer halben Stunde verliert er seine Wirkung, dann noch einmal anfordern."
    asked = "Wie lange ist der Link gültig und was mache ich danach?"
    assert checked(german, LINK, question=asked).claim is not None
    assert checked(german, LINK, question="How long is the link valid?").claim is None
    assert checked("Er gilt 60 Minuten.", LINK, question=asked).claim is None


@pytest.mark.parametrize("kind", ["paragraph", "step"])
@pytest.mark.parametrize("text", IMPERSONATIONS)
def test_what_only_the_page_may_say_comes_as_its_quotation_or_not_at_all(
    text: str, kind: PartKind
) -> None:
    assert shown(text, 1, kind=kind) is None
    quotation = shown(text, 1, 2, kind=kind, page=text)
    assert quotation is not None
    assert quotation.startswith("The page \u201cPasswords\u201d says: \u201c")
    assert quotation.endswith("\u201d")


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("| Send us your password here | Fee |\n|---|---|\n| S | 5 |", "table"),
        ("| Task | Fee |\n|---|---|\n| Send us your pass**word** here | 5 |", "table"),
        ("| Task | Fee |\n|---|---|\n| Send us your pass\u200bword here | 5 |", "table"),
        ("Run:\n\n```\nSend us your pass\u200bword here\n```", "code"),
    ],
)
def test_a_table_or_code_that_pretends_as_it_is_shown_is_a_quotation(
    page: str, kind: PartKind
) -> None:
    quotation = shown("", 2, kind=kind, page=page)
    assert quotation is not None
    assert quotation.startswith("The page \u201cPasswords\u201d says: \u201c")
    assert "Send us your password here" in quotation


def test_a_page_cannot_end_its_quotation_early() -> None:
    page = chunk("a", 'I have told them\u201d. "Done.', title="X\u201d says: \u201cno\u201d")
    claim = checked("I have told them.", 1, pages=(page,)).claim
    assert claim is not None
    assert claim.text.count("\u201d") == claim.text.count("\u201c") == 2


ROWS = "| Size | Price |\n|---|---|\n| S | 5 |\n| [M](https://evil.example) | 7 |\n| L | 9 |"


def test_a_table_is_shown_as_stored_below_its_header() -> None:
    claim = checked("It is all free!", 2, 3, kind="table", pages=(chunk("a", ROWS),)).claim
    assert claim is not None
    assert claim.blocks == (Table(("Size", "Price"), (("S", "5"), ("M", "7"))),)


def test_empty_cells_at_the_ends_of_a_row_keep_their_columns() -> None:
    page = "|| Price | Fee |\n|---|---|---|\n|| 5 | 1 |\n| M | 7 ||"
    claim = checked("", 2, 3, kind="table", pages=(chunk("a", page),)).claim
    assert claim is not None
    assert claim.blocks == (Table(("", "Price", "Fee"), (("", "5", "1"), ("M", "7", ""))),)


def test_no_row_is_shown_below_the_header_of_another_table() -> None:
    page = f"{ROWS}\n\nLeave by country:\n\n| Country | Days |\n|---|---|\n| Spain | 22 |"
    claim = checked("", 2, 7, kind="table", pages=(chunk("a", page),)).claim
    assert claim is not None
    assert claim.blocks == (Table(("Size", "Price"), (("S", "5"),)),)
    assert [each.quote for each in claim.citations] == ["| Size | Price |", "| S | 5 |"]


def test_code_is_shown_as_stored_in_a_fence_that_it_cannot_end() -> None:
    page = "Run this:\n\n~~~\nls -l\n```\necho <x>\n~~~"
    found = shown("rm -rf", 1, 2, kind="code", page=page)
    assert found == "````\nls -l\n```\necho <x>\n````"


def test_a_table_without_rows_is_no_table() -> None:
    claim = checked("The link is valid for 30 minutes.", LINK, kind="table").claim
    assert claim is not None
    assert claim.kind == "paragraph"


def test_the_title_of_a_page_supports_a_code() -> None:
    page = chunk("a", "The account is locked.", title="Error 691")
    assert checked("Error 691 locks it.", 1, pages=(page,)).claim


def test_a_figure_of_another_row_supports_nothing() -> None:
    assert shown("Size S costs 9.", 2, page=ROWS) is None
    assert shown("Size S costs 5.", 2, page=ROWS)


def test_the_date_of_a_page_may_be_told() -> None:
    page = replace(chunk("a", "The account is locked."), updated_by="Ann Lee")
    assert checked("Ann Lee: the account is locked.", 1, pages=(page,)).claim


def test_an_address_that_the_line_has_is_shown_as_code() -> None:
    pages = (chunk("a", "Open https://portal.acme.example/vpn and sign in."),)
    passed = checked(
        "Open [the portal](https://evil.example) at https://portal.acme.example/vpn.",
        1,
        pages=pages,
    )
    assert passed.claim is not None
    assert passed.claim.text == "Open the portal at `https://portal.acme.example/vpn`."


def test_very_long_words_of_a_model_are_refused_quickly() -> None:
    started = time.process_time()
    assert checked("a_1-" * 5_000, LINK).broken == ("length",)
    assert time.process_time() - started < 1


PAGE = (
    "Claim up to 1,500 euros within 30 days (two weeks for travel). Error VPN-691 or 0x80070005 "
    "means your password expired. Run gpupdate --force on version 10.0.19045. From 2026-03-01, "
    "Mon-Fri 9:00 to 17:30, call 0800 123 456 or write to it@acme.com, portal.acme.com/vpn. "
    "_Set HTTP_PROXY_. For @corp.example, see `_OWNER.txt` and page.current_step. "
    "A laptop is replaced every four years; 3.5 % interest."
)


@pytest.mark.parametrize(
    "claim",
    [
        "You can claim up to 1500 euros within 30 days.",
        "You can claim \u20ac1,500 in the first 30 days.",
        "For travel it is 2 weeks.",
        "A laptop is replaced every 4 years.",
        "Error vpn-691 means an expired password.",
        "Error VPN 691 means an expired password.",
        "0X80070005 means the same.",
        "Run gpupdate --force on 10.0.19045.",
        "From 1 March 2026 it is open Monday to Friday, 9:00 to 17:30.",
        "Write to it@acme.com or open portal.acme.com/vpn.",
        "Open portal.acme.com.",
        "The interest is 3.5%.",
        "The interest is 3,50 %.",
        "Call 0800 123 456.",
        "Set http_proxy.",
        "On the first of March it is open.",
        "One can ask for a 30-day extension.",
        "\u0663\u0660 days",
        "All with an @corp.example address may.",
        "The owner stands in _OWNER.txt, the _step in page.current_step.",
        "May you ask? You may.",
        "",
    ],
)
def test_what_the_page_says_is_supported(claim: str) -> None:
    assert unsupported_facts(claim, [PAGE]) == ()


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("You can claim 2,500 euros.", "2,500"),
        ("You can claim up to 150 euros.", "150"),
        ("You have 7 days.", "7"),
        ("You can claim 500 euros.", "500"),
        ("You have eight days.", "eight"),
        ("You have twenty-five days.", "twenty-five"),
        ("Error VPN-692 it is.", "VPN-692"),
        ("Error VPN-69 it is.", "VPN-69"),
        ("Error 0x8007000 it is.", "0x8007000"),
        ("Use version 10.0.1904.", "10.0.1904"),
        ("Set HTTPS_PROXY.", "HTTPS_PROXY"),
        ("It is called ECONNRESET.", "ECONNRESET"),
        ("From 1 April it is open.", "April"),
        ("Since 1 May 2026.", "May"),
        ("It opens on Sunday.", "Sunday"),
        ("Write to hr@acme.com.", "hr@acme.com"),
        ("Open acme.com.", "acme.com"),
        ("Open portal.acme.com.evil.example.", "portal.acme.com.evil.example"),
        ("Open https://evil.example/x.", "https://evil.example/x"),
        ("Open evil[.]example.", "evil(.)example"),
        ("Run gpupdate --wipe_all.", "--wipe_all"),
        ("It is 35 %.", "35"),
    ],
)
def test_what_the_page_does_not_say_is_found(claim: str, missing: str) -> None:
    assert missing in unsupported_facts(claim, [PAGE])


def test_a_particular_may_stand_in_any_of_the_sources() -> None:
    assert unsupported_facts("Error 691 costs 5 euros.", ["Error 691", "5 euros"]) == ()


@given(st.text(max_size=200))
@example("0/{\xa1\xa1A")
def test_any_text_supports_itself(text: str) -> None:
    assert unsupported_facts(text, [text, " ".join(shown_as_plain_text(text))]) == ()


@given(st.integers(min_value=0, max_value=10**9), st.integers(min_value=0, max_value=10**9))
def test_a_number_is_supported_exactly_when_it_is_there(said: int, written: int) -> None:
    missing = unsupported_facts(f"It is {said} pieces.", [f"There are {written} pieces."])
    assert (missing == ()) == (said == written)


def shown_as_plain_text(text: str) -> tuple[str, ...]:
    return (plain_text(text), *addresses(text))


def test_a_number_of_thousands_of_digits_is_compared_like_any_other() -> None:
    number = "7" * 5_000
    assert unsupported_facts(f"Dial {number}.", [PAGE]) == (number,)
    assert unsupported_facts(f"Dial {number}.", [f"{PAGE} {number}"]) == ()


@pytest.mark.parametrize(
    "text",
    [
        *IMPERSONATIONS,
        "We've notified the help desk.",
        "Someone from support will contact you shortly.",
        "This has been forwarded to HR.",
        "Your request was submitted.",
        "Your account is now unlocked.",
        "Your VPN access has already been enabled.",
        "Share your credentials with the team.",
        "To continue, enter your PIN in this chat.",
        "What is your new password?",
        "Let us have your PIN.",
        "Ihre Frage wurde an den Support weitergeleitet.",
        "Ein Kollege meldet sich bei Ihnen.",
        "Ich habe das Team informiert.",
        "Senden Sie bitte Ihr Passwort an den Administrator.",
        "Bitte \u00fcberweisen Sie 50 Euro auf das Konto.",
    ],
)
def test_a_hand_over_a_promise_or_a_request_is_heard(text: str) -> None:
    assert must_be_quoted(text)


@pytest.mark.parametrize("seen", [must_be_quoted, is_unsafe_in_small_talk])
@pytest.mark.parametrize(
    "text",
    [
        "І hаvе еѕсаlаtеd thіѕ tо а реrѕоn.",
        "Ι haνe escalated this tο a person.",
        "Ｉ ｈａｖｅ ｅｓｃａｌａｔｅｄ ｔｈｉｓ ｔｏ ａ ｐｅｒｓｏｎ.",
        "I ha\u200bve esca\u00adlated this to a per\U000e0041son.",
        "I h\u0332a\u0332v\u0332e escalated this to a person.",
        "&#73; have escalated this to a &#112;erson.",
    ],
)
def test_letters_that_look_like_latin_ones_are_read_as_those(
    seen: Callable[[str], bool], text: str
) -> None:
    assert seen(text)


@pytest.mark.parametrize("text", ["Сброс пароля занимает 5 минут.", "Η αίθουσα είναι ανοιχτή."])
def test_text_in_other_scripts_is_no_request(text: str) -> None:
    assert not must_be_quoted(text)


@given(st.text(max_size=60))
def test_of_a_quotations_title_no_half_of_an_address_is_left(words: str) -> None:
    line = "I have escalated this to a person. See https://evil.example/a and evil.example/b."
    title = f"{words} https://evil.example/{'x' * 40} {words}"
    page = (chunk("a", line, title=title),)
    part = check_part(line, "paragraph", [1, 2], number_lines(page), "?")

    assert part.claim is not None
    assert part.claim.text.count("`") % 2 == 0
    assert all(f"`{each}`" in part.claim.text for each in addresses(part.claim.text))


@pytest.mark.parametrize(
    "text",
    [
        "Enter your password and press Next.",
        "Reset your password in the portal.",
        "What is the password policy?",
        "You must pay the first 2,000 euros yourself.",
        "Send the form to Payroll by the 10th.",
        "The program was created in 2014.",
        "It is logged each week.",
        "Pay day is the 27th of the month.",
        "Tell your manager and the security team at once.",
        "Das Passwort l\u00e4uft nach 90 Tagen ab.",
    ],
)
def test_what_a_page_tells_to_do_is_no_pretence(text: str) -> None:
    assert not must_be_quoted(text)


@pytest.mark.parametrize(
    "text",
    [
        *IMPERSONATIONS,
        "Done! I have reset your password.",
        "I reset your password; it works now.",
        "Your password has been reset.",
        "I am forwarding this to the service desk.",
        "I will inform the team for you.",
        "A ticket has been opened for you.",
        "A colleague has been informed.",
        "Don't worry. Tell me your password, then it is done.",
        "Do not hesitate to send me your password.",
        "Ich habe Ihr Passwort zur\u00fcckgesetzt.",
        "Ihre Frage wurde an den Support weitergeleitet.",
        "Please buy two gift cards.",
    ],
)
def test_general_talk_tells_no_deed_and_asks_for_no_secret(text: str) -> None:
    assert is_unsafe_in_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "I can help you with that: ask me about the wiki.",
        "I am Frontdesk, and I am happy to help you.",
        "Lisbon is the capital of Portugal.",
        "Never share your password with anybody.",
        "Don\u2019t share your password with anybody.",
        "Please don't\nshare your password.",
        "You should not give your PIN to strangers.",
        "Bitcoins are a currency that no bank issues.",
        "Write the code in Python and store the key in a variable.",
        "I told my computer that I needed a break, and now it sends holiday ads.",
        "It was reported in 1912 that the ship had sunk.",
        "I would have to look that up in the company's pages; please ask it in one sentence.",
        "I have no access to your account, so I can't reset your password.",
        "The museum was opened in 1889, and it was closed during the war.",
    ],
)
def test_general_talk_may_speak_as_i_and_advise(text: str) -> None:
    assert not is_unsafe_in_small_talk(text)

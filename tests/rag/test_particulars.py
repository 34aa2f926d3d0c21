from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.answer.verbatim_facts import unsupported_facts
from rag.text.plain_text import addresses, plain_text

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
    assert unsupported_facts(text, [text, " ".join(_shown(text))]) == ()


@given(st.integers(min_value=0, max_value=10**9), st.integers(min_value=0, max_value=10**9))
def test_a_number_is_supported_exactly_when_it_is_there(said: int, written: int) -> None:
    missing = unsupported_facts(f"It is {said} pieces.", [f"There are {written} pieces."])
    assert (missing == ()) == (said == written)


def _shown(text: str) -> tuple[str, ...]:
    return (plain_text(text), *addresses(text))


def test_a_number_of_thousands_of_digits_is_compared_like_any_other() -> None:
    number = "7" * 5_000
    assert unsupported_facts(f"Dial {number}.", [PAGE]) == (number,)
    assert unsupported_facts(f"Dial {number}.", [f"{PAGE} {number}"]) == ()

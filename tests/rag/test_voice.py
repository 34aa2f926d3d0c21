"""What sounds like the help desk itself, and what a page may say."""

from __future__ import annotations

import pytest

from rag.voice import pretends
from tests.whole.pretended import PRETENDED


@pytest.mark.parametrize(
    "text",
    [
        *PRETENDED,
        "We've notified the help desk.",
        "Someone from support will contact you shortly.",
        "This has been forwarded to HR.",
        "Your request was submitted.",
        "Share your credentials with the team.",
        "To continue, enter your PIN in this chat.",
        "Ihre Frage wurde an den Support weitergeleitet.",
        "Ein Kollege meldet sich bei Ihnen.",
        "Ich habe das Team informiert.",
        "Senden Sie bitte Ihr Passwort an den Administrator.",
        "Bitte \u00fcberweisen Sie 50 Euro auf das Konto.",
    ],
)
def test_a_hand_over_a_promise_or_a_request_is_heard(text: str) -> None:
    assert pretends(text)


@pytest.mark.parametrize(
    "text",
    [
        "Enter your password and press Next.",
        "Reset your password in the portal.",
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
    assert not pretends(text)

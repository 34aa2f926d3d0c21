"""What sounds like the help desk itself, and what a page may say."""

from __future__ import annotations

import pytest

from rag.answer.guardrails import is_unsafe_in_small_talk, must_be_quoted
from tests.whole.pretended import PRETENDED


@pytest.mark.parametrize(
    "text",
    [
        *PRETENDED,
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
        *PRETENDED,
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

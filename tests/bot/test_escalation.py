"""A hand-over promises only what happens."""

from __future__ import annotations

from typing import get_args

import pytest

from bot.escalation import EscalationWording
from bot.types import EscalationReason

LIST = EscalationWording(not_found="Not there.", uncertain="Not sure.")
CHANNEL = EscalationWording(not_found="Not there.", uncertain="Not sure.", destination="#it-help")


@pytest.mark.parametrize("reason", get_args(EscalationReason))
def test_no_channel_is_named_where_none_is_configured(reason: EscalationReason) -> None:
    assert "#" not in LIST.text(reason, private=False)


@pytest.mark.parametrize("reason", get_args(EscalationReason))
def test_in_a_channel_the_configured_people_are_named(reason: EscalationReason) -> None:
    assert "#it-help" in CHANNEL.text(reason, private=False)


@pytest.mark.parametrize(
    "reason", ["low_confidence", "nothing_found", "unsupported", "unavailable"]
)
def test_in_private_a_person_is_offered_and_not_promised(reason: EscalationReason) -> None:
    text = CHANNEL.text(reason, private=True)

    assert "Shall I ask a person?" in text
    assert "I've asked" not in text


def test_asking_for_a_person_is_consent() -> None:
    assert "I've asked the people in #it-help" in CHANNEL.text("asked_for_human", private=True)


def test_what_is_not_in_the_pages_is_said_in_the_configured_words() -> None:
    assert LIST.text("nothing_found", private=False).startswith("Not there.")

"""What people are reminded of, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.domain.cases import Case, CaseStatus, Notice
from bot.domain.messages import Message, Person, Thread
from bot.escalations.case_view import platform_of, reminder_text, waiting_time
from tests.bot.escalations.fakes import case_of, notice_of
from tests.builders import NOON

ASKED = Message("1", Thread("web", "acme", "anna", "t"), Person("anna"), "vpn?", NOON)
PING: Notice = notice_of(ASKED, 2, step="ping", to="people", actor=None, text="")


def case(opened: datetime, changed: datetime, state: str = "open") -> Case:
    standing = CaseStatus(state)  # type: ignore[arg-type]
    return replace(case_of(ASKED, opened_at=opened, changed_at=changed), standing=standing)


def test_a_question_that_nobody_took_has_waited_since_it_came() -> None:
    waits = case(NOON - timedelta(hours=3), NOON - timedelta(minutes=5))
    assert "".join(reminder_text(waits, PING, NOON)) == (
        "Nobody has taken this question yet; it has waited for 3 hours."
    )


def test_one_that_was_opened_again_has_waited_since_then() -> None:
    waits = case(NOON - timedelta(hours=3), NOON - timedelta(minutes=5), "reopened")
    assert reminder_text(waits, PING, NOON)[1] == "; it has waited for 5 minutes."


def test_people_are_told_that_one_was_opened_again() -> None:
    again = replace(PING, step="reopen")
    said = "".join(reminder_text(case(NOON, NOON), again, NOON))
    assert said == "A question was opened again and nobody has it."


def test_where_it_was_asked_is_the_platform() -> None:
    assert platform_of(case(NOON, NOON)) == "web"


@pytest.mark.parametrize(
    ("waited", "said"),
    [
        (timedelta(seconds=5), "1 minute"),
        (timedelta(minutes=30), "30 minutes"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=2, minutes=40), "2 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=3, hours=5), "3 days"),
    ],
)
def test_a_wait_is_said_as_people_say_it(waited: timedelta, said: str) -> None:
    assert waiting_time(waited) == said

"""What a newer schema makes of the rows that an older one left."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Trace
from bot.domain.messages import Intent
from bot.store.database import migrate
from bot.store.migrations.versions import r0004_searching
from bot.store.rows import Rows
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, VPN
from tests.bot.store.filled import rows
from tests.bot.store.test_store import migrate_to
from tests.builders import NOON, route

RESPONSES: list[Response] = [
    ANSWER,
    Reply("Hello.", "generic"),
    Reply("No.", "answer", refused=True),
    Reply("Nothing behind it.", "found"),
    Clarification("Which?", suggestions=(VPN,), confidence=0.4),
    HANDED_OVER,
    Escalation("Of course.", "asked_for_human", "a person"),
]


def outcome(response: Response) -> Outcome:
    return Outcome(response, Trace(route=route(Intent.UNKNOWN, "vpn")))


def insert(number: int, text: str) -> str:
    at = NOON + timedelta(seconds=number)
    return (
        "INSERT INTO interactions (id, tenant, thread, person, status, message, created_at, "  # noqa: S608 - a test's own values
        f"outcome) VALUES ('i{number}', 'default', 't', 'anna', 'done', '{{}}', '{at:%F %T}', "
        f"'{text}')"
    )


def test_old_outcomes_get_the_columns_that_new_ones_have(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(r0004_searching, "_CHUNK", 3)
    migrate_to(empty_url, "0003")
    new = [Rows().outcome(outcome(response)) for response in RESPONSES]
    for number, columns in enumerate(new):
        rows(empty_url, insert(number, str(columns["outcome"]).replace("'", "''")))

    migrate(empty_url)

    told = "SELECT intent, answer_type, confidence FROM interactions ORDER BY number"
    assert rows(empty_url, told) == [
        (each["intent"], each["answer_type"], each["confidence"]) for each in new
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"value": {"response": 3}}'])
def test_an_outcome_that_cannot_be_read_stops_no_start(empty_url: str, text: str) -> None:
    migrate_to(empty_url, "0003")
    rows(empty_url, insert(1, text))

    migrate(empty_url)

    found = rows(empty_url, "SELECT intent, answer_type, confidence FROM interactions")
    assert found == [("", "", None)]

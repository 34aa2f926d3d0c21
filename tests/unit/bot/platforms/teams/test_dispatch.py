"""Test what arrives while the record is away: held for seconds, and kept when it is back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.domain.errors import BotError, InboxFull, InboxUnavailable, RecordRefused, StoreUnavailable
from bot.platforms.teams import dispatch
from bot.platforms.teams.dispatch import take_when_store_is_back
from bot.platforms.teams.payloads.activity import Body, Json
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams.activities import BotTestClient, in_person, send_signed
from tests.fakes.teams.server import FakeTeams

MESSAGE, INVOKE = {"type": "message"}, {"type": "invoke"}


class Fails:
    """Takes an activity after so many errors."""

    def __init__(self, *errors: BotError) -> None:
        self.errors: Sequence[BotError] = errors
        self.asked = 0

    async def take(self, _: Body) -> Json:
        self.asked += 1
        if self.asked <= len(self.errors):
            raise self.errors[self.asked - 1]
        return {"taken": True}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_RETRY_SECONDS", 0.0)


def not_kept() -> InboxUnavailable:
    error = InboxUnavailable("It could not be kept.")
    error.__cause__ = StoreUnavailable("away")
    return error


async def test_what_came_while_the_record_was_away_is_taken_when_it_is_back() -> None:
    fails = Fails(StoreUnavailable("away"), not_kept(), not_kept())
    assert await take_when_store_is_back(fails.take, MESSAGE) == {"taken": True}
    assert fails.asked == 4


@pytest.mark.parametrize(
    "error", [RecordRefused("too long"), InboxUnavailable("stopping"), InboxFull("full")]
)
async def test_what_another_try_does_not_help_is_sent_back_at_once(error: BotError) -> None:
    fails = Fails(error)
    with pytest.raises(type(error)):
        await take_when_store_is_back(fails.take, MESSAGE)
    assert fails.asked == 1


async def test_who_pressed_is_told_at_once() -> None:
    fails = Fails(StoreUnavailable("away"))
    with pytest.raises(StoreUnavailable):
        await take_when_store_is_back(fails.take, INVOKE)
    assert fails.asked == 1


async def test_a_record_that_stays_away_is_told_within_teams_patience(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.platforms.teams.dispatch._ACCEPT_SECONDS", 0.2)
    inbox.error = not_kept()
    response = await send_signed(client, teams, in_person(teams, "vpn?"))
    assert response.status == 503
    inbox.error = None
    assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 200
    assert inbox.only.text == "vpn?"

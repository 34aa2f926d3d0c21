"""Test that an answer in Teams comes, whichever response is lost and whatever is not taken."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.domain.interactions import Outcome, Response
from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.rendering.cards import MAY_BE_TWICE
from bot.store.database import Store
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE
from tests.fakes.teams import names
from tests.fakes.teams.builders import bot_at
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.server import FakeTeams

LOST = Fault(status=0, after=True)
MOST_CALLS = 40
WHERE = {"channel": names.HELP, "chat": chat_of(names.ALICE)}


async def answered_anew(
    teams: FakeTeams, store: Store, settings: Settings, cloud: Cloud, outcome: Outcome, where: str
) -> Counter[tuple[str, str]]:
    """Have a question answered by a process that knows nobody yet; return what is to be seen."""
    teams.visible.clear()
    teams.streams.clear()
    teams.calls.clear()
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store) as bot:
        await bot.answered(outcome, where=where)
    return Counter((post.place, post.shown[:20]) for post in teams.visible.values())


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("response", [ANSWER, HANDED_OVER], ids=["answer", "people"])
async def test_whichever_response_is_lost_nothing_is_twice_unsaid(
    teams: FakeTeams, store: Store, settings: Settings, cloud: Cloud, response: Response, where: str
) -> None:
    outcome, place = Outcome(response, TRACE), WHERE[where]
    expected = await answered_anew(teams, store, settings, cloud, outcome, place)
    beginning = next(iter(teams.visible.values())).shown[:20]
    calls = len(teams.calls)
    assert 3 <= calls <= MOST_CALLS
    for number in range(1, calls + 1):
        teams.faults_by_number = {number: LOST}
        seen = await answered_anew(teams, store, settings, cloud, outcome, place)
        said = sum(MAY_BE_TWICE in post.text for post in teams.visible.values())
        assert set(seen) >= set(expected), (number, teams.calls)
        assert seen.total() - expected.total() in {0, 1}, (number, teams.calls)
        assert seen[place, beginning] - said in {0, 1}, (number, teams.calls)


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    "field", ["citation", "keywords", "usageInfo", "feedbackLoop", "attachments", "actions"]
)
async def test_a_field_that_is_refused_by_name_silences_no_answer(
    teams: FakeTeams, store: Store, settings: Settings, cloud: Cloud, field: str, where: str
) -> None:
    teams.refused_fields = frozenset({field})
    seen = await answered_anew(teams, store, settings, cloud, Outcome(ANSWER, TRACE), WHERE[where])
    assert seen[WHERE[where], ANSWER.text[:20]] == 1
    assert all(stream.state == "completed" for stream in teams.streams.values())


async def test_a_roster_that_is_slow_holds_up_an_answer_and_loses_none(
    teams: FakeTeams, store: Store, settings: Settings, cloud: Cloud
) -> None:
    slow = Fault(200, seconds=0.5)
    teams.fail(slow, call="member")
    teams.fail(slow, call="members")
    seen = await answered_anew(teams, store, settings, cloud, Outcome(ANSWER, TRACE), names.HELP)
    assert seen[names.HELP, ANSWER.text[:20]] == 1
    assert not teams.faults["members"]

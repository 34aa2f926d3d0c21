"""Test that an answer on Slack comes once, whichever response is lost and however slow Slack is."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.domain.interactions import Outcome, Response
from bot.domain.settings import Settings
from bot.platforms.slack.channel import connect
from bot.store.database import Store
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE
from tests.fakes.slack.builders import Clock, bot_at
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import DIRECT, HELP
from tests.fakes.slack.server import FakeSlack

LOST = Fault(status=0, after=True)
MOST_CALLS = 40


async def answered_anew(
    slack: FakeSlack, store: Store, settings: Settings, outcome: Outcome, where: str
) -> Counter[tuple[str, str]]:
    """Have a question answered by a process that knows nobody yet; return what is to be seen."""
    slack.posts.clear()
    slack.calls.clear()
    channel = connect(settings, store.notes, caller=Clock().caller())
    async with bot_at(slack, channel, store) as bot:
        await bot.answered(outcome, channel=where)
    shown = (post for post in slack.posts if post.by_bot)
    return Counter((post.channel, post.shown.partition("\n")[0]) for post in shown)


@pytest.mark.parametrize("where", [HELP, DIRECT], ids=["channel", "direct"])
@pytest.mark.parametrize("response", [ANSWER, HANDED_OVER], ids=["answer", "people"])
async def test_whichever_response_is_lost_everything_is_there_once(
    slack: FakeSlack, store: Store, settings: Settings, response: Response, where: str
) -> None:
    outcome = Outcome(response, TRACE)
    expected = await answered_anew(slack, store, settings, outcome, where)
    calls = len(slack.calls)
    assert 3 <= calls <= MOST_CALLS
    for number in range(1, calls + 1):
        slack.faults_by_number = {number: LOST}
        seen = await answered_anew(slack, store, settings, outcome, where)
        assert seen == expected, slack.calls[number - 1]


async def test_people_whom_slack_is_slow_to_tell_of_are_answered_all_the_same(
    slack: FakeSlack, store: Store, settings: Settings
) -> None:
    for method in ("users.info", "conversations.info"):
        slack.fail(method, Fault(seconds=0.5))
    seen = await answered_anew(slack, store, settings, Outcome(ANSWER, TRACE), HELP)
    assert seen.total() == 1
    assert not slack.faults["users.info"]


@pytest.mark.parametrize("field", ["title", "initiator_user_id", "loading_messages"])
async def test_a_field_that_is_refused_by_name_silences_no_answer(
    slack: FakeSlack, store: Store, settings: Settings, field: str
) -> None:
    slack.refused_fields = frozenset({field})
    seen = await answered_anew(slack, store, settings, Outcome(ANSWER, TRACE), HELP)
    assert seen.total() == 1

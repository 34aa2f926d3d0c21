"""What the people's channel is reminded of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.cases import Case, CaseStatus, Notice
from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.bot.adapters.outcomes import HANDED_OVER, delivery
from tests.bot.adapters.slack.questions import PEOPLE, question
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.escalations.fakes import case_of, notice_of

PING: Notice = notice_of(question(), 2, step="ping", to="people", actor=None, text="")


def waiting() -> Case:
    """Return a question that has waited for half an hour."""
    since = datetime.now(UTC) - timedelta(minutes=30)
    return case_of(question(), opened_at=since, changed_at=since)


async def test_it_says_how_long_the_question_waits_and_where_it_is(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings.model_copy(update={"public_url": "https://desk.example.com"}))
    await channel.deliver(delivery(question(), HANDED_OVER))
    ref = await channel.remind(waiting(), PING)
    card, post = slack.in_channel(PEOPLE)
    assert ref is not None
    assert (ref.channel, ref.id) == (PEOPLE, post.ts)
    assert "waited for 30 minutes" in post.shown
    assert "> vpn down?" in post.shown
    assert f"p{card.ts.replace('.', '')}|See the question>" in post.shown
    address = f"https://desk.example.com/board/escalations/{question().interaction_id}"
    assert f"<{address}|Take it on the board>" in post.shown


async def test_without_an_address_it_is_named(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(waiting(), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert f"On the board it is {question().interaction_id}." in post.shown


async def test_what_was_asked_elsewhere_is_not_quoted(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    """Slack would keep it when it is withdrawn there."""
    await channel.remind(replace(waiting(), channel="web:anna"), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert "Asked by web." in post.shown
    assert "vpn down?" not in post.shown


async def test_a_question_that_was_opened_again_is_told_as_such(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    case = replace(waiting(), standing=CaseStatus("reopened"))
    await channel.remind(case, replace(PING, step="reopen"))
    (post,) = slack.in_channel(PEOPLE)
    assert "*A question was opened again* and nobody has it." in post.shown


async def test_mentions_in_the_question_are_dead(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(replace(waiting(), question="<!channel> help\n" + "word " * 200), PING)
    (post,) = slack.in_channel(PEOPLE)
    assert "&lt;!channel&gt; help word" in post.raw
    assert len(post.raw) < 700


async def test_without_a_channel_there_is_nothing_to_do(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings.model_copy(update={"slack_escalation_channel": None}))
    assert await channel.remind(waiting(), PING) is None
    assert not slack.calls


async def test_it_is_looked_up_before_it_is_repeated(slack: FakeSlack, settings: Settings) -> None:
    slack.fail("chat.postMessage", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await connect(settings).remind(waiting(), PING)
    ref = await connect(settings).remind(waiting(), replace(PING, attempts=1))
    (post,) = slack.in_channel(PEOPLE)
    assert ref is not None
    assert ref.id == post.ts


async def test_a_second_reminder_is_another(slack: FakeSlack, channel: SlackChannel) -> None:
    await channel.remind(waiting(), PING)
    await channel.remind(waiting(), replace(PING, id="another", number=3))
    assert len(slack.in_channel(PEOPLE)) == 2


async def test_a_first_reminder_does_without_what_can_not_be_looked_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("conversations.history", Fault(error="missing_scope"))
    assert await channel.remind(waiting(), PING) is not None
    slack.fail("conversations.history", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="missing_scope"):
        await channel.remind(waiting(), replace(PING, attempts=1))


async def test_a_withdrawn_question_takes_its_reminders_along(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), HANDED_OVER))
    await channel.remind(waiting(), PING)
    await channel.withdraw(question(), [])
    assert not slack.in_channel(PEOPLE)


async def test_people_are_told_what_is_no_question_with_nothing_live(
    slack: FakeSlack, settings: Settings
) -> None:
    channel = connect(settings)
    await channel.tell_people("I stopped <!here> in <https://evil.example|HR>. reindex HR --all")
    (post,) = slack.in_channel(PEOPLE)
    assert "I stopped" in post.shown
    assert "reindex HR --all" in post.shown
    assert "<!here" not in post.raw
    assert "<https://evil" not in post.raw
    await connect(settings.model_copy(update={"slack_escalation_channel": None})).tell_people("x")
    assert len(slack.in_channel(PEOPLE)) == 1

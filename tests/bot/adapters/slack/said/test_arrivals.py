"""The bot comes into a channel, or somebody opens it."""

from __future__ import annotations

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import BOB, ELSEWHERE
from tests.bot.house import until


async def test_it_says_hello_once_in_a_channel_that_it_comes_into(
    slack: FakeSlack, ann: Visitor
) -> None:
    await ann.invites(ELSEWHERE)
    await until(lambda: slack.answers(ELSEWHERE))
    slack.channels.discard(ELSEWHERE)
    await ann.invites(ELSEWHERE)
    await ann.invites("C0OTHER00")
    await until(lambda: slack.answers("C0OTHER00"))

    (hello,) = slack.answers(ELSEWHERE)
    assert "Mention me" in hello.shown
    assert hello.payload["unfurl_links"] is False
    assert {answer.status for answer in ann.answers} == {200}


async def test_people_who_come_in_are_not_greeted(slack: FakeSlack, ann: Visitor) -> None:
    bob = Visitor(slack, ann.door, BOB)
    await bob.joins("C0HELP000")
    await ann.open_home()
    await until(lambda: slack.prompts)

    assert not slack.posts


async def test_who_opens_its_messages_is_offered_questions_at_most_once_an_hour(
    slack: FakeSlack, ann: Visitor
) -> None:
    await ann.open_home("home")
    await ann.open_home()
    await ann.open_home()
    bob = Visitor(slack, ann.door, BOB)
    await bob.open_home()
    await until(lambda: len(slack.prompts) == 2)

    assert [each["channel_id"] for each in slack.prompts] == [ann.direct, bob.direct]
    assert 1 <= len(slack.prompts[0]["prompts"]) <= 4


async def test_a_plan_without_prompts_changes_nothing_else(slack: FakeSlack, ann: Visitor) -> None:
    slack.fail("assistant.threads.setSuggestedPrompts", Fault(error="feature_not_enabled"))
    await ann.open_home()
    await until(lambda: "assistant.threads.setSuggestedPrompts" in slack.calls)

    assert ann.answers[-1].status == 200

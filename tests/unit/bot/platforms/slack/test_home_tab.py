"""Tests of Slack's Home tab and of the words that list one's own cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders
from bot.chat.commands.overview import Overview
from bot.chat.commands.types import Admins
from bot.domain.interactions import Escalation, Outcome
from bot.escalations.own_cases import OwnCases
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.home_tab import REDRAWN_SECONDS, HomeTab, home_blocks
from bot.platforms.slack.slash_commands import COMMAND_SPELLING
from tests.fakes.builders import NOON
from tests.fakes.desk import TRACE
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot, Clock
from tests.fakes.slack.names import ALICE, BOB, GUEST
from tests.fakes.slack.posts import home_problem
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

ASKED = Escalation("Noted.", "low_confidence", "Where is the blue socket?")


def home(slack: FakeSlack, user: str = ALICE) -> str:
    """Return what somebody reads at their Home tab, "" before it was drawn."""
    views = slack.home_tabs.get(user, [])
    return views[-1].shown if views else ""


async def open_home(slack: FakeSlack, visitor: Visitor) -> str:
    await visitor.open_home("home")
    await wait_until(lambda: home(slack, visitor.id))
    return home(slack, visitor.id)


async def test_the_home_tab_lists_ones_cases_and_what_can_be_asked(
    slack: FakeSlack, bot: Bot
) -> None:
    await bot.answered(escalated())

    shown = await open_home(slack, bot.person())

    assert "Where is the blue socket?" in shown
    assert "waiting, less" in shown
    assert "What you can ask" in shown


async def test_nobody_sees_what_others_asked(slack: FakeSlack, bot: Bot) -> None:
    await bot.answered(escalated())

    assert "socket" not in await open_home(slack, bot.person(BOB))


async def test_a_guest_is_told_that_it_is_for_colleagues(slack: FakeSlack, bot: Bot) -> None:
    assert await open_home(slack, bot.person(GUEST)) == "Only colleagues can do this."


async def test_the_words_my_cases_are_answered_in_private(slack: FakeSlack, bot: Bot) -> None:
    await bot.answered(escalated())
    alice = bot.person()

    ts = await alice.say(alice.direct, "My cases")

    await wait_until(lambda: slack.in_thread(alice.direct, ts))
    assert "Where is the blue socket?" in slack.in_thread(alice.direct, ts)[-1].shown
    assert len(bot.said.asked) == 1


async def test_the_same_message_sent_again_is_answered_once(slack: FakeSlack, bot: Bot) -> None:
    alice = bot.person()
    alice.held = []
    ts = await alice.say(alice.direct, "my cases")
    for event in alice.held * 2:
        await alice.door.event(event)

    await wait_until(lambda: slack.in_thread(alice.direct, ts))
    assert len(slack.in_thread(alice.direct, ts)) == 1


async def test_changes_redraw_the_tab_once_a_minute_at_most(
    slack: FakeSlack, channel: SlackChannel, context: ChatContext
) -> None:
    time = Clock()
    tab = HomeTab(
        channel.client, context.commands, senders(channel), channel.background, clock=time.read
    )

    async def draws(*changes: str) -> int:
        tab.changed(*changes)
        await channel.background.finish()
        return len(slack.home_tabs.get(ALICE, []))

    assert await draws(ALICE) == 0
    tab.open(ALICE)
    assert await draws() == 1
    time.now += REDRAWN_SECONDS
    assert await draws(BOB, ALICE) == 2
    assert await draws(ALICE, ALICE) == 2


def test_channels_are_links_and_as_many_as_a_section_holds() -> None:
    channels = ("slack:C0HELP000", "teams:19:a&b@thread.tacv2", *(f"slack:C{n}" for n in range(99)))
    overview = Overview(OwnCases(), channels=channels)

    shown = _view_text(list(home_blocks(overview, NOON)))

    assert "<#C0HELP000>, teams:19:a&amp;b@thread.tacv2, <#C0>" in shown
    assert "and 76 more" in shown
    assert home_problem({"type": "home", "blocks": list(home_blocks(overview, NOON))}) == ""


def _view_text(blocks: Sequence[Mapping[str, object]]) -> str:
    return "\n".join(str(block.get("text")) for block in blocks)


def senders(channel: SlackChannel) -> CommandSenders:
    return CommandSenders(
        platform="slack",
        colleague=channel.colleagues.of,
        admins=Admins("SLACK_ADMINS"),
        spelling=COMMAND_SPELLING,
    )


def escalated() -> Outcome:
    return Outcome(ASKED, TRACE)

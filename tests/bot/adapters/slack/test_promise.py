"""The promise on Slack: whatever fails and whoever dies, all of a reply is seen once."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.bot.adapters.outcomes import HANDED_OVER, delivery
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.questions import PEOPLE, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.showing.test_lookup import LONG, LOST, parts
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import TOKEN

FAULTS = st.sampled_from(
    [
        None,
        LOST,
        Fault(status=0),
        Fault(status=500),
        Fault(status=503, after=True),
        Fault(error="fatal_error", after=True),
        Fault(status=429, error="ratelimited", retry_after="30"),
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    posting=st.lists(FAULTS, max_size=6),
    looking=st.lists(FAULTS, max_size=3),
    restarts=st.lists(st.booleans(), min_size=12, max_size=12),
    escalated=st.booleans(),
)
def test_whatever_fails_and_whoever_dies_all_of_it_is_seen_once(
    posting: list[Fault | None],
    looking: list[Fault | None],
    restarts: list[bool],
    *,
    escalated: bool,
) -> None:
    sent = delivery(question(), HANDED_OVER if escalated else LONG)

    async def run() -> None:
        async with FakeSlack().serving() as slack:
            slack.fail("chat.postMessage", *posting)
            slack.fail("conversations.replies", *looking)
            ref = await _until_posted(slack, sent, restarts)
            seen = parts(slack)
            assert seen == [str(n) for n in range(1, len(seen) + 1)]
            assert (len(seen) > 1) != escalated
            assert ref.id == replies(slack)[-1].ts
            cards = [post.part for post in slack.in_channel(PEOPLE)]
            assert cards == ["card"] * escalated

    asyncio.run(run())


async def _until_posted(slack: FakeSlack, sent: Delivery, restarts: list[bool]) -> PostedRef:
    """Deliver as the inbox does: looked up before every repetition, by whichever process."""
    clock = Clock()
    channel = _channel(slack, clock)
    begun = False
    for restart in restarts:
        channel = _channel(slack, clock) if restart else channel
        try:
            there = await channel.find(sent) if begun else None
            begun = True
            return there or await channel.deliver(sent)
        except DeliveryFailed as error:
            clock.now += error.retry_after_seconds or 1
    raise AssertionError("It was never posted.")


def _channel(slack: FakeSlack, clock: Clock) -> SlackChannel:
    given_settings = load_settings(
        _env_file=None,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_escalation_channel=PEOPLE,
    )
    return connect(given_settings, caller=clock.caller())

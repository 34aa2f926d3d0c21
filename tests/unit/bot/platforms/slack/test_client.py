"""Test calls of Slack's Web API: errors, rate limits, retries, and plainer forms of a message."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain import handoff
from bot.domain.errors import DeliveryFailed, DeliveryRefused, RateLimited
from bot.domain.messages import Activity, Stage
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.client.errors import ResultUnknown
from bot.platforms.slack.client.posting import RefusedBlocks
from bot.platforms.slack.client.rate_limits import ApiCaller, RateLimiter
from bot.platforms.slack.rendering import MessageForm
from tests.fakes.desk import ANSWER, HANDED_OVER, OFFERED, delivery
from tests.fakes.slack.blocks import BLOCK_TYPES
from tests.fakes.slack.builders import HELP, PEOPLE, ROOT, Clock, question, replies
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack


def limited(seconds: str) -> Fault:
    return Fault(status=429, error="ratelimited", retry_after=seconds)


async def test_a_short_limit_is_waited_out(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.fail("chat.postMessage", limited("1"), limited(""))
    await channel.deliver(delivery(question()))
    assert waits == [1.0, 1.0]
    assert len(replies(slack)) == 1


@pytest.mark.parametrize(("asked", "faults"), [("3", 1), ("3600", 1), ("1", 3), ("0", 5)])
async def test_a_longer_limit_goes_back_with_its_time(
    slack: FakeSlack, channel: SlackChannel, waits: list[float], asked: str, faults: int
) -> None:
    slack.fail("chat.postMessage", *[limited(asked)] * faults)
    with pytest.raises(DeliveryFailed, match="rate limit") as failed:
        await channel.deliver(delivery(question()))
    assert failed.value.retry_after_seconds == max(float(asked), 0.5)
    assert sum(waits) <= 2.0
    assert not slack.posts


@pytest.mark.parametrize("retry_after", ["soon", "nan", "-5"])
async def test_a_limit_that_cannot_be_read_is_waited_out_all_the_same(
    slack: FakeSlack, channel: SlackChannel, waits: list[float], retry_after: str
) -> None:
    slack.fail("chat.postMessage", limited(retry_after))
    await channel.deliver(delivery(question()))
    assert len(waits) == 1
    assert 0.0 < waits[0] <= 1.0


@pytest.mark.parametrize(
    "error",
    [
        "channel_not_found",
        "not_in_channel",
        "invalid_auth",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "missing_scope",
        "restricted_action",
        "messages_tab_disabled",
        "something_new_in_2030",
    ],
)
async def test_what_an_admin_can_mend_is_tried_again_later(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(DeliveryFailed, match=error) as failed:
        await channel.deliver(delivery(question()))
    assert not isinstance(failed.value, DeliveryRefused | ResultUnknown)


@pytest.mark.parametrize(
    "error",
    [
        "is_archived",
        "cannot_reply_to_message",
        "restricted_action_thread_locked",
        "thread_not_found",
        "user_disabled",
    ],
)
async def test_what_will_not_change_is_given_up(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(DeliveryRefused, match=error):
        await channel.deliver(delivery(question()))


async def test_a_message_that_slack_takes_in_no_form_is_given_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", *[Fault(error="msg_too_long")] * 7)
    with pytest.raises(DeliveryRefused, match="every form"):
        await channel.deliver(delivery(question()))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, after=True),
        Fault(status=502, page="<html>bad gateway</html>"),
        Fault(status=200, page="please sign in to the hotel network"),
        Fault(status=0, after=True),
        Fault(error="fatal_error", after=True),
        Fault(error="internal_error"),
    ],
    ids=["500", "proxy's 502", "captive portal", "cut", "fatal_error", "internal_error"],
)
async def test_an_answer_that_does_not_tell_leaves_slack_time_to_list_what_it_took(
    slack: FakeSlack, channel: SlackChannel, fault: Fault
) -> None:
    slack.fail("chat.postMessage", fault)
    with pytest.raises(ResultUnknown) as failed:
        await channel.deliver(delivery(question()))
    assert failed.value.retry_after_seconds == 2.0
    assert slack.calls == ["chat.postMessage"]


async def test_a_slack_that_is_not_there_fails(settings: Settings) -> None:
    away = settings.model_copy(update={"slack_api_url": "http://127.0.0.1:1/api/"})
    with pytest.raises(DeliveryFailed, match="cannot be reached") as failed:
        await connect(away).deliver(delivery(question()))
    assert not isinstance(failed.value, ResultUnknown | DeliveryRefused)


async def test_a_turn_that_takes_too_long_to_come_is_given_up_and_nothing_is_sent() -> None:
    sent: list[int] = []

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    async def send() -> AsyncSlackResponse:
        sent.append(1)
        return cast("AsyncSlackResponse", {})

    caller = ApiCaller(never)
    for _ in range(90):
        await caller.call("users.info", send, turn_seconds=0.01)
    for _ in range(2):
        with pytest.raises(RateLimited):
            await caller.call("users.info", send, turn_seconds=0.01)
    assert len(sent) == 90


POST, UPDATE = "chat.postMessage", "chat.update"


@pytest.fixture
def pacing(clock: Clock) -> RateLimiter:
    return RateLimiter(clock.pause, clock.read)


async def test_a_channel_is_written_to_once_a_second(pacing: RateLimiter, clock: Clock) -> None:
    for _ in range(4):
        await pacing.acquire(POST, "C1")
    assert clock.waits == [1.0, 1.0, 1.0]


async def test_another_channel_does_not_wait_for_the_first(
    pacing: RateLimiter, clock: Clock
) -> None:
    await pacing.acquire(POST, "C1")
    await pacing.acquire(POST, "C2")
    assert not clock.waits


@given(
    st.sampled_from([("reactions.remove", 20), (UPDATE, 50), ("chat.postEphemeral", 100)]),
    st.lists(st.floats(min_value=0, max_value=40), min_size=150, max_size=200),
)
def test_no_minute_has_more_calls_than_its_tier_allows(
    tier: tuple[str, int], gaps: list[float]
) -> None:
    method, most = tier
    clock = Clock()
    pacing = RateLimiter(clock.pause, clock.read)
    calls: list[float] = []

    async def run() -> None:
        for gap in gaps:
            clock.now += gap if gap > 20 else 0
            await pacing.acquire(method)
            calls.append(clock.now)

    asyncio.run(run())
    for at, begin in enumerate(calls):
        assert sum(begin <= call < begin + 60 for call in calls[at:]) <= most


async def test_what_slack_refuses_is_refused_to_everybody_until_it_ends(
    pacing: RateLimiter, clock: Clock
) -> None:
    pacing.hold(UPDATE, "", 30)
    assert pacing.held(UPDATE) == 30
    assert not pacing.try_acquire(UPDATE)
    await pacing.acquire(UPDATE)
    assert clock.now == 1_030
    assert pacing.held(UPDATE) == 0


async def test_a_hold_that_comes_while_one_waits_is_waited_out_as_well() -> None:
    clock = Clock()

    async def pause(seconds: float) -> None:
        if clock.now < 1_001:
            paced.hold(POST, "C1", 10)
        await clock.pause(seconds)

    paced = RateLimiter(pause, clock.read)
    await paced.acquire(POST, "C1")
    await paced.acquire(POST, "C1")
    assert clock.now == 1_010


async def test_what_may_be_skipped_is_told_that_there_is_no_room(
    pacing: RateLimiter, clock: Clock
) -> None:
    assert pacing.try_acquire(POST, "C1")
    assert not pacing.try_acquire(POST, "C1")
    clock.now += 1
    assert pacing.try_acquire(POST, "C1")
    assert not clock.waits


async def test_what_may_be_skipped_leaves_a_third_of_the_calls_to_others(
    pacing: RateLimiter, clock: Clock
) -> None:
    skipped = [pacing.try_acquire(UPDATE) for _ in range(100)]
    assert skipped.count(True) == 30
    for _ in range(15):
        await pacing.acquire(UPDATE)
    assert not clock.waits


async def test_whoever_asked_first_goes_first_also_when_one_gives_up() -> None:
    clock, gate = Clock(), asyncio.Event()
    went: list[int] = []

    async def pause(seconds: float) -> None:
        await gate.wait()
        await clock.pause(seconds)

    pacing = RateLimiter(pause, clock.read)

    async def go(number: int) -> None:
        await pacing.acquire(POST, "C1")
        went.append(number)

    tasks = [asyncio.create_task(go(number)) for number in range(6)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[3].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert went == [0, 2, 4, 5]
    assert clock.now == 1_003


async def test_looking_for_an_opening_takes_nothing_away(pacing: RateLimiter, clock: Clock) -> None:
    await pacing.acquire(POST, "C1")
    await pacing.until_allowed(POST, "C1")
    await pacing.until_allowed(POST, "C1")
    assert clock.waits == [1.0]
    assert pacing.try_acquire(POST, "C1")


PRESSED = {"context_actions", "actions"}
UNNAMED = Fault(error="invalid_blocks")


def kinds(post: Post) -> set[str]:
    return {block["type"] for block in post.blocks}


@pytest.mark.parametrize(
    ("refused", "left"),
    [
        (set(), {"markdown", "section", "context_actions", "actions", "context"}),
        ({"context_actions"}, {"markdown", "section", "actions", "context"}),
        (PRESSED, {"markdown", "section", "context"}),
        ({"actions"}, {"markdown", "section", "context"}),
        ({"markdown"}, {"section", "context_actions", "actions", "context"}),
        ({"markdown", "context_actions"}, {"section", "actions", "context"}),
        ({"markdown", *PRESSED}, {"section", "context"}),
        ({"section"}, set()),
    ],
)
async def test_what_a_workspace_refuses_is_left_out_and_nothing_else(
    slack: FakeSlack, channel: SlackChannel, refused: set[str], left: set[str]
) -> None:
    slack.block_types = BLOCK_TYPES - refused
    await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert kinds(post) == left
    assert "Restart the client [1]." in post.shown
    assert "|VPN guide" in post.raw
    assert ("human" in post.shown) == ("actions" not in left)


@pytest.mark.parametrize("refused", [1, 2, 3, 4, 5, 6])
async def test_refusals_that_name_no_block_lead_to_a_plainer_form_too(
    slack: FakeSlack, channel: SlackChannel, refused: int
) -> None:
    slack.fail("chat.postMessage", *[UNNAMED] * refused)
    await channel.deliver(delivery(question()))
    assert len(replies(slack)) == 1
    assert slack.calls.count("chat.postMessage") == refused + 1


async def test_what_was_refused_is_not_tried_with_the_next_message(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.block_types = BLOCK_TYPES - {"context_actions"}
    for number in range(3):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert slack.calls.count("chat.postMessage") == 4
    assert all("actions" in kinds(post) for post in replies(slack))


async def test_a_message_that_is_too_long_says_nothing_of_the_next(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", Fault(error="msg_blocks_too_long"))
    for number in range(2):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert ["context_actions" in kinds(post) for post in replies(slack)] == [False, True]


async def test_an_offer_can_be_taken_up_with_words_where_buttons_are_refused(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.block_types = BLOCK_TYPES - PRESSED
    offer = replace(OFFERED, text=f"Not sure. {handoff.HANDOFF_OFFER}")
    await channel.deliver(delivery(question(private=True), offer))
    (post,) = slack.posts
    assert handoff.HANDOFF_QUESTION in post.shown
    assert "Reply \u201cyes\u201d in this thread." in post.shown
    assert not post.labels


async def test_what_is_refused_of_a_whisper_is_not_missing_in_the_thread(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postEphemeral", UNNAMED)
    await channel.private_replies.whisper(question(), ANSWER)
    await channel.deliver(delivery(question()))
    assert "markdown" in kinds(replies(slack)[-1])


async def test_refused_cards_cost_answers_none_of_their_buttons(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    for number in range(2):
        slack.fail("chat.postMessage", *[UNNAMED] * 2)
        asked = replace(question(id=f"1700000000.00010{number}"), text=f"vpn down? {number}")
        assert await channel.people.ask(delivery(asked, HANDED_OVER))
    assert [kinds(card) for card in slack.in_channel(PEOPLE)] == [set()] * 2
    await channel.deliver(delivery(question()))
    assert kinds(replies(slack)[-1]) >= PRESSED


@pytest.mark.mended(id="slack-6")
def test_an_unknown_type_is_left_out_for_ten_minutes() -> None:
    clock = Clock()
    refusals = RefusedBlocks(clock.read)
    rich, plain = MessageForm("a", ({"type": "markdown"},)), MessageForm("a")
    refusals.unknown(["markdown"])
    assert refusals.accepted((rich, plain)) == [plain]
    clock.now += 601
    assert refusals.accepted((rich, plain)) == [rich, plain]


@pytest.mark.mended(id="slack-6")
@pytest.mark.parametrize(
    ("texts", "pause", "learned"),
    [("a", 0, False), ("aa", 0, False), ("ab", 0, True), ("ab", 601, False)],
    ids=["one", "the same again", "another", "another much later"],
)
def test_a_kind_is_refused_once_two_messages_went_without_it(
    texts: str, pause: int, *, learned: bool
) -> None:
    clock = Clock()
    refusals = RefusedBlocks(clock.read)
    for text in texts:
        rich, plain = MessageForm(text, ({"type": "markdown"},)), MessageForm(text)
        refusals.learn([rich], plain)
        clock.now += pause
    assert refusals.accepted((rich, plain)) == ([plain] if learned else [rich, plain])


@pytest.mark.mended(id="slack-6")
async def test_one_refused_message_costs_the_next_none_of_its_buttons(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", *[UNNAMED] * 3)
    for number in range(2):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert {"markdown", *PRESSED} <= kinds(replies(slack)[-1])


@pytest.mark.mended(id="slack-6")
@pytest.mark.parametrize("code", ["msg_too_long", "msg_blocks_too_long"])
async def test_what_is_too_long_is_shortened_and_keeps_its_buttons(
    slack: FakeSlack, channel: SlackChannel, code: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=code))
    long = replace(ANSWER, text="Restart the client [1]. " + "word " * 1_500)
    await channel.deliver(delivery(question(), long))
    (post,) = replies(slack)
    assert kinds(post) >= PRESSED
    assert "Restart the client [1]." in post.shown
    assert "|VPN guide" in post.raw
    assert "did not accept the whole message" in post.shown
    assert len(post.shown) < len(long.text) / 2


@pytest.mark.mended(id="teams-2")
async def test_a_line_stands_for_what_slack_takes_in_no_form(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("assistant.threads.setStatus", Fault(error="not_allowed_token_type"))
    slack.fail("chat.postMessage", *[UNNAMED] * 7)
    async with channel.session():
        await channel.progress(question(), Activity(Stage.SEARCHING), None)
        with pytest.raises(DeliveryRefused):
            await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert handoff.ON_HELP_DESK_LIST in post.shown
    asked = slack.message_at(HELP, ROOT)
    assert asked is not None
    assert "eyes" not in asked.reactions

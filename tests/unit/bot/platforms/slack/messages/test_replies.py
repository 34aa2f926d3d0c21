"""Test that a reply is posted once, found again by other processes, and withdrawn whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import Delivery, PostedRef, Reply
from bot.domain.ports import Withdraws
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.payloads.metadata import is_ts, thread_of, ts_of
from tests.fakes.desk import ANSWER, HANDED_OVER, delivery
from tests.fakes.slack.builders import (
    DIRECT,
    HELP,
    PEOPLE,
    ROOT,
    Clock,
    question,
    replies,
    unhurried,
)
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import TOKEN
from tests.fakes.slack.server import FakeSlack

LONG_REPLY = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 100 for n in range(60)))
LOST = Fault(status=0, after=True)
LOOK_UPS = {"conversations.replies", "conversations.history"}


def looked_up(slack: FakeSlack) -> int:
    return sum(call in LOOK_UPS for call in slack.calls)


def parts(slack: FakeSlack) -> list[str]:
    return [post.part for post in replies(slack)]


async def test_a_first_delivery_looks_nothing_up(slack: FakeSlack, channel: SlackChannel) -> None:
    for number in range(3):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}"), HANDED_OVER))
    assert looked_up(slack) == 0
    assert len(replies(slack)) == len(slack.in_channel(PEOPLE)) == 3


@pytest.mark.parametrize("private", [False, True])
async def test_another_process_finds_the_last_part(
    slack: FakeSlack, settings: Settings, *, private: bool
) -> None:
    sent = delivery(question(private=private), LONG_REPLY)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    assert len(slack.posts) > 1
    assert ref == PostedRef(DIRECT if private else HELP, slack.posts[-1].ts)
    assert await connect(settings, caller=unhurried()).find(sent) == ref


async def test_nothing_is_found_of_what_was_never_posted(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question()))
    other = question(id="1700000000.000200")
    assert await channel.find(delivery(other)) is None
    assert await channel.find(replace(delivery(question()), id="another")) is None
    assert len(slack.posts) == 1


async def test_a_reply_that_was_taken_without_saying_so_is_found(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    (post,) = replies(slack)
    assert await channel.find(sent) == PostedRef(HELP, post.ts)


async def test_only_missing_parts_are_added_after_a_restart(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(), LONG_REPLY)
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await connect(settings, caller=unhurried()).deliver(sent)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) is None
    ref = await channel.deliver(sent)
    assert looked_up(slack) == 1
    assert parts(slack) == [str(n) for n in range(1, len(parts(slack)) + 1)]
    assert ref.id == replies(slack)[-1].ts


async def test_a_card_that_went_out_alone_is_not_repeated(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await connect(settings, caller=unhurried()).deliver(sent)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert len(slack.in_channel(PEOPLE)) == len(replies(slack)) == 1
    assert "I've asked the people" in replies(slack)[0].shown


async def test_a_reply_that_told_of_no_card_is_complete(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.channels.remove(PEOPLE)
    sent = delivery(question(), HANDED_OVER)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    slack.channels.add(PEOPLE)
    assert await connect(settings, caller=unhurried()).find(sent) == ref


async def test_a_people_channel_without_the_bot_does_not_hold_up_the_reply(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.channels.remove(PEOPLE)
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", Fault(error="not_in_channel"), Fault(status=500))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert ON_HELP_DESK_LIST in replies(slack)[0].shown


async def test_people_are_asked_after_an_outage_and_not_given_up_on(
    slack: FakeSlack, channel: SlackChannel, clock: Clock
) -> None:
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", Fault(status=429, error="ratelimited", retry_after="30"))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert not slack.posts
    assert await channel.find(sent) is None
    clock.now += 30
    await channel.deliver(sent)
    assert len(slack.in_channel(PEOPLE)) == 1
    assert "I've asked the people" in replies(slack)[0].shown


async def test_repeating_without_looking_up_first_duplicates_nothing_in_one_process(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question(), HANDED_OVER)
    first = await channel.deliver(sent)
    assert await channel.deliver(sent) == first
    assert len(slack.posts) == 2


async def test_a_busy_thread_and_a_busy_channel_are_read_to_the_end(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.page_size = 10
    slack.say(HELP, ROOT, 55)
    sent = delivery(question(), HANDED_OVER)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    slack.say(PEOPLE, None, 55)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) == ref
    slack.posts.remove(replies(slack)[0])
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert len(replies(slack)) == 1
    assert sum(post.part == "card" for post in slack.in_channel(PEOPLE)) == 1


async def test_looking_up_has_an_end(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.page_size = 5
    slack.say(HELP, ROOT, 100)
    assert await channel.find(delivery(question())) is None
    assert looked_up(slack) == 10


async def test_a_look_up_that_fails_is_not_taken_for_an_absence(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    await channel.deliver(sent)
    slack.fail("conversations.replies", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="Add the scope"):
        await channel.find(sent)


async def test_a_question_that_was_deleted_has_no_reply(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.gone.add(ROOT)
    assert await channel.find(delivery(question())) is None


LONG_ANSWER = replace(ANSWER, text="\n\n".join("word " * 100 for _ in range(60)))


def test_slack_takes_replies_back(channel: SlackChannel) -> None:
    assert isinstance(channel, Withdraws)


@pytest.mark.parametrize("recorded", [True, False])
async def test_every_part_of_a_reply_goes_and_nothing_else(
    slack: FakeSlack, settings: Settings, *, recorded: bool
) -> None:
    slack.say(HELP, ROOT, 3)
    other = await connect(settings, caller=unhurried()).deliver(
        delivery(question(id="1700000000.000300"))
    )
    ref = await connect(settings, caller=unhurried()).deliver(delivery(question(), LONG_ANSWER))
    assert len(replies(slack)) > 2
    await connect(settings, caller=unhurried()).withdraw(question(), [ref] if recorded else [])
    assert [post.ts for post in replies(slack)] == [other.id]
    assert len(slack.in_thread(HELP, ROOT)) == 4


async def test_the_card_goes_too_for_its_words_are_the_askers(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.say(PEOPLE, None, 2)
    await connect(settings, caller=unhurried()).deliver(
        delivery(question(id="1700000000.000300"), HANDED_OVER)
    )
    ref = await connect(settings, caller=unhurried()).deliver(delivery(question(), HANDED_OVER))
    await connect(settings, caller=unhurried()).withdraw(question(), [ref])
    assert [post.part for post in slack.in_channel(PEOPLE)] == ["", "", "card"]
    assert len(replies(slack)) == 1


async def test_what_is_gone_already_is_no_error(slack: FakeSlack, channel: SlackChannel) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.posts.clear()
    slack.gone.add(ROOT)
    await channel.withdraw(question(), [ref])
    await channel.withdraw(question(), [ref])
    assert slack.calls.count("chat.delete") == 2


async def test_each_message_is_deleted_once(slack: FakeSlack, channel: SlackChannel) -> None:
    ref = await channel.deliver(delivery(question()))
    await channel.withdraw(question(), [ref, ref])
    assert slack.calls.count("chat.delete") == 1


async def test_a_withdrawal_that_stopped_half_way_is_completed(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), LONG_ANSWER))
    slack.fail("chat.delete", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await channel.withdraw(question(), [])
    assert replies(slack)
    await channel.withdraw(question(), [])
    assert not replies(slack)


async def test_what_may_never_be_deleted_is_given_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.archived.add(HELP)
    with pytest.raises(DeliveryRefused, match="is_archived"):
        await channel.withdraw(question(), [ref])


async def test_a_recorded_reply_goes_even_where_nothing_can_be_looked_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.fail("conversations.replies", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="missing_scope"):
        await channel.withdraw(question(), [ref])
    assert not replies(slack)


@pytest.mark.parametrize("id_", [ROOT, f"{ROOT}:person", f"{ROOT}:option:2"])
def test_a_press_is_where_it_was_made(id_: str) -> None:
    assert ts_of(question(id=id_)) == ROOT
    assert thread_of(question(id=id_)).since == ROOT


@pytest.mark.parametrize("id_", ["13345224609.738474920.8088930838d88f008e0", "", "command:1"])
def test_what_has_no_ts_is_sought_from_when_it_was_received(id_: str) -> None:
    received_at = datetime(2026, 11, 22, 12, 0, 5, tzinfo=UTC)
    at = ts_of(replace(question(id=id_), received_at=received_at))
    assert float(at) == received_at.timestamp() - 60
    assert is_ts(at)


async def test_the_reply_to_a_press_is_found_by_another_process_and_taken_back(
    slack: FakeSlack, settings: Settings, channel: SlackChannel
) -> None:
    first, press = question(), question(id=f"{ROOT}:person")
    answer = await channel.deliver(delivery(first))
    ref = await channel.deliver(delivery(press))
    assert ref != answer
    other = connect(settings, caller=unhurried())
    assert await other.find(delivery(press)) == ref
    assert await other.find(delivery(first)) == answer
    await other.withdraw(press, [])
    assert [(HELP, post.ts) for post in replies(slack)] == [(HELP, answer.id)]


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
    sent = delivery(question(), HANDED_OVER if escalated else LONG_REPLY)

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


async def test_an_answer_that_is_taken_away_leaves_one_message(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(), LONG_REPLY)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    assert len(replies(slack)) > 1

    gone = replace(sent, outcome=replace(sent.outcome, response=Reply("Gone.", "generic")))
    await connect(settings, caller=unhurried()).correct(gone, ref)

    (left,) = replies(slack)
    assert (left.ts, left.shown) == (ref.id, "Gone.")


async def test_an_answer_that_is_gone_or_was_ephemeral_is_not_edited(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    ref = await channel.deliver(sent)
    await channel.withdraw(sent.message, [ref])

    for posted in (ref, PostedRef(HELP, sent.id)):
        with pytest.raises(DeliveryRefused):
            await channel.correct(sent, posted)
    assert not replies(slack)


@pytest.mark.parametrize("private", [False, True])
async def test_a_note_reaches_its_asker_alone_and_is_not_live(
    slack: FakeSlack, channel: SlackChannel, *, private: bool
) -> None:
    await channel.note(question(private=private), "It has changed, <!here> @you.")

    (note,) = slack.posts
    assert note.channel == DIRECT
    assert "It has changed" in note.shown
    assert "<!here>" not in note.raw

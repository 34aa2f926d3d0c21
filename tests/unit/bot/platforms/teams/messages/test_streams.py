"""Test native streams in personal chats, and Stop pressed while one is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.response_view import COMPOSED_NOTE
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.interactions import Interaction, Outcome, PostedRef, Reply
from bot.domain.messages import Activity, Inquiry, InteractionId, Message, Stage
from bot.domain.ports import ReportStage
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.messages.streams import StopHandler, stream_id_of
from bot.store.database import Store
from tests.fakes.desk import ANSWER, TRACE, KeepingInbox, delivery
from tests.fakes.durable_inbox import wait_for_interaction
from tests.fakes.teams import connector_api
from tests.fakes.teams.activities import (
    CHAT,
    BotTestClient,
    in_person,
    question,
    send_signed,
    with_placeholder,
)
from tests.fakes.teams.builders import Bot, bot_at, interaction_id_of
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import APP_ID, ENTRA
from tests.fakes.teams.posts import Stream
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart

LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 400 for n in range(60)))
LOST = Fault(status=0, after=True)
NOTE = f"\n\n{COMPOSED_NOTE}"


def asked(teams: FakeTeams) -> Message:
    return question(teams, private=True)


async def streamed(channel: TeamsChannel, message: Message) -> PostedRef:
    opened = await channel.open_placeholder(message)
    assert opened is not None
    return opened


def only(teams: FakeTeams) -> Stream:
    (stream,) = teams.streams.values()
    return stream


def texts(teams: FakeTeams) -> list[str]:
    return [sent.text for sent in teams.messages]


class Time:
    """A clock for what may be shown when."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(
            "bot.platforms.teams.client.rate_limits.time.monotonic", lambda: self.now
        )


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


async def show(
    channel: TeamsChannel, message: Message, opened: PostedRef, time: Time, *stages: Stage
) -> None:
    """Show stages far enough from each other."""
    for stage in stages:
        time.now += 1.5
        await channel.progress(message, Activity(stage), opened)


async def test_a_question_in_person_is_answered_by_a_stream_that_becomes_its_message(
    teams: FakeTeams, channel: TeamsChannel, time: Time
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    await show(channel, message, opened, time, Stage.SEARCHING, Stage.CHECKING)
    assert not teams.messages
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref == PostedRef(CHAT, sent.id) == PostedRef(CHAT, only(teams).id)
    assert only(teams).shown[:-1] == [
        "Looking this up\u2026",
        "Searching the wiki \u2026",
        "Checking sources \u2026",
    ]
    assert sent.text.startswith("Restart the client [1].")
    assert only(teams).state == "completed"


async def test_citations_thumbs_and_buttons_come_with_the_end_of_a_stream_alone(
    teams: FakeTeams, channel: TeamsChannel, time: Time
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    await show(channel, message, opened, time, Stage.SEARCHING)
    await channel.deliver(with_placeholder(opened, delivery(message)))
    first, update, final = (sent.activity for sent in teams.sent)
    for activity in (first, update):
        assert [entity["type"] for entity in activity["entities"]] == ["streaminfo"]
        assert "channelData" not in activity
    root, info = final["entities"]
    assert root["citation"][0]["position"] == 1
    assert info == {"type": "streaminfo", "streamId": only(teams).id, "streamType": "final"}
    assert final["channelData"] == {"feedbackLoop": {"type": "default"}}
    (hung,) = final["attachments"]
    assert len(hung["content"]["actions"]) == 2


@pytest.mark.mended(id="teams-3")
async def test_where_cards_are_split_the_buttons_are_a_message_of_their_own(
    teams: FakeTeams, settings: Settings, cloud: Cloud
) -> None:
    apart = settings.model_copy(update={"teams_split_cards": True})
    channel = connect(apart, cloud=cloud, credentials=CountingCredentials())
    message = asked(teams)
    opened = await streamed(channel, message)
    await channel.deliver(with_placeholder(opened, delivery(message)))
    _, final, below = (sent.activity for sent in teams.sent)
    assert "attachments" not in final
    assert below.keys() & {"text", "attachments", "channelData"} == {"attachments"}


@pytest.mark.mended(id="teams-3")
async def test_a_card_refused_with_the_stream_comes_below_it(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    teams.fail(Fault(400, code="BadArgument"))
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    final, below = (sent.activity for sent in teams.sent[-2:])
    assert ref.id == only(teams).id
    assert (final["text"], "attachments" in final) == (ANSWER.text + NOTE, False)
    assert below["attachments"]


@pytest.mark.mended(id="teams-3")
async def test_an_answer_with_its_card_is_corrected_in_one_message(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    await channel.correct(delivery(message, replace(ANSWER, text="Wait for IT [1].")), ref)
    assert [sent.text for sent in teams.messages] == ["Wait for IT [1]." + NOTE]


async def test_updates_rise_by_one_and_come_every_second_and_a_half_at_most(
    teams: FakeTeams, channel: TeamsChannel, time: Time
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    for stage, seconds in (
        (Stage.ROUTING, 0.1),
        (Stage.SEARCHING, 1.4),
        (Stage.READING, 1.4),
        (Stage.CHECKING, 0.1),
        (Stage.DONE, 9.0),
    ):
        time.now += seconds
        await channel.progress(message, Activity(stage), opened)
    infos = [sent.activity["entities"][0] for sent in teams.sent]
    assert [info["streamSequence"] for info in infos] == [1, 2, 3]
    assert "streamId" not in infos[0]
    assert {info["streamId"] for info in infos[1:]} == {only(teams).id}
    assert only(teams).shown[1:] == ["Searching the wiki \u2026", "Checking sources \u2026"]


async def test_another_process_ends_a_stream_and_leaves_what_it_shows_until_then(
    teams: FakeTeams, restart: Restart, time: Time
) -> None:
    message = asked(teams)
    opened = await streamed(restart(), message)
    await show(restart(), message, opened, time, Stage.SEARCHING)
    assert teams.calls == ["typing"]
    ref = await restart().deliver(with_placeholder(opened, delivery(message)))
    assert ref.id == only(teams).id
    assert len(teams.messages) == 1


@pytest.mark.parametrize("status", [403, 400, 405])
async def test_that_a_chat_has_no_streams_is_believed_for_a_while(
    teams: FakeTeams, channel: TeamsChannel, time: Time, status: int
) -> None:
    teams.fail(Fault(status=status, code="ContentStreamNotAllowed"), call="typing")
    message = asked(teams)
    assert await channel.open_placeholder(message) is None
    await channel.deliver(delivery(message, Reply(text="Hi!", tone="generic")))
    assert teams.calls == ["typing", "message"]
    time.now += 599
    assert not channel.has_placeholder(message)
    time.now += 2
    assert channel.has_placeholder(message)
    assert stream_id_of(await channel.open_placeholder(message))


async def test_beside_another_stream_of_the_chat_the_answer_is_a_message(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    first, second = asked(teams), replace(asked(teams), id="1700000000009")
    one, two = [await channel.open_placeholder(each) for each in (first, second)]
    assert stream_id_of(one)
    assert two is None
    for message, opened in ((second, two), (first, one)):
        await channel.deliver(with_placeholder(opened, delivery(message)))
    assert {sent.text for sent in teams.messages} == {teams.messages[0].text}
    assert len(teams.messages) == 2


async def test_a_blocked_bot_opens_nothing_else(teams: FakeTeams, channel: TeamsChannel) -> None:
    teams.fail(Fault(status=403, code="ConversationBlockedByUser"), call="typing")
    with pytest.raises(DeliveryRefused, match="blocked"):
        await channel.open_placeholder(asked(teams))
    assert teams.calls == ["typing"]


async def test_a_stream_that_can_not_be_opened_now_is_not_waited_for(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    teams.fail(Fault(status=429, retry_after="1"), call="typing")
    with pytest.raises(DeliveryFailed, match="429"):
        await channel.open_placeholder(asked(teams))
    assert not waits
    await channel.deliver(delivery(asked(teams)))
    assert len(teams.messages) == 1


async def test_after_two_minutes_the_answer_is_edited_in(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    teams.clock.advance(121.0)
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref.id == sent.id == only(teams).id
    assert teams.calls == ["typing", "message", "message", "update", "message"]
    assert [entity["type"] for entity in sent.activity["entities"]] == [
        "https://schema.org/Message"
    ]


async def test_where_nothing_is_left_of_a_stream_the_answer_is_posted(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    teams.streams.clear()
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    assert [sent.id for sent in teams.messages] == [ref.id]
    assert ref.id != stream_id_of(opened)


async def test_what_is_too_much_for_a_stream_is_tried_as_a_message(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    big = Fault(status=403, code="ContentStreamNotAllowed", message="Message size too large")
    teams.fail(big, big)
    await channel.deliver(with_placeholder(opened, delivery(message)))
    assert len(teams.messages) == 1
    assert teams.calls == ["typing", *["message"] * 2, "update", *["message"] * 2]


async def test_a_rate_limit_at_the_end_is_waited_out(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    teams.fail(Fault(status=429, retry_after="1"))
    await channel.deliver(with_placeholder(opened, delivery(message)))
    assert waits == [pytest.approx(1.125, abs=0.125)]
    assert len(teams.messages) == 1


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_an_end_that_got_through_unseen_is_not_shown_twice(
    teams: FakeTeams, restart: Restart, *, elsewhere: bool
) -> None:
    channel, message = restart(), asked(teams)
    opened = await streamed(channel, message)
    teams.fail(Fault(500, after=True))
    sent = with_placeholder(opened, delivery(message))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    ref = await (restart() if elsewhere else channel).deliver(sent)
    assert [each.id for each in teams.messages] == [ref.id] == [stream_id_of(opened)]
    assert not teams.edits


async def test_a_lost_end_of_a_stream_is_ended_again_at_once(
    teams: FakeTeams, restart: Restart
) -> None:
    channel, message = restart(), asked(teams)
    opened = await streamed(channel, message)
    teams.fail(LOST)
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    assert [each.id for each in teams.messages] == [ref.id] == [stream_id_of(opened)]


async def test_further_parts_follow_the_end_of_a_stream(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = asked(teams)
    await store.work.open(message, "here")
    opened = await streamed(noted_restart(), message)
    sent = with_placeholder(opened, delivery(message, LONG))
    for _ in range(2):
        ref = await noted_restart().deliver(sent)
    marks = [text.split("\n")[0] for text in texts(teams)]
    assert marks == [f"_({n} of {len(marks)})_" for n in range(1, len(marks) + 1)]
    assert ref.id == stream_id_of(opened)


async def test_who_presses_stop_withdraws_the_question_and_nothing_is_posted(
    teams: FakeTeams, channel: TeamsChannel, time: Time
) -> None:
    stopped: list[str] = []
    channel.streams.on_stopped(_noting(stopped))
    message = asked(teams)
    opened = await streamed(channel, message)
    connector_api.stop_stream(teams, CHAT)
    await show(channel, message, opened, time, Stage.SEARCHING, Stage.READING)
    assert stopped == [message.interaction_id]
    assert teams.calls == ["typing", "typing"]
    await channel.withdraw(message, [opened])
    assert not teams.messages


async def test_a_stop_that_is_seen_only_at_the_end_withdraws_too_and_posts_no_part(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    stopped: list[str] = []
    channel.streams.on_stopped(_noting(stopped))
    message = asked(teams)
    opened = await streamed(channel, message)
    connector_api.stop_stream(teams, CHAT)
    with pytest.raises(DeliveryRefused):
        await channel.deliver(with_placeholder(opened, delivery(message, LONG)))
    assert stopped == [message.interaction_id]
    assert not teams.messages


async def test_the_endpoint_has_the_inbox_withdraw_what_was_stopped(
    teams: FakeTeams, client: BotTestClient, channel: TeamsChannel, inbox: KeepingInbox
) -> None:
    await send_signed(client, teams, in_person(teams, "vpn?"))
    message = inbox.only
    opened = await streamed(channel, message)
    connector_api.stop_stream(teams, CHAT)
    with pytest.raises(DeliveryRefused):
        await channel.deliver(with_placeholder(opened, delivery(message)))
    assert inbox.cancelled == [message.interaction_id]


async def test_an_update_that_teams_drops_for_its_order_harms_nothing(
    teams: FakeTeams, channel: TeamsChannel, time: Time
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    only(teams).sequence = 2
    await show(channel, message, opened, time, Stage.SEARCHING, Stage.CHECKING)
    assert only(teams).shown == ["Looking this up\u2026", "Checking sources \u2026"]
    await channel.deliver(with_placeholder(opened, delivery(message)))
    assert len(teams.messages) == 1


async def test_a_withdrawn_question_leaves_no_open_stream_behind(
    teams: FakeTeams, restart: Restart
) -> None:
    message = asked(teams)
    opened = await streamed(restart(), message)
    await restart().withdraw(message, [opened])
    assert not teams.messages
    assert only(teams).state == "completed"
    assert stream_id_of(await restart().open_placeholder(message))


async def test_a_withdrawn_answer_that_was_streamed_is_deleted_once(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    await channel.withdraw(message, [opened, ref])
    assert not teams.messages
    assert teams.calls == ["typing", "message", "delete"]


async def test_an_answer_whose_place_was_not_noted_is_deleted_by_its_stream(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = asked(teams)
    opened = await streamed(channel, message)
    await channel.deliver(with_placeholder(opened, delivery(message)))
    await channel.withdraw(message, [opened])
    assert not teams.messages


FAULTS = st.sampled_from(
    [None, LOST, Fault(status=0), Fault(status=500), Fault(status=504, after=True), Fault(429)]
)


@given(
    faults=st.lists(FAULTS, max_size=6),
    restarts=st.lists(st.booleans(), min_size=12, max_size=12),
    late=st.booleans(),
)
def test_whatever_fails_and_whoever_dies_a_streamed_answer_is_seen_once(
    faults: list[Fault | None], restarts: list[bool], *, late: bool
) -> None:
    async def run() -> None:
        async with FakeTeams().serving() as teams:
            message = asked(teams)
            opened = await streamed(_channel(teams), message)
            teams.clock.advance(121.0 if late else 0.0)
            teams.fail(*faults, call="update" if late else "message")
            ref = await _until_posted(teams, message, opened, restarts)
            (sent,) = (each for each in teams.messages if each.text)
            assert ref.id == sent.id == stream_id_of(opened)
            assert sent.labels == ["Ask a person", "Why this answer"]
            assert sent.text.startswith("Restart the client [1].")

    asyncio.run(run())


async def _until_posted(
    teams: FakeTeams, message: Message, opened: PostedRef, restarts: list[bool]
) -> PostedRef:
    channel = _channel(teams)
    for restart in restarts:
        channel = _channel(teams) if restart else channel
        try:
            return await channel.deliver(with_placeholder(opened, delivery(message)))
        except DeliveryFailed:
            continue
    raise AssertionError("It was never posted.")


def _channel(teams: FakeTeams) -> TeamsChannel:
    async def pause(_: float) -> None:
        return

    settings = load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
    )
    cloud = Cloud(metadata_url=f"{teams.url}/meta", login_url=f"{teams.url}/login")
    return connect(settings, cloud=cloud, credentials=CountingCredentials(), pause=pause)


def _noting(stopped: list[str]) -> StopHandler:
    async def note(interaction_id: InteractionId) -> None:
        stopped.append(interaction_id)

    return note


class Desk:
    """A desk that answers when it may; ``shows`` says what is being done, once it is set."""

    def __init__(self) -> None:
        self.reached, self.shows, self.may = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.reached.set()
        await self.shows.wait()
        await report(Stage.SEARCHING)
        await self.may.wait()
        return Outcome(ANSWER, TRACE)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def bot(
    teams: FakeTeams,
    settings: Settings,
    cloud: Cloud,
    store: Store,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Bot]:
    monkeypatch.setattr("bot.platforms.teams.messages.streams.PAUSE_SECONDS", 0.0)
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store, desk) as bot:
        yield bot


async def _stopped(bot: Bot, desk: Desk) -> Interaction:
    """Ask in person, press Stop once a stream is open, and wait until nothing is left to do."""
    alice = bot.person()
    asked = await alice.say(alice.chat, "vpn down?")
    question = interaction_id_of(asked.place, asked.id)
    await desk.reached.wait()
    await wait_for_interaction(
        bot.store, question, lambda each: each.placeholder and each.placeholder.id
    )
    alice.stop()
    desk.shows.set()
    return await wait_for_interaction(bot.store, question, lambda each: each.status == "cancelled")


async def test_a_stop_that_is_seen_while_the_bot_works_ends_the_work(bot: Bot, desk: Desk) -> None:
    stopped = await _stopped(bot, desk)
    assert stopped.outcome is None
    assert not bot.teams.messages


async def test_a_stop_that_is_seen_with_the_answer_leaves_nothing_of_it(
    bot: Bot, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.platforms.teams.messages.streams.PAUSE_SECONDS", 60.0)
    desk.may.set()
    stopped = await _stopped(bot, desk)
    assert stopped.message.text == ""
    assert not bot.teams.messages


async def test_the_next_question_is_answered_as_ever(bot: Bot, desk: Desk) -> None:
    await _stopped(bot, desk)
    desk.may.set()
    alice = bot.person()
    asked = await alice.say(alice.chat, "and now?")
    answered = await wait_for_interaction(
        bot.store, interaction_id_of(asked.place, asked.id), lambda each: each.posted
    )
    assert answered.posted is not None
    assert [sent.id for sent in bot.teams.messages] == [answered.posted.id]

"""Test calls of the connector: errors, retries, rate limits, and lost responses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed, DeliveryRefused, RateLimited
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client import connector
from bot.platforms.teams.client.errors import (
    BotRemoved,
    Gone,
    NotReached,
    StreamRefused,
    Unavailable,
)
from bot.platforms.teams.client.rate_limits import (
    OVERALL_LIMITS,
    SEND_LIMITS,
    CallWindow,
    RateLimit,
    RateLimiter,
    Timing,
)
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.payloads.activity import reference_to
from bot.platforms.teams.rendering.answers import typing_activity
from bot.store.database import Store
from tests.fakes.desk import delivery
from tests.fakes.teams.activities import CHANNEL, question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import ALICE
from tests.fakes.teams.server import FakeTeams


async def test_a_short_limit_is_waited_out(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    teams.fail(Fault(status=429, retry_after="1"), Fault(status=412))
    await channel.deliver(delivery(question(teams)))
    assert waits == [pytest.approx(1.125, abs=0.125)] * 2
    assert len(teams.messages) == 1


@pytest.mark.parametrize("status", [412, 429])
@pytest.mark.parametrize(("asked", "faults"), [("3", 1), ("3600", 1), ("1", 3), ("0", 5)])
async def test_a_longer_limit_goes_back_with_its_time(
    teams: FakeTeams,
    channel: TeamsChannel,
    waits: list[float],
    status: int,
    asked: str,
    faults: int,
) -> None:
    teams.fail(*[Fault(status=status, retry_after=asked)] * faults)
    with pytest.raises(DeliveryFailed, match="rate limit") as failed:
        await channel.deliver(delivery(question(teams)))
    assert failed.value.retry_after_seconds == max(float(asked), 0.5)
    assert sum(waits) <= 2.0 * 1.25
    assert not teams.messages


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=401, code="BotNotRegistered"),
        Fault(status=403, code="NotEnoughPermissions"),
        Fault(status=403, code="InvalidBotApiHost"),
        Fault(status=500, after=True),
        Fault(status=502, after=True),
        Fault(status=503),
        Fault(status=504),
    ],
    ids=lambda fault: f"{fault.status} {fault.code}",
)
async def test_what_may_pass_or_be_mended_is_tried_again_later_and_not_at_once(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault
) -> None:
    """Msrest would send again on its own what may have been posted."""
    teams.fail(replace(fault, retry_after="9"))
    with pytest.raises(DeliveryFailed, match=str(fault.status)) as failed:
        await channel.deliver(delivery(question(teams)))
    assert not isinstance(failed.value, DeliveryRefused)
    assert failed.value.retry_after_seconds == 9.0
    assert teams.calls == ["message"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=403, code="BotNotInConversationRoster"),
        Fault(status=403, code="ConversationBlockedByUser"),
        Fault(status=403, code="BotDisabledByAdmin"),
        Fault(status=403, code="ForbiddenOperationException"),
        Fault(status=403, code="MessageWritesBlocked"),
        Fault(status=404, code="ConversationNotFound"),
    ],
    ids=lambda fault: f"{fault.status} {fault.code}",
)
async def test_what_will_not_change_is_given_up(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault
) -> None:
    teams.fail(fault)
    with pytest.raises(DeliveryRefused, match=fault.code):
        await channel.deliver(delivery(question(teams)))
    assert teams.calls == ["message"]


async def test_a_connector_that_is_not_there_did_nothing(
    teams: FakeTeams, channel: TeamsChannel, unused_tcp_port: int
) -> None:
    reply_to = question(teams).reply_to.replace(teams.url, f"http://127.0.0.1:{unused_tcp_port}")
    with pytest.raises(NotReached, match="cannot be reached"):
        await channel.client.send(reply_to, WORDS)


async def test_an_address_that_is_none_did_nothing(teams: FakeTeams, channel: TeamsChannel) -> None:
    with pytest.raises(NotReached):
        await channel.client.send(question(teams).reply_to.replace(teams.url, "nowhere"), WORDS)


@pytest.mark.parametrize(
    "reply_to", ["", "{", "[]", "{}", '{"serviceUrl": "http://x"}', '{"conversation": 5}']
)
async def test_a_message_from_nowhere_is_given_up(
    teams: FakeTeams, channel: TeamsChannel, reply_to: str
) -> None:
    with pytest.raises(DeliveryRefused):
        await channel.deliver(delivery(replace(question(teams), reply_to=reply_to)))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Content stream was canceled by user.", "stopped"),
        ("Content stream was cancelled by user.", "stopped"),
        ("Content stream is not allowed on an already completed streamed message.", "completed"),
        ("Content stream finished due to exceeded streaming time.", "late"),
        ("Content stream is not allowed.", "refused"),
        ("Message size too large", "refused"),
        ("", "refused"),
    ],
)
async def test_the_end_of_a_stream_is_told_by_its_words(
    teams: FakeTeams, channel: TeamsChannel, words: str, why: str
) -> None:
    teams.fail(Fault(status=403, code="ContentStreamNotAllowed", message=words))
    with pytest.raises(StreamRefused) as refused:
        await channel.client.send(question(teams).reply_to, {"type": "message", "text": "x"})
    assert refused.value.why == why


async def test_who_was_removed_is_told_from_what_is_wrong(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(Fault(status=403, code="BotNotInConversationRoster"), Fault(status=413))
    with pytest.raises(BotRemoved):
        await channel.deliver(delivery(question(teams)))
    with pytest.raises(DeliveryRefused) as refused:
        await channel.client.send(question(teams).reply_to, {"type": "message", "text": "x"})
    assert not isinstance(refused.value, BotRemoved)


WORDS = {"type": "message", "text": "x"}


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_an_edit_and_a_deletion_are_tried_again_for_twice_is_the_same_as_once(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float], status: int
) -> None:
    there = question(teams).reply_to
    posted = await channel.client.send(there, WORDS)
    teams.fail(Fault(status, after=True), call="update")
    await channel.client.update(there, posted, {"type": "message", "text": "y"})
    teams.fail(Fault(status), call="delete")
    await channel.client.delete(there, posted)
    assert teams.calls == ["message", "update", "update", "delete", "delete"]
    assert len(waits) == 2
    assert all(0.5 <= wait <= 0.625 for wait in waits)


@pytest.mark.parametrize("status", [0, 502, 503, 504])
async def test_a_post_whose_outcome_is_unknown_is_left_to_the_inbox(
    teams: FakeTeams, channel: TeamsChannel, status: int
) -> None:
    teams.fail(Fault(status, after=True))
    with pytest.raises(Unavailable):
        await channel.client.send(question(teams).reply_to, WORDS)
    assert teams.calls == ["message"]


async def test_the_end_of_a_stream_is_tried_again(teams: FakeTeams, channel: TeamsChannel) -> None:
    there = question(teams, private=True).reply_to
    begun = {"type": "streaminfo", "streamType": "informative", "streamSequence": 1}
    stream = await channel.client.send(
        there, {"type": "typing", "text": "Looking", "entities": [begun]}
    )
    teams.fail(Fault(502))
    ended = {"type": "streaminfo", "streamId": stream, "streamType": "final"}
    await channel.client.send(there, {**WORDS, "entities": [ended]})
    assert [sent.id for sent in teams.messages] == [stream]


async def test_what_has_no_patience_is_not_tried_again(
    teams: FakeTeams, channel: TeamsChannel, waits: list[float]
) -> None:
    there = question(teams).reply_to
    posted = await channel.client.send(there, WORDS)
    teams.fail(Fault(502), call="update")
    with pytest.raises(Unavailable):
        await channel.client.update(there, posted, WORDS, patience_seconds=0.0)
    assert not waits


async def test_where_the_bot_was_removed_nothing_more_is_called_until_something_comes(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> None:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    there = question(teams).reply_to
    teams.fail(Fault(403, code="BotNotInConversationRoster"))
    with pytest.raises(BotRemoved):
        await channel.client.send(there, WORDS)
    for _ in range(2):
        with pytest.raises(BotRemoved):
            await channel.client.send(there, WORDS)
        with pytest.raises(BotRemoved):
            await channel.client.update(there, "1", WORDS)
    assert teams.calls == ["message"]
    await channel.client.removals.clear(CHANNEL)
    await channel.client.send(there, WORDS)
    assert len(teams.messages) == 1


async def test_a_refusal_that_says_nothing_of_removal_closes_no_conversation(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> None:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    teams.fail(Fault(403, code="MessageWritesBlocked"))
    with pytest.raises(BotRemoved):
        await channel.client.send(question(teams).reply_to, WORDS)
    await channel.client.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 1


async def test_a_burst_in_one_conversation_stays_below_what_teams_takes(
    teams: FakeTeams, settings: Settings, cloud: Cloud, waits: list[float]
) -> None:
    async def pause(seconds: float) -> None:
        waits.append(seconds)

    credentials = CountingCredentials()
    channel = connect(
        settings, cloud=cloud, credentials=credentials, pause=pause, clock=lambda: sum(waits)
    )
    for _ in range(20):
        await channel.client.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 20
    assert sum(waits) >= 4.0


@pytest.fixture
def near(settings: Settings, cloud: Cloud, teams: FakeTeams, waits: list[float]) -> TeamsChannel:
    """Return a channel that knows its service before anything came from it."""

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    known = settings.model_copy(update={"teams_service_url": f"{teams.url}/"})
    return connect(known, cloud=cloud, credentials=CountingCredentials(), pause=pause)


async def calls_of(channel: TeamsChannel, teams: FakeTeams, call: str) -> object:
    """Make the client's call of that name."""
    client, there = channel.client, question(teams).reply_to
    match call:
        case "message":
            return await client.send(there, WORDS)
        case "update":
            await client.update(there, "reply-1", WORDS)
        case "delete":
            await client.delete(there, "reply-1")
        case "member":
            return await client.member(there, "29:alice")
        case "members":
            return await client.members(there)
        case _:
            return await client.open_chat(ALICE, user_id="29:alice")
    return None


CALLS = ("message", "update", "delete", "member", "members", "create")


@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize("status", [0, 502, 503, 504])
@pytest.mark.parametrize("call", CALLS)
async def test_a_lost_response_repeats_only_what_is_idempotent(
    teams: FakeTeams, near: TeamsChannel, call: str, status: int
) -> None:
    await near.client.send(question(teams).reply_to, WORDS)
    teams.calls.clear()
    teams.fail(Fault(status, after=True), call=call)
    if call == "message":
        with pytest.raises(Unavailable):
            await calls_of(near, teams, call)
    else:
        await calls_of(near, teams, call)
    assert teams.calls == [call] * (1 if call == "message" else 2)


@pytest.mark.parametrize("before", [(), (Fault(429, retry_after="1"),)], ids=["at once", "later"])
async def test_what_was_deleted_before_the_call_is_gone(
    teams: FakeTeams, channel: TeamsChannel, before: tuple[Fault, ...]
) -> None:
    there = question(teams).reply_to
    posted = await channel.client.send(there, WORDS)
    await channel.client.delete(there, posted)
    teams.fail(*before, call="delete")
    with pytest.raises(Gone):
        await channel.client.delete(there, posted)


@pytest.mark.parametrize("call", CALLS)
async def test_every_call_waits_as_long_as_a_limit_asks(
    teams: FakeTeams, near: TeamsChannel, waits: list[float], call: str
) -> None:
    await near.client.send(question(teams).reply_to, WORDS)
    teams.fail(Fault(429, retry_after="2"), call=call)
    await calls_of(near, teams, call)
    assert waits == [pytest.approx(2.25, abs=0.25)]


@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_hangs_ends_at_its_timeout(
    teams: FakeTeams, near: TeamsChannel, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    await near.client.send(question(teams).reply_to, WORDS)
    monkeypatch.setattr(connector, "TIMEOUT_SECONDS", 0.2)
    teams.fail(Fault(200, seconds=600.0), call=call)
    with pytest.raises(DeliveryFailed, match="in time"):
        await calls_of(near, teams, call)


async def test_a_slow_roster_is_read_to_its_end_page_by_page(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.page_size = 1
    teams.fail(*[Fault(200, seconds=0.1)] * 2, call="members")
    there, page = question(teams).reply_to, ""
    names: list[object] = []
    while not names or page:
        found = await channel.client.members(there, page)
        names += [each["name"] for each in found.members]
        page = found.next_page
    assert names == ["Alice", "Bob", "Anna Lopez", "Carol"]


async def test_calls_that_hang_start_no_threads_and_hold_up_no_other(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    there = question(teams, private=True).reply_to
    before = threading.active_count()
    teams.fail(*[Fault(200, seconds=600.0)] * 5, call="typing")
    sends = [asyncio.create_task(channel.client.send(there, typing_activity())) for _ in range(5)]
    while teams.calls.count("typing") < len(sends):  # noqa: ASYNC110 - they get there soon
        await asyncio.sleep(0.01)
    assert await channel.client.send(question(teams).reply_to, WORDS)
    assert threading.active_count() == before
    for send in sends:
        send.cancel()
    await asyncio.gather(*sends, return_exceptions=True)


async def test_calls_share_a_connection_until_it_is_closed(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.keeps_connections = True
    for _ in range(3):
        await channel.client.send(question(teams).reply_to, WORDS)
    assert len(teams.peers) == 1
    await channel.client.close()
    await channel.client.send(question(teams).reply_to, WORDS)
    assert len(teams.peers) == 2
    await channel.client.close()


async def test_an_id_is_escaped_in_the_address(teams: FakeTeams, channel: TeamsChannel) -> None:
    there = reference_to(question(teams).reply_to, f"{CHANNEL};messageid=1/2")
    await channel.client.send(there, WORDS)
    assert teams.sent[0].conversation == f"{CHANNEL};messageid=1/2"


class SteppingClock:
    """A clock, and the pause that lets it go on."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


PATIENT = 10_000.0


def rates(clock: SteppingClock) -> RateLimiter:
    return RateLimiter(Timing(clock.pause, clock.now, lambda: 0.0))


async def taken(paced: RateLimiter, room: str = "a", patience: float = PATIENT) -> float:
    return await paced.acquire(room, SEND_LIMITS, now=paced.now(), patience_seconds=patience)


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def most_within(times: Sequence[float], seconds: float) -> int:
    return max(sum(at <= other < at + seconds for other in times) for at in times)


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=200), st.lists(st.booleans(), max_size=9))
def test_no_span_ever_has_more_calls_than_teams_takes(
    gaps: list[float], optional: list[bool]
) -> None:
    windows, now, times = CallWindow(SEND_LIMITS), 0.0, []
    for number, gap in enumerate(gaps):
        now += gap
        may_be_left_out = bool(optional) and optional[number % len(optional)]
        at = windows.next_time(now, optional=may_be_left_out)
        if may_be_left_out and at > now:
            continue
        windows.count(at)
        times.append(at)
    assert times == sorted(times)
    for span in SEND_LIMITS:
        assert not times or most_within(times, span.seconds) <= span.most


async def test_an_hours_worth_of_calls_is_spread_over_an_hour() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    times = [await taken(paced) for _ in range(2_000)]
    for span in SEND_LIMITS:
        pairs = zip(times, times[span.most :], strict=False)
        assert all(later >= at + span.seconds for at, later in pairs), span


async def test_many_who_call_at_once_are_given_turns_in_order() -> None:
    paced, done = RateLimiter(Timing(_at_once, lambda: 0.0)), []

    async def call(number: int) -> None:
        at = await taken(paced)
        done.append((at, number))

    await asyncio.gather(*(call(number) for number in range(40)))
    assert [number for _, number in sorted(done)] == list(range(40))
    assert most_within([at for at, _ in done], 2.0) <= 8


async def test_no_more_than_thirty_calls_a_second_go_out_in_all() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    times = [await taken(paced, room=f"room {number}") for number in range(100)]
    assert most_within(times, 1.0) == OVERALL_LIMITS[0].most


async def test_a_busy_conversation_holds_up_no_other() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    for _ in range(60):
        await taken(paced)
    clock.seconds += 2.0
    clock.waits.clear()
    await taken(paced, room="b")
    assert not clock.waits


async def test_what_may_be_left_out_leaves_room_for_replies() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    for _ in range(5):
        await taken(paced, patience=0.0)
    with pytest.raises(RateLimited):
        await taken(paced, patience=0.0)
    await taken(paced)
    await taken(paced)
    assert not clock.waits


async def test_who_would_wait_too_long_is_told_how_long_and_takes_no_turn() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    for _ in range(60):
        await taken(paced)
    for _ in range(3):
        with pytest.raises(RateLimited) as busy:
            await taken(paced, patience=5.0)
    wait = busy.value.retry_after_seconds or 0.0
    assert wait > 5.0
    clock.seconds += wait
    clock.waits.clear()
    await taken(paced, patience=5.0)
    assert not clock.waits


async def test_where_teams_says_to_wait_everybody_waits() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    paced.hold("a", SEND_LIMITS, until=clock.now() + 4.0)
    with pytest.raises(RateLimited):
        await taken(paced, patience=0.0)
    await taken(paced, room="b", patience=0.0)
    await taken(paced)
    assert clock.waits == [pytest.approx(4.0)]


async def test_a_long_wait_is_spread() -> None:
    clock = SteppingClock()
    chances = iter([0.0, 0.5, 1.0])
    spread = RateLimiter(Timing(clock.pause, clock.now, lambda: next(chances)))
    for _ in range(3):
        await spread.wait(4.0, now=clock.now())
    assert clock.waits == [4.0, 4.5, 5.0]


async def test_no_more_conversations_are_kept_than_a_bound() -> None:
    clock = SteppingClock()
    paced = rates(clock)
    for number in range(6_000):
        await taken(paced, room=f"room {number}")
    assert len(paced._windows) == 5_000  # noqa: SLF001


def test_a_window_keeps_no_more_times_than_it_looks_at() -> None:
    windows = CallWindow((RateLimit(3, 1.0, 2),))
    for _ in range(10):
        windows.count(windows.next_time(0.0))
    assert windows.next_time(0.0) == pytest.approx(3 * 1.05)

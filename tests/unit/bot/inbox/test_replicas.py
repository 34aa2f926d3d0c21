"""Several servers on one record: leases, and each message is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from bot.app.worker import BuiltInbox
from bot.domain.errors import InboxFull, InboxUnavailable, InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Claim
from bot.domain.messages import InteractionId, Message
from bot.inbox.heartbeat import Lease
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import (
    AnswerBarrier,
    EchoDesk,
    FakePlatform,
    IdleEngine,
    MemoryEngine,
    ScriptedPlatform,
    generic_outcome,
)
from tests.fakes.builders import message
from tests.fakes.durable_inbox import (
    SOON,
    inbox_over,
    record_answer,
    running,
    stored_interaction,
    wait_for_interaction,
    wait_until_posted,
)
from tests.fakes.escalations import until


@dataclass
class Clock:
    """A monotonic clock that is set by hand."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Replicas:
    """Notes what is asked of the record; each write takes some seconds."""

    clock: Clock
    takes: float = 0.0
    away: bool = False
    asked: list[str] = field(default_factory=list)

    async def prolong(self, replica: str, *, seconds: float) -> None:
        self.clock.now += self.takes
        if self.away:
            raise StoreUnavailable("The server is away.")
        self.asked.append(f"prolong {replica} {seconds:g}")

    async def release(self, replica: str) -> None:
        self.asked.append(f"release {replica}")

    async def alone(self, replica: str) -> None:
        self.asked.append(f"alone {replica}")

    async def dead(self) -> Sequence[str]:
        return ()

    async def bury(self, replica: str) -> None:
        raise NotImplementedError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("bot.inbox.heartbeat.time", made)
    return made


async def test_it_holds_until_shortly_before_others_may_take_over(clock: Clock) -> None:
    lease = Lease(Replicas(clock), "me", alone=False, seconds=12)
    assert not lease.holds()

    await lease.prolong()

    clock.now += 9.9
    assert lease.holds()
    clock.now += 0.1
    assert not lease.holds()


async def test_it_counts_from_before_it_was_asked_for(clock: Clock) -> None:
    lease = Lease(Replicas(clock, takes=9.0), "me", alone=False, seconds=12)

    await lease.prolong()

    clock.now += 0.9
    assert lease.holds()
    clock.now += 0.2
    assert not lease.holds()


async def test_a_record_that_is_away_leaves_it_as_it_was(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=False, seconds=12)
    await lease.prolong()
    replicas.away = True
    clock.now += 5

    with pytest.raises(StoreUnavailable):
        await lease.prolong()

    assert lease.holds()
    clock.now += 5
    assert not lease.holds()


async def test_a_returning_server_judges_others_after_one_lease(clock: Clock) -> None:
    lease = Lease(Replicas(clock), "me", alone=False, seconds=5)
    await lease.prolong()
    clock.now += 4.9
    await lease.prolong()
    assert lease.judges_others()

    clock.now += 5.0
    await lease.prolong()
    judged = []
    for _ in range(6):
        judged.append(lease.judges_others())
        clock.now += 1.0
        await lease.prolong()

    assert judged == [False] * 5 + [True]


async def test_a_first_lease_after_an_outage_counts_as_regained(clock: Clock) -> None:
    lease = Lease(Replicas(clock), "me", alone=False, seconds=5)
    lease.lapse()
    await lease.prolong()

    assert lease.holds()
    assert not lease.judges_others()


async def test_a_slow_renewal_counts_as_a_lapse(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=False, seconds=5)
    await lease.prolong()
    replicas.takes = 10.0
    await lease.prolong()

    assert not lease.judges_others()


async def test_what_is_released_holds_no_more(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=False)
    await lease.prolong()

    await lease.release()

    assert not lease.holds()
    assert replicas.asked == ["prolong me 5", "release me"]


async def test_where_nobody_else_can_be_it_always_holds_and_ends_all_others(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=True)
    assert lease.holds()

    await lease.prolong()

    assert replicas.asked == ["alone me", "prolong me 5"]
    clock.now += 1e6
    assert lease.holds()


ASKED = message("hello", platform="slack")
ID = ASKED.interaction_id


class FailingEngine(IdleEngine):
    """Takes no work the first few times."""

    def __init__(self, failures: int, of_the_dead: Sequence[InteractionId]) -> None:
        super().__init__(of_the_dead=of_the_dead)
        self._failures = failures

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        if self._failures:
            self._failures -= 1
            raise InboxUnavailable("The engine is slow.")
        await super().begin(work_id, interaction_id)


def server(
    store: Store, name: str, board: FakePlatform, desk: EchoDesk, *, limits: WorkLimits = SOON
) -> BuiltInbox:
    return inbox_over(
        store,
        desk=desk,
        channels={board.platform: board},
        limits=limits,
        engine=MemoryEngine(name),
        alone=False,
    )


async def test_a_message_that_two_servers_are_given_at_once_is_answered_once(
    store: Store,
) -> None:
    board, desk = FakePlatform(), EchoDesk()
    one, other = (server(store, name, board, desk) for name in ("one", "other"))
    async with running(one) as here, running(other) as there:
        accepted = await asyncio.gather(*(side.accept(ASKED) for side in (here, there) * 10))
        outcomes = await asyncio.gather(here.outcome(ID), there.outcome(ID))
        await wait_until_posted(store, ID)
        accepted += await asyncio.gather(here.accept(ASKED), there.accept(ASKED))

    assert set(accepted) == {ID}
    assert list(outcomes) == [generic_outcome("You said: hello")] * 2
    assert desk.handled == ["hello"]
    assert board.posted == 1


async def test_many_messages_given_to_many_servers_are_each_answered_once(
    store: Store,
) -> None:
    board, desk = FakePlatform(), EchoDesk()
    servers = [server(store, f"s{n}", board, desk) for n in range(3)]
    asked: list[Message] = [
        message(f"q{n}", message_id=f"m{n}", platform="slack", thread=f"t{n % 7}")
        for n in range(21)
    ]
    async with running(servers[0]), running(servers[1]), running(servers[2]):
        for each in asked:
            await asyncio.gather(*(side.inbox.accept(each) for side in servers))
        for each in asked:
            await wait_until_posted(store, each.interaction_id)

    assert sorted(desk.handled) == sorted(each.text for each in asked)
    assert board.posted == len(board.posts) == len(asked)


async def test_an_answer_of_another_server_is_waited_for(store: Store) -> None:
    gate = AnswerBarrier()
    one = server(store, "one", FakePlatform(), EchoDesk(gate))
    other = server(store, "other", FakePlatform(), EchoDesk())
    async with running(one) as here, running(other) as there:
        await here.accept(ASKED)
        await gate.reached.wait()
        assert await there.accept(ASKED) == ID
        waiting = asyncio.create_task(there.outcome(ID))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        gate.open()

        assert await asyncio.wait_for(waiting, 60) == generic_outcome("You said: hello")


async def test_a_question_is_withdrawn_whichever_server_is_told(store: Store) -> None:
    gate, board = AnswerBarrier(), FakePlatform()
    one = server(store, "one", board, EchoDesk(gate))
    other = server(store, "other", board, EchoDesk())
    async with running(one) as here, running(other) as there:
        await here.accept(ASKED)
        await gate.reached.wait()
        await there.cancel(ID)
        gate.open()
        await wait_for_interaction(store, ID, lambda kept: kept.status == "cancelled")

        for side in (here, there):
            with pytest.raises(InteractionUnknown, match="withdrawn"):
                await side.outcome(ID)
    assert board.posts == {}


async def test_a_server_that_goes_leaves_its_work_to_another_at_once(store: Store) -> None:
    board, desk = FakePlatform(), EchoDesk()
    leaving = server(
        store, "one", board, EchoDesk(AnswerBarrier()), limits=WorkLimits(drain_seconds=0)
    )
    async with running(leaving) as inbox:
        await inbox.accept(ASKED)

    async with running(server(store, "other", board, desk)) as inbox:
        assert await asyncio.wait_for(inbox.outcome(ID), 5) == generic_outcome("You said: hello")
    assert desk.handled == ["hello"]


async def test_before_the_start_and_after_the_end_nothing_is_accepted(store: Store) -> None:
    opened = inbox_over(store)
    with pytest.raises(InboxUnavailable, match=r"starting\. Send it again"):
        await opened.inbox.accept(ASKED)

    await opened.supervisor.start()
    await opened.inbox.outcome(await opened.inbox.accept(message("hello")))
    await opened.supervisor.stop()

    with pytest.raises(InboxUnavailable, match=r"stopping\. Send it again"):
        await opened.inbox.accept(ASKED)
    assert await store.interactions.get(ID) is None


async def test_the_api_is_refused_where_platforms_are_told_up_to_a_bound(
    store: Store,
) -> None:
    board = ScriptedPlatform()
    opened = inbox_over(
        store,
        channels={board.platform: board},
        limits=WorkLimits(waiting=2, drain_seconds=0),
        engine=IdleEngine(),
    )
    opened.inbox.open()

    async def give(number: int, *, told: bool) -> InteractionId:
        kind = "slack" if told else "rest"
        asked = message(f"q{number}", message_id=f"m{number}", platform=kind, thread=f"t{number}")
        return await opened.inbox.accept(asked)

    await give(0, told=True)
    await give(1, told=False)
    with pytest.raises(InboxFull, match="2 questions are waiting"):
        await give(2, told=False)
    for number in (3, 4):
        await opened.inbox.run(await give(number, told=True))
    await give(5, told=True)
    await give(6, told=True)
    with pytest.raises(InboxFull, match="4 questions are waiting"):
        await give(7, told=True)

    assert [text.startswith("More questions") for text in board.posts.values()] == [True, True]


async def test_what_waits_for_a_platform_leaves_room_for_others(store: Store) -> None:
    board = ScriptedPlatform(*[RuntimeError("a defect")] * 2)
    opened = inbox_over(
        store,
        channels={board.platform: board},
        limits=WorkLimits(waiting=1),
        engine=IdleEngine(),
    )
    opened.inbox.open()
    await opened.inbox.accept(ASKED)
    assert await opened.inbox.run(ID) is not None

    assert await opened.inbox.accept(message("another", platform="rest"))


async def test_what_is_not_done_in_time_is_left_and_said(store: Store) -> None:
    limits = WorkLimits(drain_seconds=0.05)
    with capture_logs() as logs:
        async with running(
            inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=limits)
        ) as inbox:
            await inbox.accept(ASKED)

    assert [line["unfinished"] for line in logs if line["event"] == "inbox.not_drained"] == [1]
    assert [each.id for each in await store.work.unfinished()] == [ID]


async def test_work_that_the_engine_forgot_is_taken_up_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.in_flight.GRACE_SECONDS", 0.0)
    engine = IdleEngine()
    opened = inbox_over(store, engine=engine)
    opened.inbox.open()
    await opened.inbox.accept(ASKED)
    await until(lambda: engine.begun)

    assert await opened.inbox.adopt() == 1

    await until(lambda: len(engine.begun) == 2)
    assert engine.begun[0] == ID
    assert engine.begun[1].startswith(f"{ID}:1:")
    assert (await stored_interaction(store, ID)).status == "working"


async def test_begun_work_of_a_dead_server_skips_the_line(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.turns._TAKEN_SECONDS", 600.0)
    left = [message(f"q{n}", message_id=f"m{n}", thread=f"t{n}") for n in range(5)]
    last = left[-1].interaction_id
    engines = [IdleEngine(name, of_the_dead=[last]) for name in ("one", "other")]
    one, other = (
        inbox_over(store, limits=WorkLimits(concurrency=1), engine=engine, alone=False).inbox
        for engine in engines
    )
    for each in left:
        await store.work.open(each, "dead")
    answered = await record_answer(store, ASKED, "answered", owner="dead")
    for name in ("one", "other"):
        await store.replicas.prolong(name, seconds=60)

    taken = [await one.adopt(["dead"]), await other.adopt(["dead"])]

    assert taken == [6, 0], "one has claimed it all"
    claims = [(await stored_interaction(store, each.interaction_id)).claim for each in left]
    assert claims == [Claim("one", 2)] * 5
    places = 2
    await until(lambda: len(engines[0].begun) == 2 + places)
    begun = [each.rpartition(":")[0] for each in engines[0].begun]
    assert set(begun[:2]) == {f"{answered.id}:2", f"{last}:2"}
    assert begun[2:] == [f"{each.interaction_id}:2" for each in left[:places]]
    assert engines[1].begun == []


async def test_where_nobody_else_can_be_all_is_taken_over_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.accept._TAKEN_AT_A_TIME", 2)
    monkeypatch.setattr("bot.inbox.accept._SHARE_SECONDS", 600.0)
    engine = IdleEngine()
    for number in range(5):
        await store.work.open(message("q", message_id=f"m{number}"), "dead")
    await store.replicas.prolong(engine.executor, seconds=60)

    inbox = inbox_over(store, engine=engine).inbox

    assert await asyncio.wait_for(inbox.adopt(), 60) == 5


async def test_who_has_no_lease_takes_nothing_over(store: Store) -> None:
    await store.work.open(ASKED, "dead")
    await store.replicas.prolong("me", seconds=0)

    assert await store.work.take_over("me", 64, ["dead"]) == []


async def test_what_the_engine_does_not_take_is_begun_in_a_later_round(store: Store) -> None:
    engine = FailingEngine(2, [ID])
    opened = inbox_over(store, engine=engine, alone=False)
    await store.work.open(ASKED, "dead")
    answered = message("q", message_id="m", thread="t")
    await record_answer(store, answered, "answered", owner="dead")
    await store.replicas.prolong(engine.executor, seconds=60)

    assert await opened.inbox.adopt(["dead"]) == 2
    assert engine.begun == []
    assert await opened.inbox.adopt() == 2

    assert len(engine.begun) == 2


async def test_a_withdrawal_that_the_engine_does_not_take_is_left_to_a_later_round(
    store: Store,
) -> None:
    engine = FailingEngine(1, [])
    opened = inbox_over(store, engine=engine)
    await store.work.open(ASKED, engine.executor)
    await store.replicas.prolong(engine.executor, seconds=60)
    with pytest.raises(InboxUnavailable):
        await opened.inbox.cancel(ID)

    assert opened.inbox.busy == 0
    assert await opened.inbox.adopt() == 1
    assert len(engine.begun) == 1


async def test_work_that_is_under_way_is_not_taken_up_twice(store: Store) -> None:
    gate = AnswerBarrier()
    opened = inbox_over(store, desk=EchoDesk(gate), engine=IdleEngine())
    opened.inbox.open()
    await opened.inbox.accept(ASKED)
    assert await opened.inbox.adopt() == 0
    working = asyncio.create_task(opened.inbox.run(ID))
    await gate.reached.wait()

    assert await opened.inbox.adopt() == 0

    gate.open()
    await working
    assert await opened.inbox.adopt() == 0

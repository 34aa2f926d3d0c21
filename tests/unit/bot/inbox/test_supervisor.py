"""Tests of the supervisor: start, rounds, take-over of dead servers' work, and stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import pytest
from structlog.testing import capture_logs

from bot.app.worker import BuiltInbox, InboxOptions, build_durable_inbox
from bot.domain.errors import EngineUnavailable, InboxUnavailable, StoreUnavailable
from bot.domain.messages import InteractionId
from bot.inbox.heartbeat import InboxSupervisor
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import (
    AnswerBarrier,
    EchoDesk,
    MemoryEngine,
    OpenAdmission,
    Run,
    generic_outcome,
)
from tests.fakes.builders import message
from tests.fakes.durable_inbox import SOON, inbox_over, running, stored_interaction
from tests.fakes.http_server import wait_until

ASKED = message("hello")
ID = ASKED.interaction_id
AWAY = StoreUnavailable("The server is away.")


@pytest.fixture(autouse=True)
def _quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.heartbeat._BEAT_SECONDS", 0.02)


class FailingFirst:
    """Fails so many times, then works; counts how often it was asked."""

    def __init__(
        self,
        times: int,
        error: Exception = AWAY,
        *,
        then: Callable[..., Awaitable[None]] | None = None,
    ) -> None:
        self._times = times
        self._error = error
        self._then = then
        self.asked = 0

    async def __call__(self, *given: object, **named: object) -> None:
        self.asked += 1
        if self.asked <= self._times:
            raise self._error
        if self._then is not None:
            await self._then(*given, **named)

    async def more(self) -> None:
        """Wait until it was asked some more times."""
        enough = self.asked + 4
        await wait_until(lambda: self.asked > enough)


class WatchedEngine(MemoryEngine):
    """Remembers what its keeper asks for; can't be started the first few times."""

    def __init__(self, executor: str = "", *, failures: int = 0) -> None:
        super().__init__(executor)
        self._opening = FailingFirst(failures, EngineUnavailable("No space."))
        self.abandoned: list[str] = []
        self.forgot = 0

    async def start(self, run: Run) -> None:
        await self._opening()
        await super().start(run)

    async def abandon(self, executors: Sequence[str]) -> frozenset[InteractionId]:
        self.abandoned += executors
        return frozenset()

    async def forget(self) -> None:
        self.forgot += 1


async def nothing() -> None:
    """There is nothing to do."""


def kept_by(
    store: Store,
    *,
    engine: MemoryEngine | None = None,
    prepare: Callable[[], Awaitable[None]] = nothing,
    clean: Callable[[], Awaitable[None]] = nothing,
    alone: bool = False,
    limits: WorkLimits = SOON,
    desk: EchoDesk | None = None,
) -> BuiltInbox:
    return build_durable_inbox(
        store,
        engine or MemoryEngine(),
        admission=OpenAdmission(),
        desk=desk or EchoDesk(),
        channels={},
        limits=limits,
        options=InboxOptions(alone=alone, prepare=prepare, clean=clean),
    )


def test_before_the_start_it_is_not_ready(store: Store) -> None:
    part = kept_by(store).supervisor.part()

    assert (part.name, part.state) == ("inbox", "failed")


async def test_once_started_it_is_ready(store: Store) -> None:
    opened = kept_by(store)
    async with running(opened):
        assert opened.supervisor.part().state == "ready"


@pytest.mark.parametrize("what", ["record", "engine"])
async def test_a_start_goes_on_trying_where_one_may_come_later(store: Store, what: str) -> None:
    prepare = FailingFirst(2 if what == "record" else 0)
    engine = WatchedEngine(failures=0 if what == "record" else 2)
    opened = kept_by(store, engine=engine, prepare=prepare)
    with capture_logs() as logs:
        async with running(opened) as inbox:
            assert opened.supervisor.part().state == "failed"
            with pytest.raises(InboxUnavailable, match="starting"):
                await inbox.accept(ASKED)

            await wait_until(lambda: opened.supervisor.part().state == "ready")

            assert await inbox.outcome(await inbox.accept(ASKED)) == generic_outcome(
                "You said: hello"
            )

    events = [line["event"] for line in logs]
    assert events.count("inbox.not_started") == 1
    assert events.count("inbox.troubled") == 0
    assert events.count("inbox.well_again") == 1


@pytest.mark.parametrize("failing", [AWAY, EngineUnavailable("No space.")], ids=repr)
async def test_a_start_on_a_file_fails_at_once(store: Store, failing: Exception) -> None:
    prepare = FailingFirst(1, failing)

    with pytest.raises(type(failing), match=str(failing)):
        await kept_by(store, alone=True, prepare=prepare).supervisor.start()

    assert prepare.asked == 1


async def test_work_that_cannot_be_taken_up_at_once_does_not_stop_a_start(store: Store) -> None:
    prepare = FailingFirst(1, InboxUnavailable("The engine is slow."))
    opened = kept_by(store, alone=True, prepare=prepare)
    async with running(opened):
        assert opened.supervisor.part().detail == "The engine is slow."

        await wait_until(lambda: opened.supervisor.part().state == "ready")


async def test_trouble_is_said_once_and_that_it_is_over_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = FailingFirst(5)

    async def dead_ones() -> Sequence[str]:
        await dead()
        return ()

    opened = kept_by(store)
    with capture_logs() as logs:
        async with running(opened):
            monkeypatch.setattr(store.replicas, "dead", dead_ones)
            await wait_until(lambda: opened.supervisor.part().state == "failed")
            assert opened.supervisor.part().detail == "The server is away."
            await wait_until(lambda: opened.supervisor.part().state == "ready")
            await wait_until(lambda: dead.asked > 8)

    events = [line["event"] for line in logs if line["event"].startswith("inbox.")]
    assert events == ["inbox.troubled", "inbox.well_again"]


async def test_a_defect_is_noted_without_its_text_and_does_not_end_the_rounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = FailingFirst(1, RuntimeError("password=hunter2"))

    async def dead_ones() -> Sequence[str]:
        await dead()
        return ()

    opened = kept_by(store)
    with capture_logs() as logs:
        async with running(opened):
            monkeypatch.setattr(store.replicas, "dead", dead_ones)
            await wait_until(lambda: opened.supervisor.part().state == "failed")
            assert opened.supervisor.part().detail == "RuntimeError"
            await wait_until(lambda: dead.asked > 2)
            assert opened.supervisor.part().state == "ready"

    assert [bool(line["exc_info"]) for line in logs if line["event"] == "inbox.troubled"] == [True]


async def test_a_dead_servers_work_is_taken_over_within_a_few_rounds(store: Store) -> None:
    gate = AnswerBarrier()
    dying = MemoryEngine("dying")
    dead = kept_by(store, engine=dying, desk=EchoDesk(gate))
    await dead.supervisor.start()
    await dead.inbox.accept(ASKED)
    await gate.reached.wait()
    desk, engine = EchoDesk(), WatchedEngine("living")
    async with running(kept_by(store, engine=engine, desk=desk)) as inbox:
        await asyncio.sleep(0.1)
        assert desk.handled == []

        await kill(dead, dying)
        await store.replicas.prolong("dying", seconds=0)

        assert await asyncio.wait_for(inbox.outcome(ID), 60) == generic_outcome("You said: hello")
        await wait_until(lambda: "dying" in engine.abandoned)
        async with asyncio.timeout(60):
            while await store.replicas.dead():  # noqa: ASYNC110 - rows tell nobody
                await asyncio.sleep(0.01)

    claim = (await stored_interaction(store, ID)).claim
    assert claim is not None
    assert claim.owner == "living"


class ShiftedClock:
    """The monotonic clock, some seconds later."""

    later = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.later


async def test_where_all_leases_ran_out_others_may_renew_theirs_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, engine = ShiftedClock(), WatchedEngine("me")
    monkeypatch.setattr("bot.inbox.heartbeat.time", clock)
    async with running(kept_by(store, engine=engine)):
        renewed = FailingFirst(0, then=store.replicas.prolong)
        monkeypatch.setattr(store.replicas, "prolong", renewed)
        clock.later = 60.0
        await renewed.more()
        await store.replicas.prolong("slow", seconds=0)
        await renewed.more()
        assert engine.abandoned == []

        for _ in range(2):
            clock.later += 2.6
            await renewed.more()
        await wait_until(lambda: engine.abandoned == ["slow"])


async def kill(opened: BuiltInbox, engine: MemoryEngine) -> None:
    """Stop everything without a word, as kill -9 does; the lease stays."""
    await engine.stop()
    keeper = opened.supervisor
    assert isinstance(keeper, InboxSupervisor)
    for task in keeper._tasks:  # noqa: SLF001 - there is no door for a kill
        task.cancel()
    await asyncio.gather(*keeper._tasks, return_exceptions=True)  # noqa: SLF001 - as above


async def test_stopping_ends_the_lease(store: Store) -> None:
    opened = kept_by(store, engine=MemoryEngine("me"))
    await opened.supervisor.start()
    assert await store.replicas.living() == ["me"]

    await opened.supervisor.stop()

    assert await store.replicas.living() == []
    assert await store.replicas.dead() == ["me"], "so that others take over what it had begun"


async def test_one_may_stop_without_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = kept_by(store)
    await opened.supervisor.start()
    monkeypatch.setattr(store.replicas, "release", FailingFirst(9))

    await opened.supervisor.stop()


async def test_a_stop_before_the_start_succeeded_is_a_stop(store: Store) -> None:
    opened = kept_by(store, prepare=FailingFirst(999))
    await opened.supervisor.start()

    await asyncio.wait_for(opened.supervisor.stop(), 60)


async def test_the_lease_is_prolonged_while_a_round_takes_long(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, prolonged = asyncio.Event(), FailingFirst(0)

    async def slow() -> Sequence[str]:
        entered.set()
        await asyncio.sleep(60)
        return ()

    async with running(kept_by(store)):
        monkeypatch.setattr(store.replicas, "dead", slow)
        await entered.wait()
        monkeypatch.setattr(store.replicas, "prolong", prolonged)

        await wait_until(lambda: prolonged.asked > 3)


async def test_old_things_are_forgotten_soon_after_the_start_and_then_rarely(
    store: Store,
) -> None:
    engine, clean = WatchedEngine(), FailingFirst(0)
    async with running(kept_by(store, engine=engine, clean=clean)):
        await wait_until(lambda: clean.asked)
        await asyncio.sleep(0.2)

    assert (clean.asked, engine.forgot) == (1, 1)


async def test_where_nobody_else_can_be_earlier_servers_are_dead_at_once(store: Store) -> None:
    await store.replicas.prolong("an-earlier-server", seconds=3600)
    await store.work.open(ASKED, "an-earlier-server")

    async with running(inbox_over(store)) as inbox:
        assert await asyncio.wait_for(inbox.outcome(ID), 60) == generic_outcome("You said: hello")


async def test_who_came_back_keeps_the_lease_that_another_found_run_out(store: Store) -> None:
    await store.replicas.prolong("back", seconds=-1)
    assert list(await store.replicas.dead()) == ["back"]
    await store.replicas.prolong("back", seconds=60)

    await store.replicas.bury("back")

    assert list(await store.replicas.living()) == ["back"]

"""Tests of the work on one message, run by hand, so that every pause is seen."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from bot.answering.asker_identity import OUTSIDERS_NOT_KNOWN
from bot.domain.errors import (
    AskerUnknown,
    ClaimLost,
    DeliveryFailed,
    DeliveryRefused,
    RateLimited,
    StoreUnavailable,
)
from bot.domain.interactions import Claim, Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, Inquiry, InteractionId, Message, Stage
from bot.domain.outcomes import UNAVAILABLE
from bot.inbox.accept import DurableInbox
from bot.inbox.ports import Admits
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from bot.store.tables import InteractionRow
from bot.store.work import StoredWork
from tests.fakes.bot_ports import (
    AnswerBarrier,
    EchoDesk,
    IdleEngine,
    OpenAdmission,
    PostEvent,
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
    thread_exchanges,
)
from tests.unit.bot.inbox.test_replicas import Clock

ASKED = message("hello", platform="slack")
ID = ASKED.interaction_id
FULL = DeliveryFailed("The board is full.")
REFUSED = DeliveryRefused("The channel is gone.")


def by_hand(
    store: Store,
    board: ScriptedPlatform,
    *,
    desk: EchoDesk | None = None,
    admission: Admits | None = None,
    limits: WorkLimits = SOON,
    alone: bool = True,
) -> DurableInbox:
    """Return an inbox that accepts, and works only when ``run`` is called."""
    channels = {board.platform: board}
    opened = inbox_over(
        store,
        desk=desk,
        admission=admission,
        channels=channels,
        limits=limits,
        engine=IdleEngine(),
        alone=alone,
    )
    opened.inbox.open()
    return opened.inbox


async def sql(store: Store, **values: object) -> None:
    """Change the row of the message, as another process would."""
    async with store.transactions.writing() as connection:
        await connection.execute(
            update(InteractionRow).where(InteractionRow.id == ID).values(**values)
        )


async def test_a_message_is_answered_recorded_and_posted(store: Store) -> None:
    board = ScriptedPlatform()
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is None

    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.posted) == ("done", PostedRef("board", f"{ID}:reply"))
    assert board.posts == {f"{ID}:reply": "You said: hello"}
    assert board.found == 0
    assert await inbox.run(ID) is None
    assert board.tried == 1


async def test_the_outcome_is_on_disk_before_anything_is_posted(store: Store) -> None:
    seen: list[Interaction] = []

    async def look() -> None:
        seen.append(await stored_interaction(store, ID))

    inbox = by_hand(store, ScriptedPlatform(look))
    await inbox.accept(ASKED)
    await inbox.run(ID)

    assert [(each.status, each.posting) for each in seen] == [("done", True)]
    assert seen[0].outcome == generic_outcome("You said: hello")


async def test_a_question_edited_twice_is_answered_as_after_the_first_edit(
    store: Store,
) -> None:
    edits = iter(["second", "third", "fourth"])

    async def edited_meanwhile(asked: Message) -> Outcome:
        await inbox.amend(replace(ASKED, text=next(edits)))
        return generic_outcome(f"You said: {asked.text}")

    desk, board = EchoDesk(edited_meanwhile), ScriptedPlatform()
    inbox = by_hand(store, board, desk=desk)
    await inbox.accept(replace(ASKED, text="first"))

    assert await inbox.run(ID) is None

    assert desk.handled == ["first", "second"]
    assert list(board.posts.values()) == ["You said: second"]
    kept = await stored_interaction(store, ID)
    assert (kept.revision, kept.message.text) == (2, "second")
    assert await thread_exchanges(store, replace(ASKED, id="m9")) == [
        ("second", "You said: second")
    ]


async def test_what_is_withdrawn_while_it_is_posted_is_taken_back(store: Store) -> None:
    async def withdraw() -> None:
        await inbox.cancel(ID)

    board = ScriptedPlatform(withdraw)
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is None

    assert (board.posted, board.posts) == (1, {})
    assert (await stored_interaction(store, ID)).status == "cancelled"


async def test_what_is_withdrawn_while_answered_is_never_recorded_or_posted(
    store: Store,
) -> None:
    async def withdraw(_: Message) -> Outcome:
        await store.work.cancel(ID)
        return generic_outcome("too late")

    board = ScriptedPlatform()
    inbox = by_hand(store, board, desk=EchoDesk(withdraw))
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is None
    assert await inbox.run(ID) is None

    assert board.tried == 0
    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.outcome) == ("cancelled", None)


async def test_a_withdrawal_that_the_platform_does_not_take_is_tried_again(store: Store) -> None:
    class StickyBoard(ScriptedPlatform):
        stuck = 2

        async def withdraw(self, message: Message, posted: object) -> None:
            if self.stuck:
                self.stuck -= 1
                raise DeliveryFailed("Not now.")
            self.posts.clear()

    board = StickyBoard()
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)
    await inbox.run(ID)
    await inbox.cancel(ID)

    pauses = [await inbox.run(ID) for _ in range(3)]

    assert [pause is None for pause in pauses] == [False, False, True]
    assert (await stored_interaction(store, ID)).status == "cancelled"
    assert board.posts == {}


async def test_a_reply_that_can_not_be_taken_back_ends_the_withdrawal(store: Store) -> None:
    class FirmBoard(ScriptedPlatform):
        async def withdraw(self, message: Message, posted: object) -> None:
            raise REFUSED

    inbox = by_hand(store, FirmBoard())
    await inbox.accept(ASKED)
    await inbox.run(ID)
    await inbox.cancel(ID)

    with capture_logs() as logs:
        assert await inbox.run(ID) is None

    assert "delivery.not_withdrawn" in [line["event"] for line in logs]
    assert (await stored_interaction(store, ID)).status == "cancelled"


async def test_who_loses_the_claim_in_mid_work_records_and_posts_nothing(store: Store) -> None:
    async def overtaken(_: Message) -> Outcome:
        await sql(store, owner="another", epoch=7)
        return generic_outcome("too late")

    await store.replicas.prolong("another", seconds=60)
    board = ScriptedPlatform()
    inbox = by_hand(store, board, desk=EchoDesk(overtaken))
    await inbox.accept(ASKED)

    with capture_logs() as logs:
        assert await inbox.run(ID) is None

    assert "work.claim_lost" in [line["event"] for line in logs]
    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.outcome) == ("working", None)
    assert board.tried == 0


async def test_work_that_another_has_is_left_to_it(store: Store) -> None:
    inbox = by_hand(store, ScriptedPlatform())
    await inbox.accept(ASKED)
    await sql(store, owner="another", epoch=7)
    await store.replicas.prolong("another", seconds=60)

    assert await inbox.run(ID) is None

    assert (await stored_interaction(store, ID)).claim == Claim("another", 7)


async def test_who_does_not_hold_its_lease_records_but_posts_nothing(store: Store) -> None:
    board = ScriptedPlatform()
    inbox = by_hand(store, board, alone=False)
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is None

    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.posted) == ("done", None)
    assert board.tried == 0
    assert await inbox.adopt() == 1, "it is begun again, in case that nobody takes it over"


async def test_a_lease_that_runs_out_while_a_reply_is_posted_stops_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, posting = Clock(), asyncio.Event()
    monkeypatch.setattr("bot.inbox.heartbeat.time", clock)
    monkeypatch.setattr("bot.inbox.outbox._LEASE_CHECK_SECONDS", 0.01)

    async def too_long() -> None:
        posting.set()
        clock.now += 60
        await asyncio.sleep(60)

    board = ScriptedPlatform(too_long)
    opened = inbox_over(store, channels={"slack": board}, engine=IdleEngine(), alone=False)
    async with running(opened) as inbox:
        await inbox.accept(ASKED)
        with capture_logs() as logs:
            assert await inbox.run(ID) is None

    assert posting.is_set()
    assert "work.claim_lost" in [line["event"] for line in logs]
    assert board.posts == {}
    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.posting, kept.posted) == ("done", True, None)


async def test_the_same_work_begun_twice_is_done_once(store: Store) -> None:
    desk, board = EchoDesk(), ScriptedPlatform()
    inbox = by_hand(store, board, desk=desk)
    await inbox.accept(ASKED)

    assert await asyncio.gather(*(inbox.run(ID) for _ in range(5))) == [None] * 5

    assert desk.handled == ["hello"]
    assert board.tried == 1


async def test_a_reply_that_is_not_taken_is_tried_again_after_growing_pauses(
    store: Store,
) -> None:
    board = ScriptedPlatform(*[FULL] * 5)
    desk = EchoDesk()
    inbox = by_hand(store, board, desk=desk)
    await inbox.accept(ASKED)

    pauses = [await inbox.run(ID) for _ in range(5)]

    for number, pause in enumerate(pauses):
        assert pause is not None
        assert 2.0**number / 2 <= pause <= 2.0**number
    assert (await stored_interaction(store, ID)).attempts == 5
    assert await inbox.run(ID) is None
    assert (board.posted, desk.handled) == (1, ["hello"])


async def test_a_rate_limit_is_no_failed_attempt_but_posting_was_begun(store: Store) -> None:
    limited = RateLimited("Slow down.", retry_after_seconds=3.0)
    board = ScriptedPlatform(*[limited] * 5)
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)

    assert [await inbox.run(ID) for _ in range(5)] == [3.0] * 5

    kept = await stored_interaction(store, ID)
    assert (kept.attempts, kept.posting) == (0, True)
    assert await inbox.run(ID) is None
    assert (board.posted, board.found) == (1, 5)


async def test_a_defect_while_posting_is_retried_as_a_failed_attempt(store: Store) -> None:
    board = ScriptedPlatform(*[ZeroDivisionError("secret")] * 2)
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)

    assert await inbox.run(ID)
    assert (await stored_interaction(store, ID)).attempts == 1

    await sql(store, finished_at=datetime.now(UTC) - timedelta(days=2))
    assert await inbox.run(ID) is None
    kept = await stored_interaction(store, ID)
    assert kept.status == "failed"
    assert "secret" not in kept.failure


async def test_the_pauses_have_an_end(store: Store) -> None:
    inbox = by_hand(store, ScriptedPlatform(FULL))
    await record_answer(store, ASKED, "hi")
    await sql(store, attempts=1000)

    pause = await inbox.run(ID)

    assert pause is not None
    assert 150 <= pause <= 300


async def test_a_platform_that_says_when_to_come_again_is_believed(store: Store) -> None:
    later = DeliveryFailed("Slow down.", retry_after_seconds=40.0)
    inbox = by_hand(store, ScriptedPlatform(later))
    await inbox.accept(ASKED)

    assert await inbox.run(ID) == 40.0


async def test_what_may_have_got_through_is_looked_up_before_a_repeat(
    store: Store,
) -> None:
    board = ScriptedPlatform(lost=1)
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is not None
    assert await inbox.run(ID) is None

    assert (board.posted, board.found) == (1, 1)
    assert (await stored_interaction(store, ID)).posted is not None


@pytest.mark.parametrize(
    ("happens", "limits", "why"),
    [(FULL, WorkLimits(delivery_hours=0), "full"), (REFUSED, SOON, "gone")],
    ids=["for too long", "refused"],
)
async def test_what_will_not_be_taken_is_given_up_and_the_outcome_stays(
    store: Store, happens: Exception, limits: WorkLimits, why: str
) -> None:
    board = ScriptedPlatform(happens)
    inbox = by_hand(store, board, limits=limits)
    await inbox.accept(ASKED)

    with capture_logs() as logs:
        assert await inbox.run(ID) is None

    assert [line["why"] for line in logs if line["event"] == "delivery.given_up"] == [str(happens)]
    kept = await stored_interaction(store, ID)
    assert kept.status == "failed"
    assert why in kept.failure
    assert kept.outcome == generic_outcome("You said: hello")
    assert await inbox.outcome(ID) == kept.outcome
    assert await store.work.unfinished() == []


class PlacingBoard(ScriptedPlatform):
    """Opens a placeholder for each reply; remembers which it removed."""

    def __init__(self, *happens: PostEvent) -> None:
        super().__init__(*happens)
        self.closed: list[PostedRef] = []

    def has_placeholder(self, message: Message) -> bool:
        return True

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef:
        return PostedRef("board", f"{message.id}:{needed}")

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        self.closed.append(placeholder)


@pytest.mark.mended(id="teams-2")
async def test_a_reply_given_up_after_a_day_leaves_no_placeholder(store: Store) -> None:
    board = PlacingBoard(FULL)
    inbox = by_hand(store, board, limits=WorkLimits(delivery_hours=0))
    await inbox.accept(ASKED)

    assert await inbox.run(ID) is None

    assert board.closed == [(await stored_interaction(store, ID)).placeholder]
    assert board.activities[-1] == Activity(Stage.DONE)


async def test_a_server_that_died_before_posting_is_followed_by_a_look_up(store: Store) -> None:
    board = ScriptedPlatform()
    board.posts[f"{ID}:reply"] = "hi"
    inbox = by_hand(store, board)
    await record_answer(store, ASKED, "hi")

    assert await inbox.run(ID) is None

    assert (board.found, board.tried) == (1, 0)
    assert (await stored_interaction(store, ID)).posted == PostedRef("board", f"{ID}:reply")


Step = Callable[..., Awaitable[object]]


@pytest.mark.parametrize("step", ["claim", "get", "close", "posting", "posted", "unposted"])
async def test_a_record_that_is_away_at_any_step_is_waited_for_and_one_reply_is_posted(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    calls = itertools.count()
    real: Step = getattr(StoredWork, step)

    async def away_once(*given: object, **named: object) -> object:
        if not next(calls):
            raise StoreUnavailable("The disk is full.")
        return await real(store.work, *given, **named)

    happens: list[PostEvent] = [FULL, FULL] if step in {"posting", "unposted"} else []
    board = ScriptedPlatform(*happens)
    inbox = by_hand(store, board)
    await inbox.accept(ASKED)
    if step == "claim":
        await inbox.run(ID)
        await sql(store, posted_id=None, status="working", outcome=None)
        board.posts.clear()
        board.posted = 0
    monkeypatch.setattr(store.work, step, away_once)

    pauses = [await inbox.run(ID) for _ in range(4)]

    assert pauses[-1] is None
    assert next(calls) > 1
    assert board.posted == 1
    assert (await stored_interaction(store, ID)).posted is not None


async def test_a_defect_of_a_channel_keeps_the_reply_and_is_not_raised(
    store: Store,
) -> None:
    inbox = by_hand(store, ScriptedPlatform(KeyError("thread_ts")))
    await inbox.accept(ASKED)

    with capture_logs() as logs:
        assert await inbox.run(ID) is not None

    assert any(line.get("exc_info") for line in logs)
    assert (await stored_interaction(store, ID)).status == "done"
    assert await inbox.run(ID) is None


async def test_a_desk_is_free_again_while_a_platform_is_waited_for(store: Store) -> None:
    gate, reached = asyncio.Event(), asyncio.Event()

    async def slow_platform() -> None:
        reached.set()
        await gate.wait()

    board = ScriptedPlatform(slow_platform)
    inbox = by_hand(store, board, limits=replace(SOON, concurrency=1))
    other = message("another", message_id="m2", platform="slack", thread="t2")
    await inbox.accept(ASKED)
    await inbox.accept(other)
    posting = asyncio.create_task(inbox.run(ID))
    await reached.wait()

    async with asyncio.timeout(5):
        assert await inbox.run(other.interaction_id) is None

    assert not posting.done()
    gate.set()
    assert await posting is None
    assert board.posted == 2


async def test_a_full_desk_tells_the_asker_without_asking_the_model(store: Store) -> None:
    gate = AnswerBarrier()
    desk, board = EchoDesk(gate), ScriptedPlatform()
    inbox = by_hand(store, board, desk=desk, limits=replace(SOON, waiting=1))
    other = message("one too many", message_id="m2", platform="slack", thread="t2")
    await inbox.accept(ASKED)
    answering = asyncio.create_task(inbox.run(ID))
    await gate.reached.wait()

    assert await inbox.accept(other) == other.interaction_id
    assert await inbox.run(other.interaction_id) is None

    told = board.posts[f"{other.interaction_id}:reply"]
    assert told.startswith("More questions are waiting than I can answer")
    assert desk.handled == ["hello"]
    gate.open()
    assert await answering is None
    assert await store.interactions.stages(other.interaction_id) == [Activity(Stage.DONE)]


async def test_work_that_nobody_recorded_is_no_work(store: Store) -> None:
    inbox = by_hand(store, ScriptedPlatform())

    assert await inbox.run(InteractionId("00000000-0000-0000-0000-000000000000")) is None


async def test_work_that_is_cancelled_stops_the_desk(store: Store) -> None:
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    inbox = by_hand(store, ScriptedPlatform(), desk=desk)
    await inbox.accept(ASKED)
    working = asyncio.create_task(inbox.run(ID))
    await gate.reached.wait()

    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working

    assert desk.busy == 0
    assert (await stored_interaction(store, ID)).status == "working"


async def test_work_that_keeps_breaking_is_answered_with_an_apology(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._FIRST_PAUSE_SECONDS", 0.0)

    async def unwritable(asked: Message) -> Outcome:
        outcome = generic_outcome(asked.text)
        return replace(
            outcome, trace=replace(outcome.trace, notes=cast("tuple[str, ...]", (object(),)))
        )

    desk, board = EchoDesk(unwritable), ScriptedPlatform()
    inbox = by_hand(store, board, desk=desk)
    await inbox.accept(ASKED)
    runs = 1
    while await inbox.run(ID) is not None:
        runs += 1
        assert runs < 20

    assert len(desk.handled) < 10
    assert [UNAVAILABLE in text for text in board.posts.values()] == [True]


@dataclass
class AwayAdmission:
    """Is not told who asks, so many times."""

    times: int

    async def admit(self, message: Message) -> Inquiry:
        self.times -= 1
        if self.times >= 0:
            raise AskerUnknown("Slack did not say who asks.")
        return await OpenAdmission().admit(message)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("times", "seconds", "said"),
    [(3, 60.0, "You said: hello"), (3, 0.0, OUTSIDERS_NOT_KNOWN.text), (1, 0.0, "You said: hello")],
    ids=["soon", "too long", "known once it is asked again"],
)
async def test_an_asker_unknown_for_a_moment_waits_and_is_then_answered(
    store: Store, times: int, seconds: float, said: str
) -> None:
    board, limits = ScriptedPlatform(), replace(SOON, introduction_seconds=seconds)
    inbox = by_hand(store, board, limits=limits, admission=AwayAdmission(times))
    await inbox.accept(ASKED)
    runs = 1
    while await inbox.run(ID) is not None:
        runs += 1

    assert runs == (4 if seconds else 2)
    assert list(board.posts.values()) == [said]


async def test_a_process_whose_claim_is_another_s_gives_nothing_up(store: Store) -> None:
    mine = await store.work.open(ASKED, "me")
    await store.work.close(mine, generic_outcome("hi"), last=True)
    taken = await store.work.claim(ID, "you")
    assert taken is not None

    with pytest.raises(ClaimLost):
        await store.work.fail(mine, "Blocked.")
    with pytest.raises(ClaimLost):
        await store.work.placeholder(mine, PostedRef("C1", ""))

    assert (await stored_interaction(store, ID)).status == "done"

"""Tests of what is forgotten in time, and what is not, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from bot.domain.cases import State
from bot.domain.interactions import Feedback
from bot.domain.messages import InteractionId, Refusal
from bot.domain.outcomes import refused_outcome
from bot.domain.ports import SEEN_COMMANDS
from bot.domain.record_reports import RetentionResult, Span
from bot.escalations.lifecycle import UNSETTLED
from bot.store import retention as module
from bot.store.database import Store
from bot.store.rows import Rows
from bot.store.tables import (
    AuditRow,
    ConversationRow,
    EscalationRow,
    FeedbackRow,
    InteractionRow,
    ProgressRow,
    Table,
    TurnRow,
    UsageRow,
)
from tests.fakes.builders import NOON, message
from tests.fakes.record_rows import (
    RowsOfTables,
    add_all,
    add_conversation,
    add_escalation,
    add_interaction,
    add_usage,
    conversation_rows,
    count,
    escalation_rows,
    interaction_rows,
)

DAYS = 30
OLD = NOON - timedelta(days=DAYS, seconds=1)
RECENT = NOON - timedelta(days=DAYS)
TABLES: tuple[type[Table], ...] = (
    InteractionRow,
    ConversationRow,
    TurnRow,
    ProgressRow,
    FeedbackRow,
    EscalationRow,
)


@dataclass(frozen=True)
class Kept:
    """An interaction as it is found; ``finished`` and ``settled`` in days after it came."""

    age_days: int
    finished: int
    settled: int
    status: str
    posted: bool
    escalation: str | None
    thread: str

    @property
    def forgettable(self) -> bool:
        ended = self.age_days - (self.finished if self.status != "working" else 0)
        finished = self.status in {"failed", "cancelled"} or (self.status == "done" and self.posted)
        return finished and ended > DAYS and not self.waits

    @property
    def waits(self) -> bool:
        """Whether somebody works on it, or did so lately."""
        lately = self.age_days - self.settled <= DAYS
        return self.escalation is not None and (self.escalation in UNSETTLED or lately)


KEPT = st.builds(
    Kept,
    age_days=st.integers(25, 40),
    finished=st.integers(0, 10),
    settled=st.integers(0, 10),
    status=st.sampled_from(["working", "done", "failed", "cancelling", "cancelled"]),
    posted=st.booleans(),
    escalation=st.sampled_from([None, *get_args(State)]),
    thread=st.sampled_from(["t1", "t2", "t3"]),
)


async def fill(store: Store, kept: Sequence[Kept]) -> None:
    added: RowsOfTables = []
    for number, each in enumerate(kept):
        came = NOON - timedelta(days=each.age_days)
        ended = came + timedelta(days=each.finished)
        added += interaction_rows(
            f"i{number}",
            at=came,
            status=each.status,
            posted=each.posted,
            thread=each.thread,
            finished_at=None if each.status == "working" else ended,
        )
        if each.escalation:
            settled = came + timedelta(days=each.settled)
            added += escalation_rows(f"i{number}", state=each.escalation, changed_at=settled)
    for thread in {each.thread for each in kept}:
        oldest = min(each.age_days for each in kept if each.thread == thread)
        added += conversation_rows(thread, last_at=NOON - timedelta(days=oldest))
    await add_all(store, added)


async def clear(store: Store) -> None:
    async with store.transactions.writing() as connection:
        for table in (InteractionRow, ConversationRow, UsageRow):
            await connection.execute(delete(table))


async def names(store: Store) -> set[str]:
    async with store.transactions.reading() as connection:
        return set(await connection.scalars(select(InteractionRow.id)))


@settings(
    phases=[Phase.explicit, Phase.generate],  # shrinking what needs a database takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(kept=st.lists(KEPT, max_size=12), chunk=st.integers(1, 5))
async def test_exactly_what_ended_long_ago_and_waits_for_nobody_is_forgotten(
    store: Store, kept: list[Kept], chunk: int
) -> None:
    await clear(store)
    await fill(store, kept)
    left = [each for each in kept if not each.forgettable]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        patch.setattr(module, "PAUSE_SECONDS", 0)
        swept = await store.retention.sweep(NOON, DAYS)

    expected = {f"i{n}" for n, each in enumerate(kept) if not each.forgettable}
    assert await names(store) == expected
    threads = {each.thread for each in left}
    recent = {each.thread for each in kept if each.age_days <= DAYS}
    assert swept.interactions == len(kept) - len(left)
    assert await count(store, ConversationRow) == len(threads | recent)
    for table in (TurnRow, ProgressRow):
        assert await count(store, table) == len(left)
    assert await count(store, EscalationRow) == sum(bool(each.escalation) for each in left)
    assert await store.retention.sweep(NOON, DAYS) == RetentionResult()


@pytest.mark.mended(id="attack-10")
@pytest.mark.parametrize("days", [DAYS, 0])
async def test_what_was_refused_without_its_text_goes_after_a_day(store: Store, days: int) -> None:
    yesterday, today = NOON - timedelta(days=1, seconds=1), NOON - timedelta(hours=23)
    for name, note, at in (
        ("rate", "rate_per_user_per_minute", yesterday),
        ("pause", "pause", yesterday),
        ("budget", "model_tokens_per_day", yesterday),
        ("today", "pause", today),
    ):
        outcome = refused_outcome(message("hi", message_id=name), Refusal("Later.", note))
        await add_interaction(store, name, at=at, **Rows().outcome(outcome))

    assert await store.retention.sweep(NOON, days) == RetentionResult(refused=2)
    assert await names(store) == {"budget", "today"}


@pytest.mark.parametrize("days", [0, DAYS])
async def test_a_note_that_a_command_was_seen_goes_after_a_day(store: Store, days: int) -> None:
    seen, hello = f"{SEEN_COMMANDS}C1:1.0", "slack:hello:C1"
    for key in (seen, hello):
        assert await store.notes.first("acme", key)
    now = datetime.now(UTC)
    await store.retention.sweep(now, days)
    assert await store.notes.get("acme", seen) is not None
    await store.retention.sweep(now + timedelta(days=1, minutes=1), days)
    assert await store.notes.get("acme", seen) is None
    assert await store.notes.get("acme", hello) is not None


async def test_what_people_settled_lately_stays_however_long_it_waited(store: Store) -> None:
    await add_interaction(store, "i1", at=OLD)
    await add_escalation(store, "i1", state="resolved", changed_at=NOON)

    assert await store.retention.sweep(NOON, DAYS) == RetentionResult()
    assert await store.retention.sweep(
        NOON + timedelta(days=DAYS, seconds=1), DAYS
    ) == RetentionResult(1)


async def test_all_that_hangs_on_an_interaction_goes_with_it(store: Store) -> None:
    await add_interaction(store, "i1", at=OLD)
    await add_escalation(store, "i1", state="resolved", changed_at=OLD)
    await add_conversation(store, "web:default:anna:t1", last_at=OLD)
    await store.interactions.rate(Feedback(InteractionId("i1"), "ben", "down", OLD, comment="no"))
    assert [await count(store, table) for table in TABLES] == [1] * len(TABLES)

    assert await store.retention.sweep(NOON, DAYS) == RetentionResult(
        interactions=1, conversations=1
    )

    assert [await count(store, table) for table in TABLES] == [0] * len(TABLES)


async def test_a_conversation_that_goes_on_keeps_what_is_recent(store: Store) -> None:
    await add_conversation(store, "t")
    await add_interaction(store, "old", at=OLD, thread="t")
    await add_interaction(store, "recent", at=RECENT, thread="t")

    await store.retention.sweep(NOON, DAYS)

    assert await names(store) == {"recent"}
    assert await count(store, ConversationRow) == 1


async def test_a_conversation_without_questions_stays_while_it_is_recent(store: Store) -> None:
    await add_conversation(store, "recent", last_at=RECENT)
    await add_conversation(store, "old", last_at=OLD)

    assert await store.retention.sweep(NOON, DAYS) == RetentionResult(conversations=1)


async def test_old_usage_stays_and_no_longer_says_whose_it_was(store: Store) -> None:
    await add_usage(store, 1, at=OLD)
    await add_usage(store, 2, at=RECENT)
    await store.audits.append("default", "cli:anna", "resolve", "i1")
    everything = Span(OLD, NOON)
    before = await store.usage.sums(everything, "tenant")

    assert await store.retention.sweep(NOON, DAYS) == RetentionResult(usage=1)

    assert await store.usage.sums(everything, "tenant") == before
    people = await store.usage.sums(everything, "person")
    assert [(each.key, each.calls) for each in people] == [("", 1), ("anna", 1)]
    channels = await store.usage.sums(everything, "channel")
    assert [(each.key, each.calls) for each in channels] == [("", 1), ("web:anna", 1)]
    assert await count(store, AuditRow) == 1


async def test_no_days_keep_everything(store: Store) -> None:
    await add_interaction(store, "i1", at=datetime(1999, 1, 1, tzinfo=NOON.tzinfo))

    assert await store.retention.sweep(NOON, 0) == RetentionResult()
    assert await names(store) == {"i1"}


async def test_a_moment_without_zone_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="no zone"):
        await store.retention.sweep(datetime(2026, 11, 22), DAYS)  # noqa: DTZ001 - the point


async def test_more_than_a_chunk_goes_in_several_transactions(store: Store) -> None:
    for number in range(12):
        await add_interaction(store, f"i{number}", at=OLD)
        await add_usage(store, number, at=OLD)
        await add_conversation(store, f"t{number}", last_at=OLD)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", 4)
        assert await store.retention.sweep(NOON, DAYS) == RetentionResult(12, 12, 12)

    assert await count(store, InteractionRow) == 0


async def test_sweeping_and_writing_at_the_same_time_harm_nothing(store: Store) -> None:
    for number in range(20):
        await add_interaction(store, f"old{number}", at=OLD, thread="t")
    await add_conversation(store, "t", last_at=OLD)

    async def write() -> None:
        for number in range(10):
            await add_interaction(store, f"new{number}", thread="t")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", 3)
        *swept, _ = await asyncio.gather(
            *(store.retention.sweep(NOON, DAYS) for _ in range(3)), write()
        )

    assert sum(each.interactions for each in swept if each) == 20
    assert await names(store) == {f"new{number}" for number in range(10)}


async def test_what_is_written_to_between_the_look_and_the_sweep_stays(store: Store) -> None:
    await add_conversation(store, "t", last_at=OLD)
    await add_interaction(store, "i1", at=OLD)
    before = NOON - timedelta(days=DAYS)
    async with store.transactions.reading() as connection:
        threads = [
            tuple(row)
            for row in await connection.execute(module.select_empty_conversations(before, None))
        ]
        numbers = [
            tuple(row)
            for row in await connection.execute(module.select_old_interactions(before, None))
        ]
    await add_interaction(store, "new", thread="t")
    await add_escalation(store, "i1")

    async with store.transactions.writing() as connection:
        await connection.execute(module.delete_conversations(before, threads))
        await connection.execute(module.delete_interactions(before, numbers))

    assert (len(threads), len(numbers)) == (1, 1)
    assert await names(store) == {"i1", "new"}
    assert await count(store, ConversationRow) == 1

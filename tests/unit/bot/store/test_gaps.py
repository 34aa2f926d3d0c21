"""Tests of stored gaps on both databases: counts, words, states and what is deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, update

from bot.domain.interactions import PostedRef, new_feedback
from bot.domain.record_reports import Span
from bot.learning.gaps import GapQuery, GapState, GapSummary
from bot.store.database import Store
from bot.store.learning_tables import GapQuestionRow
from bot.store.tables import InteractionRow
from tests.fakes.learning import GUESS, NIGHT, AnswersNow, asked, gap_job, run, span_of_days
from tests.fakes.record_rows import count

BIKE, MAIL = "park a bicycle", "mail quota full"


async def gaps(
    store: Store, *states: GapState, span: Span | None = None, words: str = "", recent: bool = False
) -> list[GapSummary]:
    query = GapQuery(span or span_of_days(), frozenset(states), words, recent_first=recent)
    return list(await store.gap_reports.listed("default", query, 10, 0))


async def test_counts_are_of_a_span_and_of_the_one_before_it(store: Store) -> None:
    questions = [await asked(store, BIKE, person) for person in ("a", "b", "b", "c")]
    await run(gap_job(store))
    old = datetime.now(UTC) - timedelta(days=40)
    for question, at in ((questions[0], old), (questions[1], old - timedelta(days=40))):
        async with store.transactions.writing() as connection:
            row = GapQuestionRow
            statement = update(row).where(row.interaction_id == question.id)
            await connection.execute(statement.values(asked_at=at))

    (gap,) = await gaps(store)
    assert (gap.questions, gap.people, gap.before, gap.total) == (2, 2, 1, 4)
    assert gap.last_at == questions[3].created_at
    span = Span(old - timedelta(days=1), old + timedelta(days=1))
    assert [each.questions for each in await gaps(store, span=span)] == [1]
    assert not await gaps(store, span=Span(old - timedelta(days=9), old - timedelta(days=8)))


async def test_gaps_are_filtered_by_state_and_words_and_ordered(store: Store) -> None:
    for text in (BIKE, BIKE, MAIL):
        await asked(store, text)
    await run(gap_job(store))
    bike, mail = await gaps(store)
    await store.gaps.set_state("default", mail.id, "taken", actor="board:a", name="Anna")

    assert [each.id for each in await gaps(store, "taken", "closed")] == [mail.id]
    assert [each.id for each in await gaps(store, words="QUOTA mail")] == [mail.id]
    assert not await gaps(store, words="quota bicycle")
    assert [each.id for each in await gaps(store, recent=True)] == [mail.id, bike.id]
    assert not await store.gap_reports.listed("acme", GapQuery(span_of_days()), 10, 0)


async def test_the_newest_questions_of_each_gap_are_read(store: Store) -> None:
    for person in ("a", "b", "c"):
        await asked(store, BIKE, person)
        await asked(store, MAIL, person)
    await run(gap_job(store))
    ids = [each.id for each in await gaps(store)]

    found = await store.gap_reports.members("default", ids, 2)

    assert [[each.author for each in found[gap]] for gap in ids] == [["c", "b"], ["c", "b"]]


async def test_deleted_and_withdrawn_questions_take_their_words_along(store: Store) -> None:
    first, second = await asked(store, BIKE, "a"), await asked(store, BIKE, "b")
    await run(gap_job(store))

    await store.work.cancel(first.id)
    assert await count(store, GapQuestionRow) == 1
    async with store.transactions.writing() as connection:
        row = InteractionRow
        await connection.execute(delete(row).where(row.id == second.id))
    assert await count(store, GapQuestionRow) == 0
    assert not await gaps(store)


async def test_a_question_withdrawn_meanwhile_is_not_added(store: Store) -> None:
    question = await asked(store, BIKE)
    await store.work.posted(question.id, PostedRef("mika", "1"))
    await store.work.cancel(question.id)
    await run(gap_job(store))

    assert await count(store, GapQuestionRow) == 0


async def test_a_closed_gap_is_opened_by_a_newer_question_alone(store: Store) -> None:
    await asked(store, BIKE)
    job = gap_job(store, desk=AnswersNow(BIKE), night=NIGHT)
    await run(job)
    (gap,) = await gaps(store)
    await store.gaps.asked_again("default", gap.id, {}, ())
    assert [each.state for each in await gaps(store)] == ["closed"]

    await store.gaps.tidy("default")
    assert [each.state for each in await gaps(store)] == ["closed"]
    await asked(store, BIKE, "late")
    await run(job)
    assert [each.state for each in await gaps(store)] == ["new"]


async def test_thumbs_are_read_when_gaps_are(store: Store) -> None:
    question = await asked(store, BIKE, response=GUESS)
    await run(gap_job(store))
    assert len(await gaps(store)) == 1

    await store.interactions.rate(new_feedback(question.id, "a", "up"))
    assert not await gaps(store)
    assert not await store.gaps.newest_questions((await _any_gap(store)), 9)
    await store.interactions.rate(new_feedback(question.id, "b", "down"))
    assert len(await gaps(store)) == 1


async def _any_gap(store: Store) -> str:
    found = await store.gaps.with_words("default", BIKE)
    assert found is not None
    return found

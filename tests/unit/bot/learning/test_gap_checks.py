"""Tests of asking the questions of gaps again at night."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.interactions import Interaction
from bot.domain.messages import Attachment, Person, Policy
from bot.domain.record_reports import Span
from bot.domain.usage import UsageLimits
from bot.learning.gap_checks import PURPOSE
from bot.learning.gaps import GapQuery, GapSummary, PassageRef
from bot.store.database import Store
from bot.store.tables import InteractionRow, TurnRow, UsageRow
from rag.types import EVERYONE, Principal
from tests.fakes.board_app import CALL, OPEN
from tests.fakes.builders import message
from tests.fakes.learning import NIGHT, AnswersNow, asked, gap_job, run, span_of_days
from tests.fakes.record_rows import count

WORDS = (
    "park a bicycle",
    "park a bicycle here",
    "park the bicycle",
    "park my bicycle",
    "a bicycle",
)
HR = Principal("group:hr")
TOMORROW = timedelta(days=1)


async def gap(store: Store) -> GapSummary:
    (found,) = await store.gap_reports.listed("default", GapQuery(span_of_days()), 9, 0)
    return found


async def ask_all(store: Store, *texts: str) -> list[Interaction]:
    return [await asked(store, text, f"p{number}") for number, text in enumerate(texts)]


@pytest.mark.parametrize(("answered", "state"), [(4, "closed"), (3, "new")])
async def test_a_gap_is_closed_once_most_of_its_questions_are_answered(
    store: Store, answered: int, state: str
) -> None:
    await ask_all(store, *WORDS)
    await run(gap_job(store, desk=AnswersNow(*WORDS[:answered], page=OPEN), night=NIGHT))

    found = await gap(store)
    assert (found.state, found.total) == (state, 5)
    page = (PassageRef(OPEN.id, OPEN.page_id),)
    assert found.answered_by == (page if state == "closed" else ())


async def test_another_unanswered_question_opens_it_again(store: Store) -> None:
    desk = AnswersNow(*WORDS, page=OPEN)
    await ask_all(store, *WORDS)
    job = gap_job(store, desk=desk, night=NIGHT)
    await run(job)
    await asked(store, WORDS[0], "late")
    await run(job)

    found = await gap(store)
    assert (found.state, found.total, found.answered_by) == ("new", 6, ())
    acts = [each.act for each in await store.audits.newest("default", 9)]
    assert acts == ["gap reopened", "gap closed"]


async def test_a_gap_that_is_not_ours_is_not_asked_again(store: Store) -> None:
    desk = AnswersNow(*WORDS)
    await ask_all(store, *WORDS)
    await run(gap_job(store))
    found = await gap(store)
    await store.gaps.set_state("default", found.id, "not_ours", actor="board:a", name="Anna")
    await run(gap_job(store, desk=desk, night=NIGHT))

    assert not desk.inquiries
    assert (await gap(store)).state == "not_ours"


async def test_nothing_is_recorded_but_the_cost_which_is_nobodys(store: Store) -> None:
    await ask_all(store, *WORDS[:2])
    before = [await count(store, table) for table in (InteractionRow, TurnRow)]
    await run(gap_job(store, desk=AnswersNow(), night=NIGHT))

    assert [await count(store, table) for table in (InteractionRow, TurnRow)] == before
    assert await count(store, UsageRow) == 2
    now = datetime.now(UTC) + timedelta(minutes=1)
    span = Span(now - TOMORROW, now)
    (nobody,) = await store.usage.sums(span, "person", "default")
    assert (nobody.key, nobody.calls) == ("", 2)
    spent = await store.counting.spent("default", now - TOMORROW, now)
    assert (spent.tokens, round(spent.usd, 6)) == (1_960, 0.003)
    assert PURPOSE == "gap_check"


@pytest.mark.parametrize(
    ("private", "principals", "readers"),
    [
        (True, {EVERYONE, HR}, {EVERYONE, HR}),
        (True, {EVERYONE}, {EVERYONE}),
        (False, {EVERYONE, HR}, {EVERYONE}),
    ],
)
async def test_it_is_asked_for_the_readers_that_the_answer_had(
    store: Store, *, private: bool, principals: set[Principal], readers: set[Principal]
) -> None:
    question = replace(
        message("park it", message_id="m9", private=private),
        author=Person("mika", principals=frozenset(principals)),
        attachments=(Attachment("plan.pdf", "application/pdf", 1, "place"),),
    )
    await asked(store, "park it", question=question)
    desk = AnswersNow()
    await run(gap_job(store, desk=desk, night=NIGHT))

    (inquiry,) = desk.inquiries
    assert inquiry.audience.principals == readers
    assert (inquiry.history, inquiry.attached, inquiry.message.attachments) == ((), (), ())


async def test_the_channels_policy_bounds_it_and_people_from_outside_are_not_asked_for(
    store: Store,
) -> None:
    await store.policies.set("default", "slack:C1", Policy(frozenset({"IT"})), actor="cli:a")
    await store.policies.set("default", "slack:C2", Policy(answers="off"), actor="cli:a")
    guest = replace(message("a guest asks", message_id="m9"), author=Person("g", outsider="guest"))
    await asked(store, "park it", channel="C1")
    await asked(store, "mail quota", channel="C2")
    await asked(store, "a guest asks", question=guest)
    desk = AnswersNow("park it", "mail quota", "a guest asks", page=OPEN)
    await run(gap_job(store, desk=desk, night=NIGHT))

    assert [each.policy.spaces for each in desk.inquiries] == [frozenset({"IT"})]
    query = GapQuery(span_of_days(), frozenset({"closed"}))
    assert len(await store.gap_reports.listed("default", query, 9, 0)) == 1


async def test_a_night_has_a_budget_and_the_next_one_goes_on(store: Store) -> None:
    topics = [f"topic{n} word{n} thing{n}" for n in range(5)]
    await ask_all(store, *topics)
    desk = AnswersNow()
    job = gap_job(store, desk=desk, budget=2, night=NIGHT)
    now = datetime.now(UTC)
    await run(job, now)
    await run(job, now)
    assert len(desk.inquiries) == 2
    await run(job, now + TOMORROW)
    await run(job, now + 2 * TOMORROW)

    assert {each.message.text for each in desk.inquiries} == set(topics)


async def test_a_part_of_a_gap_is_not_asked_when_the_budget_ends(store: Store) -> None:
    await ask_all(store, "topic word thing", *WORDS)
    desk = AnswersNow(*WORDS)
    await run(gap_job(store, desk=desk, budget=5, night=NIGHT))

    texts = {each.message.text for each in desk.inquiries}
    assert texts in ({"topic word thing"}, set(WORDS))


@pytest.mark.parametrize("why", ["off", "pause", "tokens"])
async def test_nothing_is_asked_without_a_budget_or_in_a_pause(store: Store, why: str) -> None:
    await ask_all(store, *WORDS)
    if why == "pause":
        await store.pauses.pause("default", "moving", "cli:a")
    desk = AnswersNow(*WORDS)
    limits = UsageLimits(tokens=1)
    await store.usage.record("default", (await _any(store)).id, (CALL,), "answer")
    await run(
        gap_job(
            store,
            desk=desk,
            budget=0 if why == "off" else 200,
            limits=limits if why == "tokens" else None,
            night=NIGHT,
        )
    )

    assert not desk.inquiries
    assert (await gap(store)).state == "new"


async def _any(store: Store) -> Interaction:
    return (await store.interactions.answered("default", 1))[0]

"""Tests of figures by channel, space and intent over a generated month, and of facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.interactions import Escalation, Interaction, Outcome, Reply, Response, Trace
from bot.domain.messages import Intent, Person
from bot.domain.record_reports import GROUPINGS, Figures, Scope, Tally, last_days, span_of, sum_of
from bot.learning.insights import QuestionFacts
from bot.store.database import Store
from bot.store.learning_tables import CitedPageRow, QuestionFactRow
from bot.store.tables import EscalationStepRow, InteractionRow
from rag.embedding import QuestionVector
from tests.fakes.board_app import OPEN, source
from tests.fakes.builders import NOON, message, route
from tests.fakes.learning import collect_facts
from tests.fakes.record_rows import (
    BusyRecord,
    add,
    add_escalation,
    add_interaction,
    add_usage,
    count,
    fill,
)

MONTH = last_days(NOON, 30)
BERLIN = ZoneInfo("Europe/Berlin")
SURE = Reply("It is [1].", "answer", (replace(source(OPEN), space="IT"),), 0.9)
SOON = timedelta(minutes=5)


async def busy(store: Store) -> BusyRecord:
    record = await fill(store, NOON, days=30, a_day=25)
    await collect_facts(store)
    return record


def kinds_of(tally: Tally) -> dict[str, int]:
    return {kind: number for kind, number in tally.kinds.items() if number}


async def test_sums_by_each_grouping_add_up_to_the_whole(store: Store) -> None:
    await busy(store)

    found = await store.statistics.figures("default", MONTH)

    assert found.asked > 300
    for grouping in GROUPINGS:
        added = sum_of(found.groups[grouping].values())
        assert kinds_of(added) == kinds_of(found.total)
        assert replace(added, kinds={}) == replace(found.total, kinds={})


@pytest.mark.parametrize("grouping", GROUPINGS)
async def test_narrowed_down_figures_are_those_of_the_group(store: Store, grouping: str) -> None:
    await busy(store)
    groups = (await store.statistics.figures("default", MONTH)).groups[grouping]  # type: ignore[index]  # one of them

    for key, tally in groups.items():
        narrowed = await store.statistics.figures("default", MONTH, Scope(**{grouping: key}))
        assert kinds_of(narrowed.total) == kinds_of(tally)
        assert narrowed.total.deflection == tally.deflection
    assert len(groups) > 1


async def test_private_conversations_are_one_channel(store: Store) -> None:
    record = await busy(store)

    found = await store.statistics.figures("default", MONTH)

    assert set(found.groups["channel"]) == {"", "slack:C0HELP", "teams:19:help"}
    asked = Counter(row["channel"] for row in record.rows[InteractionRow])
    assert found.groups["channel"]["slack:C0HELP"].asked <= asked["slack:C0HELP"]


async def test_what_is_not_known_yet_is_private(store: Store) -> None:
    await fill(store, NOON, days=3, a_day=10)

    found = await store.statistics.figures("default", MONTH)

    assert set(found.groups["channel"]) == {""}


@pytest.mark.parametrize("zone", [UTC, BERLIN, ZoneInfo("Asia/Kathmandu")], ids=str)
async def test_days_are_those_of_the_operator(store: Store, zone: tzinfo) -> None:
    first, last = date(2026, 10, 20), date(2026, 10, 30)
    span = span_of(first, last, NOON, zone)
    moments = [span.since + timedelta(minutes=97 * n) for n in range(170)]
    asked = [at for at in moments if at < span.until]
    for number, at in enumerate(asked):
        await add_interaction(store, f"i{number}", at=at, answer_type="RAG")

    found = await store.statistics.figures("default", span, zone=zone)

    plain = Counter(at.astimezone(zone).date() for at in asked)
    assert {day.day: day.questions.asked for day in found.days} == dict(plain)
    assert (found.days[0].day, found.days[-1].day) == (first, last)


async def record(
    store: Store,
    name: str,
    text: str,
    response: Response = SURE,
    *,
    person: str = "mika",
    by_bot: bool = False,
    vector: QuestionVector | None = None,
) -> Interaction:
    said = replace(
        message(text, message_id=name, channel=person), author=Person(person), by_bot=by_bot
    )
    trace = Trace(route(Intent.DOMAIN, said.text), vector=vector)
    opened = await store.work.open(said, "me")
    await store.work.close(opened, Outcome(response, trace), last=True)
    found = await store.interactions.get(opened.id)
    assert found is not None
    return found


async def figures(store: Store) -> Figures:
    await collect_facts(store)
    week = last_days(datetime.now(UTC) + timedelta(minutes=1), 7)
    return await store.statistics.figures("default", week)


HANDED = Escalation("Of course.", "asked_for_human", "?")


@pytest.mark.parametrize(
    ("again", "person", "response", "deflected"),
    [
        ("where is the vpn", "mika", SURE, 1),
        ("WHERE is the VPN??", "mika", HANDED, 0),
        ("where is the vpn", "noor", SURE, 2),
        ("where is the printer", "mika", SURE, 2),
    ],
    ids=["asked again", "a person asked for", "another asked", "another question"],
)
async def test_the_same_question_again_was_not_deflected(
    store: Store, again: str, person: str, response: Response, deflected: int
) -> None:
    await record(store, "a", "Where is the VPN?")
    await record(store, "b", again, response, person=person)

    assert (await figures(store)).total.deflected == deflected


@pytest.mark.parametrize(("times", "followed"), [("12:00", True), ("11:00", False)])
async def test_what_follows_within_a_day_counts(
    store: Store, times: str, *, followed: bool
) -> None:
    first = await record(store, "a", "Where is the VPN?")
    await store.insights.add("default", [QuestionFacts(first.id, NOON, private=True, by_bot=False)])
    late = first.created_at + timedelta(hours=12 if followed else 25)
    again = QuestionFacts(first.id, late, private=True, by_bot=False, repeats=(first.id,))
    await store.insights.add("default", [again])

    found = await store.statistics.figures("default", last_days(late, 7))

    assert found.total.deflected == (0 if followed else 1)


async def test_a_question_of_a_bot_is_none_of_people(store: Store) -> None:
    await record(store, "a", "Where is the VPN?", by_bot=True)

    found = await figures(store)

    assert (found.asked, found.total.needed, found.total.deflection) == (1, 0, None)


async def test_a_press_below_an_answer_moves_it_to_people_in_each_group(store: Store) -> None:
    asked = await record(store, "a", "Where is the VPN?")
    wish = replace(asked.message, id=person_request_id("a"), text=PERSON_REQUEST)
    opened = await store.work.open(wish, "me")
    await store.work.close(opened, Outcome(HANDED, Trace(route(Intent.HUMAN, "?"))), last=True)

    found = await figures(store)

    assert kinds_of(found.total) == {"escalated": 1}
    assert kinds_of(found.groups["space"]["IT"]) == {"escalated": 1}


async def test_facts_have_the_space_and_the_pages_of_an_answer(store: Store) -> None:
    await record(store, "a", "Where is the VPN?")
    await record(store, "b", "And the printer?", HANDED)

    found = await figures(store)

    assert {key: each.asked for key, each in found.groups["space"].items()} == {"IT": 1, "": 1}
    month = last_days(datetime.now(UTC) + SOON, 30)
    assert await store.insights.cited("default", month, Scope(), 10) == [("IT", "vpn.md", 1)]
    assert await store.insights.cited("default", month, Scope(space=""), 10) == []
    assert await store.insights.cited("other", month, Scope(), 10) == []


async def test_a_withdrawn_question_leaves_no_facts(store: Store) -> None:
    asked = await record(store, "a", "Where is the VPN?")
    await collect_facts(store)
    await store.work.cancel(asked.id)
    await collect_facts(store)

    assert (await count(store, QuestionFactRow), await count(store, CitedPageRow)) == (0, 0)


async def test_facts_collected_twice_are_the_same(store: Store) -> None:
    await record(store, "a", "Where is the VPN?")
    await collect_facts(store)
    await store.jobs.set_mark("default", "figures", "")
    await collect_facts(store)

    assert (await count(store, QuestionFactRow), await count(store, CitedPageRow)) == (1, 1)


async def test_a_question_at_work_gets_its_facts_later(store: Store) -> None:
    asked = message("Where is the VPN?", message_id="a")
    opened = await store.work.open(asked, "me")
    await record(store, "b", "And the printer?")
    await collect_facts(store)
    await store.work.close(opened, Outcome(SURE, Trace(route(Intent.DOMAIN, "?"))), last=True)

    assert (await figures(store)).groups["space"]["IT"].asked == 2


async def test_costs_are_those_of_the_scope_and_the_day(store: Store) -> None:
    await add_interaction(store, "i1", at=NOON, intent="DOMAIN")
    await add_usage(store, 1, at=NOON.replace(hour=23, day=20))
    await add_usage(store, 2, at=NOON, cost_usd=None)
    await add_usage(store, 3, interaction_id="i2", at=NOON)
    month = last_days(NOON + SOON, 30)

    everything = await store.insights.costs("default", month, Scope(), BERLIN)
    narrowed = await store.insights.costs("default", month, Scope(intent="DOMAIN"), UTC)

    assert [(each.key[-2:], each.cost_usd) for each in everything] == [("21", 0.25), ("22", 0.25)]
    assert [(each.key[-2:], each.unpriced_calls) for each in narrowed] == [("20", 0), ("22", 1)]


async def test_an_experts_load_is_of_the_cases_opened_in_the_days(store: Store) -> None:
    for name, opened, state in (("a", NOON, "claimed"), ("old", MONTH.since - SOON, "answered")):
        await add_interaction(store, name, at=opened)
        await add_escalation(store, name, opened_at=opened, state=state, owner="ben")
        steps = (("open", "anna"), ("claim", "ben"), ("reply", "ben"), ("reply", "ben"))
        for number, (step, actor) in enumerate(steps):
            role = "asker" if actor == "anna" else "expert"
            values = {"interaction_id": name, "tenant": "default", "actor": actor}
            at = opened + timedelta(minutes=10 * number)
            await add(
                store, EscalationStepRow, **values, number=number, step=step, actor_role=role, at=at
            )

    (load,) = await store.insights.experts("default", last_days(NOON + SOON, 30))

    assert (load.id, load.held) == ("ben", 2)
    assert (load.claimed, load.answered, load.resolved) == (1, 1, 0)
    assert load.replying.p50 == 1200

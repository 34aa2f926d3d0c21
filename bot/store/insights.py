"""Store of what figures need beside the questions: facts, costs, experts' work, cited pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any

from sqlalchemy import Row, Select, case, func, or_, select, update

from bot.domain.interactions import Interaction
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.domain.record_reports import MOST_CASES, Scope, Span, UsageSum, percentiles_of
from bot.learning.insights import ExpertLoad, QuestionFacts
from bot.store.connections import Transactions
from bot.store.learning_tables import CitedPageRow, QuestionFactRow
from bot.store.queries import insert_once, not_withdrawn
from bot.store.question_counts import FOLLOWED_WITHIN, Selection
from bot.store.statistics import ALL_STATES
from bot.store.tables import EscalationRow, EscalationStepRow, InteractionRow, UsageRow

_HELD = ("claimed", "answered", "reopened")


class StoredInsights:
    """Stores facts and reads figures. Implements FactRecord and InsightReports."""

    def __init__(self, transactions: Transactions, *, most_cases: int = MOST_CASES) -> None:
        self._transactions = transactions
        self._cases = most_cases

    async def earlier(
        self, asked: Interaction, since: datetime, limit: int
    ) -> Sequence[InteractionId]:
        row = InteractionRow
        found = await self._transactions.scalars(
            select(row.id)
            .where(
                row.tenant == asked.message.thread.tenant,
                row.person == storable(asked.message.author.id),
                row.created_at >= since,
                row.created_at <= asked.created_at,
                row.number < asked.number,
            )
            .order_by(row.created_at.desc())
            .limit(limit)
        )
        return [InteractionId(each) for each in found]

    async def add(self, tenant: str, facts: Sequence[QuestionFacts]) -> None:
        if not facts:
            return
        dialect = self._transactions.dialect
        async with self._transactions.writing(lasting=False) as connection:
            # Locked, so that a withdrawal comes before, or deletes what is written here.
            ids = [each.id for each in facts]
            there = select(InteractionRow.id).where(InteractionRow.id.in_(ids), not_withdrawn())
            kept = set(await connection.scalars(there.with_for_update()))
            rows = [_fact_row(tenant, each) for each in facts if each.id in kept]
            cited = [row for each in facts if each.id in kept for row in _cited_rows(tenant, each)]
            if rows:
                await connection.execute(insert_once(dialect, QuestionFactRow, *rows))
            if cited:
                await connection.execute(insert_once(dialect, CitedPageRow, *cited))
            for each in facts:
                if each.repeats:
                    await connection.execute(_follow(each))

    async def costs(
        self, tenant: str, span: Span, scope: Scope, zone: tzinfo
    ) -> Sequence[UsageSum]:
        chosen = Selection(self._transactions.dialect, tenant, span, scope, zone)
        rows = await self._transactions.rows(select_costs(chosen))
        return [
            UsageSum(
                key=row.day,
                calls=row.calls,
                input_tokens=int(row.input_tokens),
                output_tokens=int(row.output_tokens),
                cost_usd=float(row.usd or 0),
                unpriced_calls=row.calls - row.priced,
            )
            for row in rows
        ]

    async def experts(self, tenant: str, span: Span) -> Sequence[ExpertLoad]:
        steps = await self._transactions.rows(select_steps(tenant, span, self._cases))
        held = await self._transactions.rows(select_held(tenant))
        work: defaultdict[str, list[Row[Any]]] = defaultdict(list)
        for row in steps:
            work[row.actor].append(row)
        now = {row.owner: row for row in held}
        loads = [_load(actor, work[actor], now.get(actor)) for actor in {*work, *now}]
        return sorted(loads, key=lambda each: (-each.answered, -each.claimed, each.id))

    async def cited(
        self, tenant: str, span: Span, scope: Scope, limit: int
    ) -> Sequence[tuple[str, str, int]]:
        chosen = Selection(self._transactions.dialect, tenant, span, scope)
        rows = await self._transactions.rows(select_cited(chosen, limit))
        return [(row.space, row.page, row.answers) for row in rows]


def select_costs(chosen: Selection) -> Select[*tuple[Any, ...]]:
    """Return the query for calls and costs of each day with a call."""
    row = UsageRow
    day = chosen.day(row.at.expression).label("day")
    return (
        select(
            day,
            func.sum(row.input_tokens).label("input_tokens"),
            func.sum(row.output_tokens).label("output_tokens"),
            func.sum(row.cost_usd).label("usd"),
            func.count().label("calls"),
            func.count(row.cost_usd).label("priced"),
        )
        .where(row.tenant == chosen.tenant)
        .where(row.at >= chosen.span.since, row.at < chosen.span.until)
        .where(*chosen.among(row.interaction_id.expression))
        .group_by(day)
        .order_by(day)
    )


def select_steps(tenant: str, span: Span, most: int) -> Select[*tuple[Any, ...]]:
    """Return the query for what each expert did on each of the newest cases of a span."""
    case_, step = EscalationRow, EscalationStepRow
    opened = (
        select(case_.interaction_id, case_.opened_at)
        .where(case_.tenant == tenant, case_.state.in_(ALL_STATES))
        .where(case_.opened_at >= span.since, case_.opened_at < span.until)
        .order_by(case_.opened_at.desc())
        .limit(most)
        .subquery()
    )
    by_expert = step.actor_role.in_(("expert", "admin")), step.actor != ""
    return (
        select(
            step.actor,
            func.max(step.actor_name).label("name"),
            opened.c.opened_at,
            func.min(case((step.step == "reply", step.at.expression))).label("replied_at"),
            func.max(case((step.step == "resolve", 1), else_=0)).label("resolved"),
            func.max(case((step.step == "resolve", 0), else_=1)).label("taken"),
        )
        .join(opened, opened.c.interaction_id == step.interaction_id)
        .where(step.step.in_(("claim", "reply", "resolve")), *by_expert)
        .group_by(opened.c.interaction_id, opened.c.opened_at, step.actor)
    )


def select_held(tenant: str) -> Select[*tuple[Any, ...]]:
    """Return the query for how many cases each expert has now."""
    row = EscalationRow
    return (
        select(row.owner, func.max(row.owner_name).label("name"), func.count().label("held"))
        .where(row.tenant == tenant, row.state.in_(_HELD), row.owner.is_not(None))
        .group_by(row.owner)
    )


def select_cited(chosen: Selection, limit: int) -> Select[*tuple[Any, ...]]:
    """Return the query for the pages that most answers of a span cite."""
    row = CitedPageRow
    answers = func.count().label("answers")
    return (
        select(row.space, row.page, answers)
        .where(row.tenant == chosen.tenant)
        .where(row.asked_at >= chosen.span.since, row.asked_at < chosen.span.until)
        .where(*chosen.among(row.interaction_id.expression))
        .group_by(row.space, row.page)
        .order_by(answers.desc(), row.space, row.page)
        .limit(limit)
    )


def _follow(facts: QuestionFacts) -> Any:  # noqa: ANN401 - a statement
    """Return the statement that dates what followed earlier questions, the first time."""
    row = QuestionFactRow
    still = or_(row.followed_at.is_(None), row.followed_at > facts.asked_at)
    soon = select(InteractionRow.id).where(
        InteractionRow.id.in_(facts.repeats),
        InteractionRow.created_at >= facts.asked_at - FOLLOWED_WITHIN,
    )
    change = update(row).where(row.interaction_id.in_(soon), still)
    return change.values(followed_at=facts.asked_at)


def _fact_row(tenant: str, facts: QuestionFacts) -> dict[str, object]:
    return {
        "interaction_id": facts.id,
        "tenant": tenant,
        "private": facts.private,
        "by_bot": facts.by_bot,
        "space": storable(facts.space),
    }


def _cited_rows(tenant: str, facts: QuestionFacts) -> list[dict[str, object]]:
    own = {"interaction_id": facts.id, "tenant": tenant, "asked_at": facts.asked_at}
    pages = dict.fromkeys((storable(space), storable(page)) for space, page in facts.cited)
    return [{**own, "space": space, "page": page} for space, page in pages]


def _load(actor: str, cases: Sequence[Row[Any]], held: Row[Any] | None) -> ExpertLoad:
    """Return an expert's load; of each of the cases one row says what they did."""
    names = [row.name for row in cases if row.name]
    waits = [row.replied_at - row.opened_at for row in cases if row.replied_at is not None]
    return ExpertLoad(
        id=actor,
        name=names[-1] if names else held.name if held else "",
        held=held.held if held else 0,
        claimed=sum(row.taken for row in cases),
        answered=len(waits),
        resolved=sum(row.resolved for row in cases),
        replying=percentiles_of([max(0.0, each.total_seconds()) for each in waits]),
    )

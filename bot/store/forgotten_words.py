"""Take the words and identifiers of a forgotten person out of rows that belong to others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, Select, Update, UpdateBase, and_, delete, select, update

from bot.domain.interactions import Escalation, Outcome
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Message, Policy
from bot.domain.personal_data import ForgetRequest, PersonKeys
from bot.store.connections import Transactions
from bot.store.learning_tables import GapQuestionRow, LabelRow, ReviewedAnswerRow
from bot.store.people import ERASE_PAGES, StoredPeople
from bot.store.person_tables import asked_by
from bot.store.queries import not_withdrawn, upsert
from bot.store.rows import utc_now
from bot.store.tables import AuditRow, EscalationRow, InteractionRow, NoteRow, PolicyRow, Table
from rag.text.sentences import split_units, without_markdown
from rag.text.words import stems

_LONGEST_TITLE = 300
_UNTITLED = "An answer of the help desk"
_SAME_WORDS = 0.5
"""Share of a title's word stems that were in the question, above which it is the asker's."""


class ForgottenWords:
    """Rewrites rows of others; everything can be repeated."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._people = StoredPeople(transactions)
        self._messages = Codec(Message)
        self._outcomes = Codec(Outcome)
        self._policies = Codec(Policy)

    async def take_out(self, tenant: str, keys: PersonKeys) -> int:
        """Take the words of a person's questions out of others' rows; return how many changed.

        Call it before the questions are withdrawn, because what they were is compared.
        """
        return await self._retitle_answers(tenant, keys) + await self._unlean(tenant, keys)

    async def quoting(self, tenant: str, keys: PersonKeys) -> Sequence[str]:
        """Return the questions that others asked by a button below one of the person's."""
        own = {message.id for message in await self._own_messages(tenant, keys)}
        found = await self._transactions.rows(
            _in_shared_threads(tenant, keys).where(not_withdrawn())
        )
        return [row.id for row in found if own & _beginnings(self._messages.decode(row.message).id)]

    async def unname(self, tenant: str, request: ForgetRequest) -> int:
        """Take a person's identifiers out of texts and lists; return how many rows changed."""
        return (
            await self._unname_notes(tenant, request)
            + await self._unname_audit(tenant, request)
            + await self._unname_policies(tenant, request.keys)
            + await self._unname_complaints(tenant, request.keys)
        )

    async def _own_messages(self, tenant: str, keys: PersonKeys) -> Sequence[Message]:
        query = select(InteractionRow.message).where(asked_by(tenant, keys))
        return [self._messages.decode(text) for text in await self._transactions.scalars(query)]

    async def _retitle_answers(self, tenant: str, keys: PersonKeys) -> int:
        """Give answers that came of a person's cases a title in their expert's words."""
        row, changed = ReviewedAnswerRow, 0
        found = await self._transactions.rows(
            select(row.id, row.question, row.variants, row.text, InteractionRow.message)
            .add_columns(InteractionRow.outcome, EscalationRow.question.label("case_question"))
            .join(InteractionRow, InteractionRow.id == row.case)
            .outerjoin(EscalationRow, EscalationRow.interaction_id == row.case)
            .where(asked_by(tenant, keys), not_withdrawn(), row.live_at.is_not(None))
        )
        for each in found:
            asked = self._wordings(each)
            variants = json.loads(each.variants)
            kept = [variant for variant in variants if not _is_of(variant, asked)]
            title = _title_of(each.text) if _is_of(each.question, asked) else each.question
            if (title, kept) != (each.question, variants):
                values = {"question": title, "variants": json.dumps(kept)}
                statement = update(row).where(row.id == each.id)
                counted = statement.values(version=row.version + 1, **values)
                # Its page has the title, too, until it is indexed again.
                page = {"tenant": tenant, "key": ERASE_PAGES, "text": "", "at": utc_now()}
                noted = upsert(self._transactions.dialect, NoteRow, page, ("tenant", "key"))
                async with self._transactions.writing() as connection:
                    await connection.execute(counted)
                    await connection.execute(noted)
                changed += 1
        return changed

    def _wordings(self, row: Row[Any]) -> Sequence[str]:
        """Return how a question was worded: as written, as searched for, and as a case."""
        outcome = None if row.outcome is None else self._outcomes.decode(row.outcome)
        searched = "" if outcome is None else outcome.trace.route.question
        return [self._messages.decode(row.message).text, searched, row.case_question or ""]

    async def _unlean(self, tenant: str, keys: PersonKeys) -> int:
        """Take a person's words out of the search queries of others' follow-ups."""
        own = set(
            await self._transactions.scalars(
                select(InteractionRow.id).where(asked_by(tenant, keys))
            )
        )
        changed = 0
        for row in await self._transactions.rows(_in_shared_threads(tenant, keys)):
            outcome = None if row.outcome is None else self._outcomes.decode(row.outcome)
            if outcome is not None and own & set(outcome.trace.route.leaned_on):
                text = self._messages.decode(row.message).text
                # In one transaction: the outcome tells that there is something left to do.
                async with self._transactions.writing() as connection:
                    for statement in self._unleaned(row.id, text, outcome, own):
                        await connection.execute(statement)
                changed += 1
        return changed

    def _unleaned(
        self, interaction_id: str, text: str, outcome: Outcome, own: Collection[str]
    ) -> Iterable[UpdateBase]:
        route = outcome.trace.route
        left = tuple(each for each in route.leaned_on if each not in own)
        alone = replace(route, question=text, search_query="", leaned_on=left)
        trace = replace(outcome.trace, route=alone, masked_question=None, searches=(), vector=None)
        response = outcome.response
        if isinstance(response, Escalation):
            response = replace(response, question=text)
        stored = self._outcomes.encode(replace(outcome, trace=trace, response=response))
        here = storable(text)
        yield _update(InteractionRow, interaction_id).values(outcome=stored)
        yield _update(EscalationRow, interaction_id).values(question=here)
        yield _update(GapQuestionRow, interaction_id).values(
            question=here, embedder="", vector=None
        )
        yield _update(LabelRow, interaction_id).where(LabelRow.question != "").values(question=here)

    async def _unname_notes(self, tenant: str, request: ForgetRequest) -> int:
        """Delete notes by a person's identifiers; replace them in the texts of others."""
        row, keys = NoteRow, request.keys
        found = await self._people.notes(tenant, keys)
        for each in found:
            here = and_(row.tenant == tenant, row.key == each.key)
            if keys.is_in(each.key):
                await self._transactions.execute(delete(row).where(here))
            else:
                text = keys.replaced_in(each.text, request.pseudonym)
                await self._transactions.execute(update(row).where(here).values(text=text))
        return len(found)

    async def _unname_audit(self, tenant: str, request: ForgetRequest) -> int:
        row, keys = AuditRow, request.keys
        found = await self._people.rows_naming(tenant, keys, row, "subject", "detail")
        for each in found:
            subject = keys.replaced_in(each.subject, request.pseudonym)
            detail = keys.replaced_in(each.detail, request.pseudonym)
            statement = update(row).where(row.number == each.number)
            await self._transactions.execute(statement.values(subject=subject, detail=detail))
        return len(found)

    async def _unname_policies(self, tenant: str, keys: PersonKeys) -> int:
        """Delete the policies of a person's own channels, and take them from lists of reviewers."""
        row = PolicyRow
        found = await self._people.rows_naming(tenant, keys, row, "channel", "policy")
        for each in found:
            here = and_(row.tenant == tenant, row.channel == each.channel)
            if each.channel.partition(":")[2] in keys.channels:
                await self._transactions.execute(delete(row).where(here))
                continue
            policy = self._policies.decode(each.policy)
            left = replace(policy, reviewers=policy.reviewers - keys.ids - keys.emails)
            text = self._policies.encode(left)
            await self._transactions.execute(update(row).where(here).values(policy=text))
        return len(found)

    async def _unname_complaints(self, tenant: str, keys: PersonKeys) -> int:
        row = ReviewedAnswerRow
        found = await self._people.rows_naming(tenant, keys, row, "complaints")
        for each in found:
            given = json.loads(each.complaints)
            left = json.dumps([one for one in given if one[1] not in keys.actors])
            statement = update(row).where(row.id == each.id)
            await self._transactions.execute(statement.values(complaints=left))
        return len(found)


def _in_shared_threads(tenant: str, keys: PersonKeys) -> Select[str, str, str | None]:
    """Return the query for what others asked in threads in which the person asked."""
    row = InteractionRow
    threads = select(row.thread).where(asked_by(tenant, keys)).distinct()
    return select(row.id, row.message, row.outcome).where(
        row.tenant == tenant,
        row.thread.in_(threads),
        row.person.not_in(sorted(map(storable, keys.ids))),
    )


def _beginnings(message_id: str) -> set[str]:
    """Return what a message id begins with before each colon, as buttons' ids do."""
    parts = message_id.split(":")
    return {":".join(parts[:count]) for count in range(1, len(parts))}


def _update(table: type[Table], interaction_id: str) -> Update:
    """Return an update of what a table has of one interaction."""
    columns = table.__table__.c
    key = columns.id if table is InteractionRow else columns.interaction_id
    return update(table).where(key == interaction_id)


def _is_of(wording: str, asked: Sequence[str]) -> bool:
    """Return whether a wording is mostly words of a question."""
    own = set(stems(wording))
    most = max((len(own & set(stems(each))) for each in asked), default=0)
    return bool(own) and most >= _SAME_WORDS * len(own)


def _title_of(text: str) -> str:
    """Return the first sentence of an answer, without Markdown marks."""
    first = next((without_markdown(text[each.start : each.end]) for each in split_units(text)), "")
    return " ".join(first.split())[:_LONGEST_TITLE] or _UNTITLED

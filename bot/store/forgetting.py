"""Forget a person: withdraw their questions, delete what is theirs, and unname their acts.

Every step can be repeated: a request stays in the record until all is done, so that another process
goes on where one was killed. Questions are withdrawn on the way of every withdrawal
(``StoredWork.cancel``); their rows are deleted once the platform has removed the replies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Delete, Update, and_, delete, func, not_, or_, select, update

from bot.domain.cases import Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.personal_data import (
    FORGOTTEN_QUESTION,
    ForgetProgress,
    ForgetRequest,
    PersonKeys,
    new_pseudonym,
)
from bot.escalations.lifecycle import OWNED
from bot.store.connections import Transactions
from bot.store.escalations import StoredEscalations
from bot.store.forgotten_words import ForgottenWords
from bot.store.key_values import insert_audit
from bot.store.learning_tables import DigestRow, WebhookEventRow
from bot.store.people import ERASE_PAGES, REQUESTS, StoredPeople
from bot.store.person_tables import ACTS, asked_by, owned_rows
from bot.store.queries import WITHDRAWN, has_acts, insert_once
from bot.store.retention import CHUNK
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoteRow,
    NoticeRow,
    SessionRow,
    UsageRow,
)

_ACT = "forget person"
_NOWHERE = "forgotten"
"""The channel and thread of a case whose asker is forgotten."""

Cancel = Callable[[InteractionId], Awaitable[object]]
"""Withdraws one question, keeping what experts did about its case (`bot.domain.ports.Inbox`)."""


class StoredForgetting:
    """Carries out requests to forget persons."""

    def __init__(
        self, transactions: Transactions, people: StoredPeople, escalations: StoredEscalations
    ) -> None:
        self._transactions = transactions
        self._people = people
        self._escalations = escalations
        self._words = ForgottenWords(transactions)
        self._requests = Codec(ForgetRequest)
        self._messages = Codec(Message)

    async def request(self, tenant: str, keys: PersonKeys, by: str, at: datetime) -> ForgetRequest:
        """Record a request with an audit entry, or return the open one of the same person."""
        for known in await self.open_requests(tenant):
            if known.keys.ids & keys.ids or known.keys.emails & keys.emails:
                return known
        made = ForgetRequest(new_pseudonym(), keys, by, at)
        row = {
            "tenant": tenant,
            "key": f"{REQUESTS}{made.pseudonym}",
            "text": self._requests.encode(made),
            "at": at,
        }
        audit = insert_audit(tenant, by, _ACT, made.pseudonym)
        async with self._transactions.writing() as connection:
            await connection.execute(insert_once(self._transactions.dialect, NoteRow, row))
            await connection.execute(audit)
        return made

    async def open_requests(self, tenant: str) -> Sequence[ForgetRequest]:
        """Return the requests that are not done, oldest first."""
        found = await self._transactions.scalars(
            select(NoteRow.text)
            .where(NoteRow.tenant == tenant, NoteRow.key.startswith(REQUESTS))
            .order_by(NoteRow.at, NoteRow.key)
        )
        return [self._requests.decode(text) for text in found]

    async def pages_to_erase(self, tenant: str, before: datetime) -> bool:
        """Return whether titles of pages were replaced for a forgotten person, the last before."""
        at = await self._transactions.scalar(
            select(NoteRow.at).where(NoteRow.tenant == tenant, NoteRow.key == ERASE_PAGES)
        )
        return at is not None and at < before

    async def pages_erased(self, tenant: str, before: datetime) -> None:
        """Record that the index has no such titles of before that time any more."""
        row = NoteRow
        here = row.tenant == tenant, row.key == ERASE_PAGES, row.at < before
        await self._transactions.execute(delete(row).where(*here))

    async def asked(self, tenant: str, request: ForgetRequest) -> Sequence[InteractionId]:
        """Return the person's questions that are still recorded."""
        found = await self._transactions.scalars(
            select(InteractionRow.id).where(_covered(tenant, request))
        )
        return [InteractionId(each) for each in found]

    async def carry_out(
        self, tenant: str, request: ForgetRequest, cancel: Cancel, *, ends: bool = True
    ) -> ForgetProgress:
        """Do all of a request that can be done now; when nothing waits, end it.

        ``ends`` False: something outside the record waits, so that the request stays open.
        Raises StoreUnavailable, InboxUnavailable; then it is to be called again.
        """
        keys = request.keys
        await self._release_cases(tenant, keys)
        changed = await self._words.take_out(tenant, keys)
        for interaction_id in await self._to_withdraw(tenant, request):
            await cancel(interaction_id)
            changed += 1
        changed += await self._unname(tenant, request)
        changed += await self._erase(tenant, request)
        waiting = await self._waiting(tenant, request)
        if ends and not waiting:
            await self._end(tenant, request)
        return ForgetProgress(changed, waiting)

    async def unposted(self, tenant: str, request: ForgetRequest) -> Sequence[InteractionId]:
        """Return the withdrawn questions of which no platform can have posted anything."""
        row = InteractionRow
        ours = or_(row.channel.startswith("web:"), row.channel.startswith("rest:"))
        found = await self._transactions.scalars(
            select(row.id).where(_covered(tenant, request), row.status == "cancelling", ours)
        )
        return [InteractionId(each) for each in found]

    async def _release_cases(self, tenant: str, keys: PersonKeys) -> None:
        """Release the cases that the person works on, so that others are reminded of them."""
        row = EscalationRow
        owned = select(row.interaction_id, row.owner).where(
            row.tenant == tenant,
            row.owner.in_(sorted(map(storable, keys.actors))),
            row.state.in_(sorted(OWNED)),
        )
        for case, owner in await self._transactions.rows(owned):
            try:
                await self._escalations.act(
                    tenant, InteractionId(case), "release", Actor(owner or "", "", "expert")
                )
            except (ActRefused, InteractionUnknown):
                # It was settled or withdrawn meanwhile.
                continue

    async def _to_withdraw(self, tenant: str, request: ForgetRequest) -> Sequence[InteractionId]:
        row = InteractionRow
        own = select(row.id).where(_covered(tenant, request), row.status.not_in(WITHDRAWN))
        found = await self._transactions.scalars(own.order_by(row.number))
        quoting = await self._words.quoting(tenant, request.keys)
        return [InteractionId(each) for each in (*found, *quoting)]

    async def _unname(self, tenant: str, request: ForgetRequest) -> int:
        """Delete what is the person's beside their questions, and unname what stays."""
        keys, changed = request.keys, 0
        for statement in _statements(tenant, request):
            changed += await self._transactions.execute(statement)
        ended = [row.id for row in await self._people.sessions(tenant, keys)]
        if ended:
            gone = delete(SessionRow).where(SessionRow.id.in_(ended))
            changed += await self._transactions.execute(gone)
        return changed + await self._words.unname(tenant, request)

    async def _erase(self, tenant: str, request: ForgetRequest) -> int:
        """Delete the rows of questions whose replies are removed; return how many."""
        erased = 0
        while True:
            found = await self._erase_some(tenant, request)
            erased += found
            if found < CHUNK:
                return erased

    async def _erase_some(self, tenant: str, request: ForgetRequest) -> int:
        row = InteractionRow
        ended = and_(_covered(tenant, request), row.status == "cancelled")
        some = (
            select(row.id, row.thread, row.channel, row.created_at, has_acts(row.id).label("acts"))
            .where(ended)
            .limit(CHUNK)
        )
        async with self._transactions.writing() as connection:
            found = (await connection.execute(some)).all()
            kept = [each for each in found if each.acts]
            gone = [each.id for each in found if not each.acts]
            await connection.execute(delete(row).where(row.id.in_(gone)))
            for each in kept:
                platform = each.channel.partition(":")[0]
                for statement in self._unnamed_case(
                    each.id, platform, tenant, each.created_at, request.pseudonym
                ):
                    await connection.execute(statement)
            await connection.execute(_left_conversations(tenant, {each.thread for each in found}))
        return len(found)

    def _unnamed_case(
        self, case: str, platform: str, tenant: str, at: datetime, pseudonym: str
    ) -> Sequence[Update | Delete]:
        """Return the statements that leave of a case what experts did, and nothing of its asker."""
        thread = Thread(platform, tenant, _NOWHERE, pseudonym)
        blank = Message(case, thread, Person(pseudonym), "", at)
        return (
            update(InteractionRow)
            .where(InteractionRow.id == case)
            .values(
                person=pseudonym,
                thread=thread.key,
                channel=f"{platform}:{_NOWHERE}",
                message=self._messages.encode(blank),
                posted_channel=None,
                posted_id=None,
                placeholder_channel=None,
                placeholder_id=None,
                failure="",
            ),
            update(EscalationRow)
            .where(EscalationRow.interaction_id == case)
            .values(asker=pseudonym, asker_name="", question=FORGOTTEN_QUESTION),
            delete(NoticeRow).where(NoticeRow.interaction_id == case),
            delete(NoteRow).where(NoteRow.interaction_id == case),
        )

    async def _waiting(self, tenant: str, request: ForgetRequest) -> int:
        count = select(func.count()).select_from(InteractionRow).where(_covered(tenant, request))
        return await self._transactions.scalar(count) or 0

    async def _end(self, tenant: str, request: ForgetRequest) -> None:
        key = f"{REQUESTS}{request.pseudonym}"
        await self._transactions.execute(
            delete(NoteRow).where(NoteRow.tenant == tenant, NoteRow.key == key)
        )
        await self._transactions.scrub()


def _covered(tenant: str, request: ForgetRequest) -> ColumnElement[bool]:
    """Return the condition for the person's interactions until the time of the request."""
    return and_(asked_by(tenant, request.keys), InteractionRow.created_at <= request.at)


def _statements(tenant: str, request: ForgetRequest) -> Sequence[Update | Delete]:
    """Return the statements on rows that name a person in a column; all can be repeated."""
    keys, pseudonym = request.keys, request.pseudonym
    owned = owned_rows(tenant, keys)
    given = FeedbackRow.person.in_(sorted(map(storable, keys.ids | keys.emails)))
    event, step = WebhookEventRow, EscalationStepRow
    theirs = select(step.interaction_id).where(
        step.tenant == tenant, step.actor.in_(sorted(map(storable, keys.actors)))
    )
    return (
        delete(FeedbackRow).where(FeedbackRow.tenant == tenant, given),
        delete(DigestRow).where(owned[DigestRow]),
        update(UsageRow).where(owned[UsageRow]).values(person="", channel=""),
        # Before the steps lose the actor.
        update(event)
        .where(event.owner_name.in_(sorted(keys.names)), event.interaction_id.in_(theirs))
        .values(owner_name=""),
        *(
            update(act.table)
            .where(act.is_by(tenant, keys))
            .values({act.actor: pseudonym, **({act.name: ""} if act.name else {})})
            for act in ACTS
        ),
    )


def _left_conversations(tenant: str, threads: set[str]) -> Delete:
    """Return the statement that deletes those of some threads in which nothing is left."""
    row = ConversationRow
    left = (
        select(InteractionRow.id)
        .where(InteractionRow.tenant == row.tenant, InteractionRow.thread == row.thread)
        .exists()
    )
    return delete(row).where(row.tenant == tenant, row.thread.in_(sorted(threads)), not_(left))

"""Store of the work list: messages accepted, claimed, answered, posted and withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import ClaimLost
from bot.domain.handoff import question_of_person_request
from bot.domain.interactions import (
    Claim,
    Escalation,
    Interaction,
    Outcome,
    PostedRef,
    Unfinished,
)
from bot.domain.messages import Activity, InteractionId, Message, Stage
from bot.domain.outcomes import without_text
from bot.domain.record_reports import HAND_OVER
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import leases, queries, work_queries
from bot.store.case_locks import lock_with_lead
from bot.store.case_openings import CaseOpenings
from bot.store.connections import JOINED, Transactions
from bot.store.groups import GroupedOpenings, GroupedWrites
from bot.store.learning_tables import ShadowDraftRow
from bot.store.question_files import drop_files
from bot.store.rows import (
    Rows,
    draft_row,
    known_row,
    posted_ref_of,
    progress_rows,
    reply_columns,
    storable_message,
    turn_rows,
    usage_rows,
    utc_now,
    without_words,
)
from bot.store.saved_answers import save_answer
from bot.store.tables import (
    Table,
    TurnRow,
    UsageRow,
)


class StoredWork:
    """Stores messages and the state of their work. Implements `bot.inbox.ports.Worklist`.

    Both turns of an exchange are written when its outcome is recorded: the question as last
    edited and the public text of the response. Never stored as turns: private replies, overheard
    messages without a reply, and those that a limit refused (bot.domain.interactions.WITHOUT_TEXT).
    """

    def __init__(
        self, transactions: Transactions, reminders: ReminderSchedule | None = None
    ) -> None:
        self._transactions = transactions
        self._rows = Rows()
        self._cases = CaseOpenings(transactions.dialect, self._rows, reminders)
        self._openings = GroupedOpenings(transactions, self._rows)
        self._claims = GroupedWrites(self._claim)

    async def open(self, message: Message, owner: str | None) -> Interaction:
        return await self._openings.open(message, owner)

    async def take(self, owner: str, most: int) -> Sequence[Interaction]:
        statement = leases.take_unclaimed(self._transactions.dialect, owner, most)
        async with self._transactions.writing(lasting=False) as connection:
            taken = [self._rows.interaction(row) for row in await connection.execute(statement)]
        return sorted(taken, key=lambda each: each.number)

    async def take_over(self, owner: str, most: int, dead: Sequence[str]) -> Sequence[Unfinished]:
        statement = leases.take_orphans(self._transactions.dialect, owner, most, dead)
        async with self._transactions.writing(lasting=False) as connection:
            taken = (await connection.execute(statement)).all()
        return list(map(_unfinished, sorted(taken)))

    async def claim(self, interaction_id: InteractionId, owner: str) -> Interaction | None:
        return await self._claims.add((interaction_id, owner))

    async def _claim(
        self, wanted: Sequence[tuple[InteractionId, str]]
    ) -> Sequence[Interaction | None]:
        """Claim interactions for owners; None for those that can't be claimed.

        After a server died many are claimed at once, and one by one that takes seconds.
        """
        claimed: dict[tuple[str, str], Interaction] = {}
        async with self._transactions.writing(lasting=False) as connection:
            for owner in dict.fromkeys(owner for _, owner in wanted):
                ids = [each for each, by in wanted if by == owner]
                take = leases.claim_work(ids, owner, self._transactions.dialect)
                for row in (await connection.execute(*take)).all():
                    held = await self._with_notices(connection, self._rows.interaction(row))
                    claimed[held.id, owner] = held
        # One that was asked for twice is claimed once.
        return [claimed.pop(each, None) for each in wanted]

    async def behind(self, interaction: Interaction) -> bool:
        earlier = leases.select_has_earlier(interaction, self._transactions.dialect)
        return bool(await self._transactions.scalar(*earlier))

    async def close(
        self,
        interaction: Interaction,
        outcome: Outcome,
        *,
        last: bool,
        posting: bool = True,
        posted: PostedRef | None = None,
        stages: Sequence[Activity] = (),
    ) -> bool:
        async with self._transactions.writing() as connection:
            status, revision = await self._claimed(connection, interaction)
            if status == "done":
                # An earlier try committed, but its confirmation was lost.
                return True
            edited = revision != interaction.revision
            if edited and not last:
                return False
            if edited:
                # Store the message that was answered; the last edit came too late.
                text = self._rows.message(interaction.message)
                await connection.execute(work_queries.keep_message(interaction.id, text))
            reply = reply_columns(posted, posting=posting)
            await self._close(connection, interaction.message, outcome, reply, stages)
            return True

    async def posting(self, interaction: Interaction) -> None:
        async with self._transactions.writing() as connection:
            await self._claimed(connection, interaction)
            await connection.execute(work_queries.begin_posting(interaction.id))

    async def posted(self, interaction_id: InteractionId, ref: PostedRef) -> Interaction:
        async with self._transactions.writing() as connection:
            row = (await connection.execute(*work_queries.mark_posted(interaction_id, ref))).first()
            posted = self._rows.known(interaction_id, row)
            return await self._with_notices(connection, posted)

    async def unposted(self, interaction: Interaction) -> None:
        await self._write_claimed(interaction, work_queries.count_attempt(interaction.id))

    async def placeholder(self, interaction: Interaction, ref: PostedRef | None) -> None:
        await self._write_claimed(interaction, work_queries.mark_placeholder(interaction.id, ref))

    async def fail(self, interaction: Interaction, why: str) -> None:
        async with self._transactions.writing() as connection:
            await self._write(connection, interaction, work_queries.give_up(interaction.id, why))
            given_up = await self._held(connection, interaction.id)
            if given_up.status == "failed":
                await self._cases.hand_over(connection, given_up)

    async def amend(self, message: Message) -> bool:
        async with self._transactions.writing(urgent=True) as connection:
            query = queries.select_interaction_for_update(message.interaction_id)
            row = (await connection.execute(*query)).first()
            if row is None:
                return False
            before = self._rows.interaction(row).message
            if before.author.id != message.author.id:
                # Another user asked about this message; its author's edits are no part of that.
                return False
            files = message.attachments or before.attachments
            kept = replace(before, text=message.text, attachments=files)
            statement = work_queries.replace_message(
                message.interaction_id, self._rows.message(kept)
            )
            return bool((await connection.execute(statement)).rowcount)

    async def cancel(
        self, interaction_id: InteractionId, *, keep_acts: bool = False
    ) -> Interaction:
        withdraw = partial(self._withdraw, interaction_id=interaction_id, keep_acts=keep_acts)
        return await self._transactions.apply(withdraw, urgent=True)

    async def _withdraw(
        self, connection: AsyncConnection, *, interaction_id: InteractionId, keep_acts: bool
    ) -> Interaction:
        tenant = await connection.scalar(queries.select_tenant(interaction_id))
        case, lead = await lock_with_lead(connection, tenant or "", interaction_id)
        interaction = await self._held(connection, interaction_id)
        if interaction.withdrawn:
            return interaction
        if case is not None:
            await self._cases.withdraw(connection, case, lead)
        blank = self._rows.message(without_words(interaction.message))
        await connection.execute(
            work_queries.withdraw_interaction(interaction_id, blank, utc_now())
        )
        for statement in queries.delete_texts(interaction_id, keep_acts=keep_acts):
            await connection.execute(statement)
        return await self._held(connection, interaction_id)

    async def cancelled(self, interaction_id: InteractionId) -> None:
        async with self._transactions.writing() as connection:
            interaction = await self._held(connection, interaction_id)
            blank = self._rows.message(replace(without_words(interaction.message), reply_to=""))
            await connection.execute(work_queries.finish_withdrawal(interaction_id, blank))
            await connection.execute(queries.delete_case(interaction_id))
        await self._transactions.scrub()

    async def unfinished_ids(self, owner: str | None = None) -> frozenset[InteractionId]:
        statement = leases.select_unfinished_ids(self._transactions.dialect, owner)
        ids = await self._transactions.scalar(statement)
        return frozenset(map(InteractionId, ids.split(","))) if ids else frozenset()

    async def unfinished(self, owner: str | None = None) -> Sequence[Unfinished]:
        statement = leases.select_unfinished(self._transactions.dialect, owner)
        return list(map(_unfinished, await self._transactions.rows(statement)))

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        row = await self._transactions.first(*queries.select_interaction(interaction_id))
        return None if row is None else self._rows.interaction(row)

    async def stage(self, interaction_id: InteractionId, *activities: Activity) -> None:
        async with self._transactions.writing(lasting=False) as connection:
            query = queries.select_interaction_for_update(interaction_id)
            row = (await connection.execute(*query)).first()
            if row is not None:
                await self._append(connection, interaction_id, row.tenant, activities)

    async def _close(
        self,
        connection: AsyncConnection,
        message: Message,
        outcome: Outcome,
        reply: Mapping[str, object],
        stages: Sequence[Activity],
    ) -> None:
        kept, outcome = without_text(storable_message(message, outcome), outcome)
        if kept != message:
            await self._keep_answered(connection, kept, files=bool(message.attachments))
            message = kept
        outcome = replace(outcome, asker=None)
        told = {**self._rows.outcome(outcome), **reply}
        if question_of_person_request(message) and not outcome.silent:
            told["answer_type"] = HAND_OVER
        finish = work_queries.finish(message.interaction_id, utc_now(), told)
        await connection.execute(*finish, execution_options=JOINED)
        if not outcome.is_kept_without_text:
            await self._insert(connection, TurnRow, *turn_rows(message, outcome))
        tenant = message.thread.tenant
        await self._append(
            connection, message.interaction_id, tenant, (*stages, Activity(Stage.DONE))
        )
        for usage in usage_rows(message, outcome):
            await self._insert(connection, UsageRow, usage)
        save = save_answer(self._transactions.dialect, message, outcome)
        if save is not None:
            await connection.execute(save, execution_options=JOINED)
        if isinstance(outcome.response, Escalation):
            await self._cases.open(connection, message, outcome)
        if message.shadow:
            await self._insert(connection, ShadowDraftRow, draft_row(message, outcome))

    async def _keep_answered(
        self, connection: AsyncConnection, message: Message, *, files: bool
    ) -> None:
        text = self._rows.message(message)
        await connection.execute(work_queries.keep_message(message.interaction_id, text))
        if files:
            await connection.execute(drop_files(message.interaction_id))

    async def _append(
        self,
        connection: AsyncConnection,
        interaction_id: InteractionId,
        tenant: str,
        activities: Sequence[Activity],
    ) -> None:
        """Append progress rows; the interaction must be locked."""
        rows = progress_rows(interaction_id, tenant, activities)
        await connection.execute(work_queries.append_stage(), rows, execution_options=JOINED)

    async def _claimed(
        self, connection: AsyncConnection, interaction: Interaction
    ) -> tuple[str, int]:
        """Lock an interaction; return its status and revision. Raises ClaimLost."""
        found = await connection.execute(*work_queries.select_claim_for_update(interaction.id))
        status, revision, owner, epoch = known_row(interaction.id, found.first())
        claim = None if owner is None else Claim(owner, epoch)
        if status in queries.WITHDRAWN or claim != interaction.claim:
            raise ClaimLost(
                f"Interaction {interaction.id!r} is {status} and claimed as "
                f"{claim}, not as {interaction.claim}. Leave it to who has it."
            )
        return status, revision

    async def _held(self, connection: AsyncConnection, interaction_id: str) -> Interaction:
        interaction = await self._rows.locked(connection, interaction_id)
        return await self._with_notices(connection, interaction)

    async def _with_notices(
        self, connection: AsyncConnection, interaction: Interaction
    ) -> Interaction:
        """Return an interaction, with the notices to withdraw if it is being withdrawn."""
        if interaction.status != "cancelling":
            return interaction
        told = await connection.execute(queries.select_notices_posted_to_asker(interaction.id))
        refs = (posted_ref_of(*each) for each in told)
        return replace(interaction, told=tuple(ref for ref in refs if ref is not None))

    async def _insert(
        self, connection: AsyncConnection, table: type[Table], *rows: Mapping[str, object]
    ) -> None:
        if rows:
            # Inline: a key that the database makes would be read back.
            statement = queries.insert_new(self._transactions.dialect, table).inline()
            await connection.execute(statement, rows, execution_options=JOINED)

    async def _write_claimed(self, interaction: Interaction, statement: Update) -> None:
        """Execute an update in a transaction if the claim is still valid. Raises ClaimLost."""
        async with self._transactions.writing() as connection:
            await self._write(connection, interaction, statement)

    async def _write(
        self, connection: AsyncConnection, interaction: Interaction, statement: Update
    ) -> None:
        if interaction.claim is not None:
            statement = statement.where(leases.is_claimed_by(interaction.claim))
        if not (await connection.execute(statement)).rowcount:
            raise ClaimLost(f"Interaction {interaction.id!r} is another process's by now.")


def _unfinished(columns: Sequence[Any]) -> Unfinished:
    """Return unfinished work from the columns leases.UNFINISHED_WORK."""
    _, interaction_id, epoch, status, tenant, thread, person, channel = columns
    return Unfinished(
        InteractionId(interaction_id),
        epoch,
        thread=f"{tenant}:{thread}",
        person=f"{tenant}:{person}",
        channel=f"{tenant}:{channel}",
        answered=status != "working",
    )

"""Open the cases of questions that go to people, named by what their askers wrote themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Case
from bot.domain.handoff import own_words, question_of_person_request
from bot.domain.interactions import Escalation, Interaction, Outcome
from bot.domain.json_codec import storable
from bot.domain.messages import Message
from bot.escalations.joining import join_scope, question_key
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import queries
from bot.store.connections import JOINED
from bot.store.joined_cases import joined_row, lead_for, leave_group, note_on_lead
from bot.store.learning_tables import WebhookEventRow
from bot.store.rows import (
    Rows,
    escalation_row,
    opening_event_row,
    opening_notice_row,
    opening_row,
    undelivered_row,
    utc_now,
)
from bot.store.tables import EscalationRow, EscalationStepRow, NoticeRow, Table
from rag.text.words import stems

_OPTIONS_IN_A_ROW = 10
"""How many exchanges back the question is looked for that an option was offered for."""


class CaseOpenings:
    """Opens cases within the transaction that records an outcome, or that gives an answer up."""

    def __init__(self, dialect: str, rows: Rows, reminders: ReminderSchedule | None) -> None:
        self._dialect = dialect
        self._rows = rows
        self._reminders = reminders or ReminderSchedule()

    async def open(self, connection: AsyncConnection, message: Message, outcome: Outcome) -> None:
        """Open the case of an outcome that is an escalation; one of the same question joins it."""
        before = await self._asked_before(connection, message, outcome)
        titled = await self._titled(connection, message, outcome, before)
        escalation = escalation_row(message, titled, self._reminders)
        if escalation is None:
            return
        scope = _scope(message, titled)
        joins = {"join_key": self._key(message, titled, before, scope), "join_scope": scope}
        await self._open_or_join(connection, {**escalation, **joins}, message)

    async def _open_or_join(
        self, connection: AsyncConnection, opened: Mapping[str, object], message: Message
    ) -> None:
        within, now = self._reminders.joins_within, utc_now()
        lead = await lead_for(connection, opened, message.thread, now - within) if within else None
        if lead is None:
            await self._open_case(connection, opened)
            return
        await self._open_case(connection, joined_row(opened, lead))
        await note_on_lead(connection, lead, "joined", now)

    async def withdraw(self, connection: AsyncConnection, case: Case, lead: Case | None) -> None:
        """Take the locked case of a question that is withdrawn out of its group.

        ``lead`` is the locked case that it joined. The others go on without it.
        """
        await leave_group(connection, case, lead, self._reminders, utc_now())

    def _key(
        self, message: Message, titled: Outcome, before: Interaction | None, scope: str
    ) -> str:
        """Return the key of the same question, of the message whose words the case has."""
        response, trace = titled.response, titled.trace
        if not isinstance(response, Escalation) or message.attachments:
            return ""
        asked = message
        if response.reason == "asked_for_human":
            if before is None or before.outcome is None:
                return ""
            asked, trace = before.message, before.outcome.trace
        return question_key(response.question, asked, trace, scope)

    async def _open_case(
        self, connection: AsyncConnection, escalation: Mapping[str, object]
    ) -> None:
        await self._insert(connection, EscalationRow, escalation)
        await self._insert(connection, EscalationStepRow, opening_row(escalation))
        await self._insert(connection, WebhookEventRow, opening_event_row(escalation))

    async def hand_over(self, connection: AsyncConnection, given_up: Interaction) -> None:
        """Open a case for a question whose answer can't be posted, and notify the experts."""
        escalation = undelivered_row(given_up, self._reminders)
        if escalation is None:
            return
        asked = given_up.message
        own = await self._own_words(connection, asked)
        named = str(escalation["question"]).replace(storable(asked.text), storable(own), 1)
        scope = _scope(asked, given_up.outcome)
        escalation = {**escalation, "question": named, "join_scope": scope}
        await self._open_case(connection, escalation)
        await self._insert(connection, NoticeRow, opening_notice_row(escalation))

    async def _titled(
        self,
        connection: AsyncConnection,
        message: Message,
        outcome: Outcome,
        before: Interaction | None,
    ) -> Outcome:
        """Return an outcome whose request for a human quotes the preceding search query.

        A follow-up alone does not tell experts what it is about. In shared channels, or if the
        query has words of an answer, it is not quoted: such words may be another person's, or of a
        page that the experts may not read. Nor is an option that was chosen passed on, for a page's
        title is in it, and the page may be closed later, but the question that it made clear.
        """
        response = outcome.response
        if not isinstance(response, Escalation):
            return outcome
        if response.reason != "asked_for_human":
            own = await self._own_words(connection, message)
            return _naming(outcome, response, message.text, own)
        if before is None or before.outcome is None:
            return outcome
        written, own = before.message.text, await self._own_words(connection, before.message)
        if own == written and message.private:
            own = await self._stand_alone(connection, before, before.outcome.trace.route.question)
        return _naming(outcome, response, written, own)

    async def _asked_before(
        self, connection: AsyncConnection, message: Message, outcome: Outcome
    ) -> Interaction | None:
        """Return the question about which a message asks for a person; None for another message."""
        response = outcome.response
        if not isinstance(response, Escalation) or response.reason != "asked_for_human":
            return None
        asked = outcome.trace.route.question
        about = question_of_person_request(message) or await connection.scalar(
            queries.select_asked_before(message, asked)
        )
        row = about and (await connection.execute(*queries.select_interaction(about))).first()
        before = self._rows.interaction(row) if row else None
        if before is None or before.outcome is None or before.withdrawn:
            return None
        return before

    async def _stand_alone(
        self, connection: AsyncConnection, asked: Interaction, searched: str
    ) -> str:
        """Return a follow-up's search query if its asker wrote all its words (by word stem)."""
        written = [asked.message.text]
        if len(searched) <= len(written[0]):  # not a follow-up: routing only shortened it
            return written[0]
        for earlier in asked.outcome.trace.route.leaned_on if asked.outcome else ():
            row = (await connection.execute(*queries.select_interaction(earlier))).first()
            if row:
                written += [await self._own_words(connection, self._rows.interaction(row).message)]
        return searched if set(stems(searched)) <= set(stems(" ".join(written))) else written[0]

    async def _own_words(self, connection: AsyncConnection, asked: Message) -> str:
        """Return what an asker wrote: of a chosen option the question that it made clear."""
        query = queries.select_history(asked.thread, asked.interaction_id, _OPTIONS_IN_A_ROW)
        before = (await connection.execute(*query)).all()
        return own_words(asked, map(self._rows.interaction, before))

    async def _insert(
        self, connection: AsyncConnection, table: type[Table], row: Mapping[str, object]
    ) -> None:
        # Inline: a key that the database makes would be read back.
        statement = queries.insert_new(self._dialect, table).inline()
        await connection.execute(statement, [row], execution_options=JOINED)


def _scope(message: Message, outcome: Outcome | None) -> str:
    """Return what is equal for cases that may be one."""
    response = outcome.response if outcome else None
    return join_scope(message, response.people if isinstance(response, Escalation) else "")


def _naming(outcome: Outcome, response: Escalation, written: str, own: str) -> Outcome:
    """Return an outcome whose case names what the asker wrote themselves."""
    named = response.question.replace(written, own, 1)
    return replace(outcome, response=replace(response, question=named))

"""Which rows of which table are about a person: the one list for export, counts and forgetting.

Every table of the record is in it, or in WITHOUT_PEOPLE; a test compares both with the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, false, or_, select

from bot.domain.json_codec import storable
from bot.domain.personal_data import PersonKeys
from bot.store.learning_tables import (
    WITH_WORDS,
    CorrectionRow,
    DigestRow,
    GapRow,
    GateSuspensionRow,
    JobRow,
    LabelRow,
    ReviewedAnswerRow,
    ShadowDraftRow,
)
from bot.store.tables import (
    AuditRow,
    ConversationRow,
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoteRow,
    NoticeRow,
    PauseRow,
    PolicyRow,
    ProgressRow,
    ReplicaRow,
    SavedAnswerRow,
    SessionRow,
    Table,
    TurnRow,
    UsageRow,
)

WITHOUT_PEOPLE: frozenset[type[Table]] = frozenset({JobRow, ReplicaRow, GateSuspensionRow})
"""Tables in which nobody is named."""

READ_BY_CODE: frozenset[type[Table]] = frozenset({SessionRow, NoteRow})
"""Tables whose rows name a person inside a text: they are found by reading it."""


@dataclass(frozen=True, slots=True)
class Act:
    """A column that names who acted, with the column of their name, if there is one.

    ``others`` are columns of the same row that are about somebody else: the asker's words in the
    row of a case that an expert owns.
    """

    table: type[Table]
    actor: str
    name: str = ""
    others: tuple[str, ...] = ()

    def is_by(self, tenant: str, keys: PersonKeys) -> ColumnElement[bool]:
        """Return the condition for rows in which the person acted."""
        column = self.table.__table__.c
        return and_(column.tenant == tenant, column[self.actor].in_(_stored(keys.actors)))


ACTS = (
    Act(EscalationRow, "owner", "owner_name", ("question", "asker", "asker_name")),
    Act(EscalationStepRow, "actor", "actor_name"),
    Act(EscalationStepRow, "assignee", "assignee_name"),
    Act(PolicyRow, "changed_by"),
    Act(AuditRow, "actor"),
    Act(PauseRow, "paused_by"),
    Act(GapRow, "state_by"),
    Act(ReviewedAnswerRow, "owner", "owner_name", ("complaints",)),
    Act(ReviewedAnswerRow, "changed_by", others=("complaints",)),
    Act(ReviewedAnswerRow, "written_by", others=("complaints",)),
    Act(LabelRow, "decided_by", others=("question",)),
    Act(ShadowDraftRow, "reviewer"),
    Act(DigestRow, "created_by", others=("target", "person_id", "email", "owner")),
)
"""Acts that stay when a person is forgotten, under a pseudonym."""

_OF_A_QUESTION: tuple[type[Table], ...] = (
    TurnRow,
    ProgressRow,
    EscalationRow,
    EscalationStepRow,
    NoticeRow,
    SavedAnswerRow,
    CorrectionRow,
    *WITH_WORDS,
)
"""Tables whose rows belong to a question by ``interaction_id``, and go with it."""


def asked_by(tenant: str, keys: PersonKeys) -> ColumnElement[bool]:
    """Return the condition for the interactions that a person asked."""
    row = InteractionRow
    return and_(row.tenant == tenant, row.person.in_(_stored(keys.ids)))


def owned_rows(tenant: str, keys: PersonKeys) -> Mapping[type[Table], ColumnElement[bool]]:
    """Return for each table the condition for rows that are the person's own.

    Tables in READ_BY_CODE are left out.
    """
    asked = select(InteractionRow.id).where(asked_by(tenant, keys))
    threads = select(InteractionRow.thread).where(asked_by(tenant, keys))
    mails = [f"email:{each}" for each in _stored(keys.emails)]
    direct: dict[type[Table], ColumnElement[bool]] = {
        InteractionRow: asked_by(tenant, keys),
        FeedbackRow: and_(
            FeedbackRow.tenant == tenant,
            or_(
                FeedbackRow.person.in_(_stored(keys.ids | keys.emails)),
                FeedbackRow.interaction_id.in_(asked),
            ),
        ),
        UsageRow: and_(UsageRow.tenant == tenant, UsageRow.person.in_(_stored(keys.ids))),
        ConversationRow: and_(
            ConversationRow.tenant == tenant, ConversationRow.thread.in_(threads)
        ),
        ReviewedAnswerRow: and_(
            ReviewedAnswerRow.tenant == tenant, ReviewedAnswerRow.case.in_(asked)
        ),
        DigestRow: and_(
            DigestRow.tenant == tenant,
            or_(
                DigestRow.person_id.in_(_stored(keys.actors)),
                DigestRow.email.in_(_stored(keys.emails)),
                DigestRow.target.in_(mails),
            ),
        ),
    }
    of_questions = {table: table.__table__.c.interaction_id.in_(asked) for table in _OF_A_QUESTION}
    return {**of_questions, **direct}


def acted_rows(tenant: str, keys: PersonKeys) -> Mapping[type[Table], ColumnElement[bool]]:
    """Return for each table the condition for rows that record an act of the person."""
    found: dict[type[Table], ColumnElement[bool]] = {}
    for act in ACTS:
        found[act.table] = or_(found.get(act.table, false()), act.is_by(tenant, keys))
    return found


def _stored(values: frozenset[str]) -> list[str]:
    return sorted(map(storable, values))

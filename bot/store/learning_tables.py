"""The database tables of bot.learning (SQLAlchemy models); all have a tenant column."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Index, Integer, LargeBinary, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from bot.store.question_files import QuestionFileRow
from bot.store.tables import Table, Utc

_INTERACTION = "interactions.id"


class JobRow(Table):
    """A background job: who works on it until when, and how far it came (``mark``)."""

    __tablename__ = "jobs"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner: Mapped[str | None] = mapped_column(String(64))
    held_until: Mapped[datetime | None] = mapped_column(Utc)
    mark: Mapped[str] = mapped_column(Text, server_default="")


class GapRow(Table):
    """A group of questions that the wiki did not answer; what it counts is in its questions.

    ``answered_by`` are the passages that answered them when it was closed, as JSON.
    """

    __tablename__ = "gaps"
    __table_args__ = (Index("ix_gaps_state", "tenant", "state"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    state_by: Mapped[str] = mapped_column(Text, server_default="")
    state_at: Mapped[datetime] = mapped_column(Utc)
    answered_by: Mapped[str] = mapped_column(Text, server_default="[]")
    asked_again_at: Mapped[datetime | None] = mapped_column(Utc)


class GapQuestionRow(Table):
    """One question of a gap, since ``added_at``; ``passages`` are those found for it, as JSON.

    ``person`` is whom it counts for, "" for a bot. ``request`` is the interaction by which its
    asker asked for a person, "" if they did not. ``public`` is null while the platform has not said
    whether it was asked publicly. ``vector`` is of 16-bit floats.
    """

    __tablename__ = "gap_questions"
    __table_args__ = (
        Index("ix_gap_questions_gap", "gap", "asked_at"),
        Index("ix_gap_questions_asked", "tenant", "asked_at"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    tenant: Mapped[str] = mapped_column(String(64))
    gap: Mapped[str | None] = mapped_column(ForeignKey("gaps.id", ondelete="SET NULL"))
    cause: Mapped[str] = mapped_column(String(16))
    asked_at: Mapped[datetime] = mapped_column(Utc)
    added_at: Mapped[datetime] = mapped_column(Utc)
    person: Mapped[str] = mapped_column(Text)
    question: Mapped[str] = mapped_column(Text)
    request: Mapped[str] = mapped_column(String(36), server_default="")
    public: Mapped[bool | None] = mapped_column(Boolean)
    embedder: Mapped[str] = mapped_column(Text, server_default="")
    vector: Mapped[bytes | None] = mapped_column(LargeBinary)
    passages: Mapped[str] = mapped_column(Text, server_default="[]")
    answered_at: Mapped[datetime | None] = mapped_column(Utc)


class ReviewedAnswerRow(Table):
    """An answer by a person: of a case ("reviewed"), or written beforehand ("standard").

    ``variants``, ``chosen``, ``readers``, ``spaces`` and ``complaints`` are JSON; ``spaces`` null
    means all. ``version`` counts changes. ``live_at`` is null unless it is live. ``document`` is
    where it is indexed, ``url`` the page that it was published as.
    """

    __tablename__ = "reviewed_answers"
    __table_args__ = (
        Index("ix_reviewed_answers_state", "tenant", "state", "changed_at"),
        Index("ix_reviewed_answers_case", "case", unique=True),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    question: Mapped[str] = mapped_column(Text)
    variants: Mapped[str] = mapped_column(Text, server_default="[]")
    text: Mapped[str] = mapped_column(Text)
    chosen: Mapped[str] = mapped_column(Text, server_default="[]")
    readers: Mapped[str] = mapped_column(Text)
    spaces: Mapped[str | None] = mapped_column(Text)
    owner: Mapped[str] = mapped_column(Text)
    owner_name: Mapped[str] = mapped_column(Text, server_default="")
    case: Mapped[str | None] = mapped_column(ForeignKey(_INTERACTION, ondelete="SET NULL"))
    valid_from: Mapped[datetime | None] = mapped_column(Utc)
    valid_until: Mapped[datetime | None] = mapped_column(Utc)
    created_at: Mapped[datetime] = mapped_column(Utc)
    changed_at: Mapped[datetime] = mapped_column(Utc)
    changed_by: Mapped[str] = mapped_column(Text, server_default="")
    written_by: Mapped[str] = mapped_column(Text, server_default="")
    version: Mapped[int] = mapped_column(Integer, server_default="0")
    live_at: Mapped[datetime | None] = mapped_column(Utc)
    complaints: Mapped[str] = mapped_column(Text, server_default="[]")
    document: Mapped[str] = mapped_column(Text, server_default="")
    url: Mapped[str] = mapped_column(Text, server_default="")


class LabelRow(Table):
    """What an answer to a question was worth, proposed by use and decided by a person.

    ``pages`` and ``groups`` are JSON. ``question`` is empty until the label is accepted.
    """

    __tablename__ = "labels"
    __table_args__ = (
        Index("ix_labels_state", "tenant", "state", "created_at"),
        Index("ix_labels_decided", "tenant", "state", "decided_at"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    origin: Mapped[str] = mapped_column(String(16), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    truth: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    question: Mapped[str] = mapped_column(Text, server_default="")
    pages: Mapped[str] = mapped_column(Text, server_default="[]")
    groups: Mapped[str] = mapped_column(Text, server_default="[]")
    public: Mapped[bool] = mapped_column(Boolean, server_default=false())
    created_at: Mapped[datetime] = mapped_column(Utc)
    decided_by: Mapped[str] = mapped_column(Text, server_default="")
    decided_at: Mapped[datetime | None] = mapped_column(Utc)


class GateSuspensionRow(Table):
    """A certificate that does not hold here since a time, with the reason.

    ``certificate`` is its record as JSON: another one of the same calibration is not suspended.
    """

    __tablename__ = "gate_suspensions"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    calibration: Mapped[str] = mapped_column(Text, primary_key=True)
    certificate: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(Utc)
    reason: Mapped[str] = mapped_column(Text)


class CitedQuoteRow(Table):
    """A quote of an answer that was posted, to be looked for when its page changes.

    ``seen`` is what the page was like when the quote was looked for last, ``state`` its fate.
    """

    __tablename__ = "cited_quotes"
    __table_args__ = (
        Index("ix_cited_quotes_page", "tenant", "space", "page"),
        Index("ix_cited_quotes_at", "at"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tenant: Mapped[str] = mapped_column(String(64))
    space: Mapped[str] = mapped_column(Text)
    page: Mapped[str] = mapped_column(Text)
    chunk: Mapped[str] = mapped_column(Text)
    quote: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Utc)
    seen: Mapped[str] = mapped_column(Text, server_default="")
    state: Mapped[str] = mapped_column(String(8), server_default="there")


class CorrectionRow(Table):
    """A posted answer whose quote is gone from its page; ``due_at`` is null once it is settled."""

    __tablename__ = "corrections"
    __table_args__ = (
        Index("ix_corrections_due", "due_at"),
        Index("ix_corrections_page", "tenant", "space", "page", "found_at"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    tenant: Mapped[str] = mapped_column(String(64))
    space: Mapped[str] = mapped_column(Text)
    page: Mapped[str] = mapped_column(Text)
    found_at: Mapped[datetime] = mapped_column(Utc)
    state: Mapped[str] = mapped_column(String(16))
    due_at: Mapped[datetime | None] = mapped_column(Utc)
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    settled_at: Mapped[datetime | None] = mapped_column(Utc)
    failure: Mapped[str] = mapped_column(Text, server_default="")


class DigestRow(Table):
    """Who gets the weekly digest where: ``target`` is ``platform:address``, or ``email:address``.

    ``person_id`` and ``email`` are of the person who reads it, "" for a channel. ``owner``: it has
    only the pages of this last editor. ``tried_week`` and ``sent_week`` are the ISO weeks in which
    sending was last begun and ended.
    """

    __tablename__ = "digests"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    target: Mapped[str] = mapped_column(Text, primary_key=True)
    person_id: Mapped[str] = mapped_column(Text, server_default="")
    email: Mapped[str] = mapped_column(Text, server_default="")
    owner: Mapped[str] = mapped_column(Text, server_default="")
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Utc)
    off: Mapped[bool] = mapped_column(Boolean, server_default=false())
    tried_week: Mapped[str] = mapped_column(String(8), server_default="")
    sent_week: Mapped[str] = mapped_column(String(8), server_default="")
    failure: Mapped[str] = mapped_column(Text, server_default="")


class WebhookEventRow(Table):
    """A step of a case for the webhook, with the case's state after it; no words of the question.

    ``number`` is the step's within its case: events of one case are sent in order. ``due_at`` is
    null once it is sent or given up, ``queued_at`` since when it is tried.
    """

    __tablename__ = "webhook_events"
    __table_args__ = (Index("ix_webhook_events_due", "due_at"),)

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tenant: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    owner_name: Mapped[str] = mapped_column(Text, server_default="")
    at: Mapped[datetime] = mapped_column(Utc)
    queued_at: Mapped[datetime] = mapped_column(Utc)
    due_at: Mapped[datetime | None] = mapped_column(Utc)
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    sent_at: Mapped[datetime | None] = mapped_column(Utc)
    failure: Mapped[str] = mapped_column(Text, server_default="")


class ShadowDraftRow(Table):
    """A question asked where the bot only practises; ``drafted``: it would have answered.

    ``due_at`` is null once the reviewers have the draft, or it is given up. ``space`` is that of
    the first cited page. ``verdict`` is empty until a reviewer judged.
    """

    __tablename__ = "shadow_drafts"
    __table_args__ = (
        Index("ix_shadow_drafts_channel", "tenant", "channel", "at"),
        Index("ix_shadow_drafts_due", "due_at"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    tenant: Mapped[str] = mapped_column(String(64))
    channel: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Utc)
    drafted: Mapped[bool] = mapped_column(Boolean)
    space: Mapped[str] = mapped_column(Text, server_default="")
    due_at: Mapped[datetime | None] = mapped_column(Utc)
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    failure: Mapped[str] = mapped_column(Text, server_default="")
    verdict: Mapped[str] = mapped_column(String(16), server_default="")
    reviewer: Mapped[str] = mapped_column(Text, server_default="")
    reviewed_at: Mapped[datetime | None] = mapped_column(Utc)


class QuestionFactRow(Table):
    """What figures need to know of a question beside its row; no words.

    ``private``: only its asker reads the conversation. ``space`` is that of the best page found, ""
    for none. ``followed_at`` is when, within a day, its asker asked for a person there or asked the
    same again.
    """

    __tablename__ = "question_facts"
    __table_args__ = ({"sqlite_with_rowid": False},)

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    tenant: Mapped[str] = mapped_column(String(64))
    private: Mapped[bool] = mapped_column(Boolean)
    by_bot: Mapped[bool] = mapped_column(Boolean)
    space: Mapped[str] = mapped_column(Text)
    followed_at: Mapped[datetime | None] = mapped_column(Utc)


class CitedPageRow(Table):
    """A page that an answer cited; ``asked_at`` is when its question was asked."""

    __tablename__ = "cited_pages"
    __table_args__ = (Index("ix_cited_pages_asked", "tenant", "asked_at", "space", "page"),)

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey(_INTERACTION, ondelete="CASCADE"), primary_key=True
    )
    space: Mapped[str] = mapped_column(Text, primary_key=True)
    page: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    asked_at: Mapped[datetime] = mapped_column(Utc)


WITH_WORDS = (
    GapQuestionRow,
    LabelRow,
    CitedQuoteRow,
    WebhookEventRow,
    ShadowDraftRow,
    QuestionFactRow,
    CitedPageRow,
    QuestionFileRow,
)
"""The tables with words of a question or its answer, or their pages: emptied when it is withdrawn.
"""

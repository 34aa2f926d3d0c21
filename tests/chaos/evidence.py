"""What the record says of questions that were not treated as promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import create_engine, text

from tests.chaos.courier import Receipt
from tests.chaos.questions import Question
from tests.chaos.verdict import Seen, attribute

_COLUMNS = (
    "status",
    "owner",
    "epoch",
    "attempts",
    "posting",
    "posted_id",
    "failure",
    "created_at",
    "finished_at",
)
_SELECT = text("SELECT * FROM interactions WHERE id = :id")


def testify(
    url: str,
    questions: Sequence[Question],
    receipts: Mapping[int, Receipt],
    seen: Sequence[Seen],
) -> list[str]:
    """Return lines about each question: its deliveries, its replies, its row in the record.

    ``url`` is the record's, as SQLAlchemy takes it.
    """
    if not questions:
        return []
    replies, _ = attribute(questions, seen)
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            rows = {
                question.number: connection.execute(_SELECT, {"id": question.interaction_id})
                .mappings()
                .first()
                for question in questions
            }
    finally:
        engine.dispose()
    lines: list[str] = []
    for question in questions:
        lines += _about(question, receipts[question.number], replies[question.number])
        row = rows[question.number]
        kept = {name: row[name] for name in _COLUMNS if name in row} if row else "nothing"
        lines.append(f"    record: {kept}")
    return lines


def sqlite_record(data_dir: Path) -> str:
    """Return the address of the record in a data directory."""
    return f"sqlite:///{data_dir / 'frontdesk.sqlite'}"


def _about(question: Question, receipt: Receipt, replies: Sequence[Seen]) -> list[str]:
    where = f"{question.channel} {question.thread}"
    acknowledged = receipt.acknowledged_at
    when = "never" if acknowledged is None else f"{acknowledged:.2f}"
    tried = f"{receipt.deliveries} deliveries, refused {receipt.refusals}"
    return [
        f"question {question.number} ({question.interaction_id}) in {where}: {question.text!r}",
        f"    sent {receipt.sent_at:.2f}, acknowledged {when}, {tried}",
        *(f"    reply {post.at:.2f} for {post.names}: {post.text[:80]!r}" for post in replies),
    ]

"""What is looked for among questions: intent, kind of answer, confidence; and their indexes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_CHUNK = 500
_SEARCHED = (
    "tenant",
    "created_at",
    "number",
    "status",
    "intent",
    "answer_type",
    "confidence",
    "channel",
    "id",
    "finished_at",
)


def upgrade() -> None:
    """Add the columns, fill them from the outcomes that are kept, then make the indexes."""
    op.add_column("interactions", _text("intent", 16))
    op.add_column("interactions", _text("answer_type", 24))
    op.add_column("interactions", sa.Column("confidence", sa.Float))
    _fill(op.get_bind())
    op.create_index("ix_interactions_searched", "interactions", list(_SEARCHED))
    op.create_index("ix_feedback_given", "feedback", ["tenant", "given_at"])


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_feedback_given", "feedback")
    op.drop_index("ix_interactions_searched", "interactions")
    with op.batch_alter_table("interactions") as batch:
        for column in ("intent", "answer_type", "confidence"):
            batch.drop_column(column)


def _fill(connection: sa.Connection) -> None:
    """Go over the outcomes a chunk at a time: all of them at once may not fit into memory."""
    find = sa.text(
        "SELECT number, outcome FROM interactions WHERE outcome IS NOT NULL AND number > :last "
        "ORDER BY number LIMIT :chunk"
    )
    change = sa.text(
        "UPDATE interactions SET intent = :intent, answer_type = :answer_type, "
        "confidence = :confidence WHERE number = :number"
    )
    last = -1
    while rows := connection.execute(find, {"last": last, "chunk": _CHUNK}).all():
        connection.execute(change, [{"number": number, **_columns(text)} for number, text in rows])
        last = rows[-1].number


def _columns(outcome: str) -> dict[str, object]:
    """Read the columns out of a stored outcome; one that can't be read leaves them empty."""
    try:
        value = json.loads(outcome)["value"]
        response = value["response"]
        return {
            "intent": str(value["trace"]["route"]["intent"]),
            "answer_type": _answer_type(response),
            "confidence": _number(response.get("confidence")),
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"intent": "", "answer_type": "", "confidence": None}


def _answer_type(response: Mapping[str, Any]) -> str:
    match response:
        case {"kind": "clarification"}:
            return "CLARIFICATION"
        case {"kind": "reply", "refused": True} | {"kind": "reply", "tone": "generic"}:
            return "GENERIC"
        case {"kind": "reply", "sources": [_, *_]}:
            return "RAG"
        case _:
            return "ESCALATION_REQUIRED"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _text(name: str, length: int) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False, server_default="")

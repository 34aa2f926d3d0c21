"""Files that came with questions: kept until the question is answered or withdrawn.

Slack and Teams keep their own; the web chat and the REST API have nowhere else to. The statements
that delete them are those of every text of a question (WITH_WORDS), and of its end
(``StoredWork``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Delete, ForeignKey, Integer, LargeBinary, String, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment, Message, Platform, content_sent_along
from bot.store.connections import Transactions
from bot.store.tables import Table

KEPT_HERE: frozenset[Platform] = frozenset({"web", "rest"})
"""The platforms whose files the record keeps; others are asked for theirs."""

_KEPT = "record:"


class QuestionFileRow(Table):
    """A file of a question that has no answer yet; ``position`` counts from 0."""

    __tablename__ = "question_files"

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(LargeBinary)


def files_apart(message: Message) -> tuple[Message, Sequence[dict[str, object]]]:
    """Return a message without the contents of its files, and their rows."""
    if message.thread.platform not in KEPT_HERE:
        return message, ()
    rows: list[dict[str, object]] = []
    kept: list[Attachment] = []
    for position, each in enumerate(message.attachments):
        content = content_sent_along(each)
        place = f"{_KEPT}{message.interaction_id}:{position}"
        kept.append(each if content is None else replace(each, place=place))
        if content is not None:
            rows.append(
                {
                    "interaction_id": message.interaction_id,
                    "position": position,
                    "tenant": message.thread.tenant,
                    "content": content,
                }
            )
    return replace(message, attachments=tuple(kept)), rows


class StoredFiles:
    """Hands out the files of questions. Implements ``Fetches``."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        question, _, position = attachment.place.removeprefix(_KEPT).partition(":")
        if not attachment.place.startswith(_KEPT) or not position.isdecimal():
            raise DeliveryFailed(f"File {attachment.name!r} was not kept.")
        row = QuestionFileRow
        here = row.interaction_id == question, row.position == int(position)
        content = await self._transactions.scalar(select(row.content).where(*here))
        if content is None or len(content) > most:
            raise DeliveryFailed(f"File {attachment.name!r} is gone, or larger than {most} bytes.")
        return bytes(content)


def drop_files(interaction_id: str) -> Delete:
    """Return the statement that deletes the files of a question."""
    return delete(QuestionFileRow).where(QuestionFileRow.interaction_id == interaction_id)

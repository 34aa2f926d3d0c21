"""Fake what learning needs from the record."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bot.answering.visibility import ReadablePassages
from bot.domain.messages import InteractionId
from bot.learning.gap_views import GapViews
from bot.learning.question_words import QuestionWords
from bot.store.database import Store


class MemoryNotes:
    """Implements bot.domain.ports.Notes in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def get(self, tenant: str, key: str) -> str | None:
        return self.kept.get((tenant, key))

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        self.kept[tenant, key] = text

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        new = (tenant, key) not in self.kept
        self.kept.setdefault((tenant, key), text)
        return new

    async def remove(self, tenant: str, key: str) -> None:
        self.kept.pop((tenant, key), None)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        found = {key: text for (of, key), text in self.kept.items() if of == tenant}
        return {key: found[key] for key in sorted(found) if key.startswith(prefix)}


class NoWorkers:
    """Implements CaseWorkers: nobody worked on a case."""

    async def workers(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, frozenset[str]]:
        return {}


def gap_views(store: Store, readable: ReadablePassages) -> GapViews:
    words = QuestionWords(store.escalations, store.notes, readable)
    return GapViews("default", store.gap_reports, words, readable)

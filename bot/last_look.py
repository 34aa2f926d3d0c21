"""The pages behind a reply are looked at once more before it is given; what fails is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.asking import Asked
from bot.domain.ports import StillReadable
from bot.observing.explaining import Grounded
from rag.pipeline import Scope
from rag.types import Chunk

_NOTE = "pages that failed the last check were left out: {}"


class LastLook:
    """Asks about what would be shown: the cited pages of an answer, else all that was found."""

    def __init__(self, still: StillReadable | None) -> None:
        self._still = still

    async def failing(self, grounded: Grounded, scope: Scope) -> frozenset[str]:
        """Return the ids of the pages that may not be shown to the readers of the scope."""
        if self._still is None:
            return frozenset()
        chunks = _to_be_shown(grounded)
        if not chunks:
            return frozenset()
        readable = await self._still.still(scope.tenant, chunks, scope.readers)
        return frozenset(chunk.page_id for chunk in chunks if chunk.id not in readable)

    async def kept(self, grounded: Grounded | None, scope: Scope) -> Grounded | None:
        """Return what may be shown of it: all, or no answer and the pages that did not fail."""
        failing = await self.failing(grounded, scope) if grounded else frozenset()
        if grounded is None or not failing:
            return grounded
        looked_at = {chunk.page_id for chunk in _to_be_shown(grounded)}
        return _only(grounded, looked_at - failing)


def without(asked: Asked, pages: frozenset[str]) -> Asked:
    """Return what is asked without some pages."""
    excluded = asked.scope.excluded_pages | pages
    return replace(asked, scope=replace(asked.scope, excluded_pages=excluded))


def after(first: Grounded, failing: frozenset[str], again: Grounded | None) -> Grounded:
    """Return a second answer with what the first one, which is thrown away, took."""
    final = _only(first, frozenset()) if again is None else again
    notes = (*final.notes, _NOTE.format(len(failing)))
    earlier = first.earlier if again is None else (*first.calls, *final.earlier)
    return replace(final, earlier=earlier, notes=notes)


def cited(grounded: Grounded) -> frozenset[str]:
    """Return the ids of the chunks that an answer cites."""
    claims = grounded.answer.claims if grounded.answer else ()
    return frozenset(citation.chunk_id for claim in claims for citation in claim.citations)


def shown(grounded: Grounded) -> frozenset[str]:
    """Return the ids of the chunks that were found."""
    return frozenset(passage.chunk.id for passage in grounded.retrieval.passages)


def _to_be_shown(grounded: Grounded) -> Sequence[Chunk]:
    """Return the chunks that are quoted, or, where nothing is answered, could be named.

    Of a guess both are looked at: a question back, which names what was found, may take its place.
    So it is of a part: what it lacks is said knowing all that was found.
    """
    found = [passage.chunk for passage in grounded.retrieval.passages]
    if grounded.answer is None or grounded.level is None:
        return found
    wanted = cited(grounded)
    quoted = [one.chunk for one in grounded.answer.passages if one.chunk.id in wanted]
    if grounded.level == "sure":
        return quoted
    return list({one.id: one for one in (*quoted, *found)}.values())


def _only(grounded: Grounded, pages: frozenset[str] | set[str]) -> Grounded:
    """Return it without its answer, and with these pages alone."""
    found = grounded.retrieval.passages
    passages = tuple(passage for passage in found if passage.chunk.page_id in pages)
    answer = grounded.answer
    return replace(
        grounded,
        retrieval=replace(grounded.retrieval, passages=passages),
        answer=answer and replace(answer, claims=(), passages=passages),
    )

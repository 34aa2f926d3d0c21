"""Recheck, at their source, the permissions of the pages that an answer would quote or name.

Pages that fail are excluded, and the question is answered once more without them. If any page fails
again, the answer's claims are withheld.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bot.answering.answer_plan import SearchRequest
from bot.answering.grounded_answer import GroundedAnswer
from bot.domain.ports import RechecksPermissions
from rag.errors import after_calls
from rag.search_scope import Scope
from rag.types import Chunk

_NOTE = "pages that failed the last check were left out: {}"


async def failing_pages(
    recheck: RechecksPermissions | None, chunks: Sequence[Chunk], scope: Scope
) -> frozenset[str]:
    """Return the ids of the pages that the readers of a scope may not read at their source now.

    Without ``recheck`` every page passes.
    """
    if recheck is None or not chunks:
        return frozenset()
    readable = await recheck.readable_chunk_ids(scope.tenant, chunks, scope.readers)
    return frozenset(chunk.page_id for chunk in chunks if chunk.id not in readable)


async def recheck_answer(
    answer: GroundedAnswer,
    request: SearchRequest,
    answer_again: Callable[[SearchRequest], Awaitable[GroundedAnswer | None]],
    recheck: RechecksPermissions | None,
) -> GroundedAnswer:
    """Return an answer of which no page fails the recheck, if need be a second one without claims.

    Without a second answer, the first is returned without its claims and pages.
    """
    failing = await failing_pages(recheck, answer.chunks_to_show, request.scope)
    if not failing:
        return answer
    excluded = request.scope.excluded_pages | failing
    with after_calls(answer.calls):
        second = await answer_again(
            replace(request, scope=replace(request.scope, excluded_pages=excluded))
        )
    note = _NOTE.format(len(failing))
    if second is None:
        return replace(answer.limited_to_pages(()), notes=(*answer.notes, note))
    chunks = second.chunks_to_show
    if failing := await failing_pages(recheck, chunks, request.scope):
        second = second.limited_to_pages({chunk.page_id for chunk in chunks} - failing)
    return replace(second, earlier=(*answer.calls, *second.earlier), notes=(*second.notes, note))

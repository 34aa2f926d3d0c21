"""Give a standard answer, before all pages, to a question that it was written for.

A wrong match is worse than none: what does not match is still found like a page. So the wordings
must be near, none may have a word that the other lacks as well ("enable" and "disable" are as near
as paraphrases), and they must have the same numbers and codes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering.answer_plan import SearchRequest
from bot.answering.reply_text import found_passages, source_of_passage
from bot.domain.interactions import Reply, Trace
from rag.ports import Embedder, SearchIndex
from rag.search_scope import Scope
from rag.text.words import identifiers, stems
from rag.types import (
    ANSWER_SOURCE,
    ANSWERS_SPACE,
    STANDARD_LABEL,
    Chunk,
    Passage,
    Question,
)

NEAR = 0.85
"""Least cosine of the installed embedder between a question and a wording of the answer.

Of 36,000 pairs of different questions of the sample company the nearest have .77; questions that
differ in one word ("December", "January") reach .88, which the rule of words is for. Of eight
paraphrases seven are above (docs/learning.md).
"""

MARK = "Standard answer"

_KNOWN_SECONDS = 2.0
"""How long it is known whether there are answers by people: where there are none, none is searched
for."""

_MOST = 5
_LONGEST_OVERLAP = 600
_LEAST_OVERLAP = 20


@dataclass(frozen=True, slots=True)
class StandardReply:
    """A standard answer as a reply, and the passage that it is from."""

    reply: Reply
    passage: Passage

    def traced(self, trace: Trace) -> Trace:
        """Return the trace of a question that was answered with it."""
        passages = found_passages([self.passage])
        return Trace(
            route=trace.route,
            passages=passages,
            gate="passed",
            calls=trace.calls,
            timings_ms=trace.timings_ms,
            notes=(*trace.notes, f"standard answer: {self.passage.chunk.page_id}"),
            heard=trace.heard,
        )


class StandardAnswers:
    """Finds the standard answer to a question, as far as its readers and spaces allow.

    Args:
        index: The index that holds the answers' pages.
        near: The installed embedder; None takes only questions in the same words.
    """

    def __init__(self, index: SearchIndex, near: Embedder | None) -> None:
        self._index = index
        self._near = near
        self._there = False
        self._known_until = 0.0

    async def reply_to(self, request: SearchRequest) -> StandardReply | None:
        """Return the answer that was written for a question; None if there is none.

        Raises RagError.
        """
        scope = request.scope
        elsewhere = scope.source_type not in {None, ANSWER_SOURCE}
        if request.attached or request.asked is not None or request.ceiling != "sure" or elsewhere:
            return None
        if not await self._are_there(scope.tenant):
            return None
        question = Question(
            request.question,
            scope.tenant,
            spaces=frozenset({ANSWERS_SPACE}),
            label=STANDARD_LABEL,
            excluded_pages=scope.excluded_pages,
        )
        found = await self._index.search(question, scope.readers, _MOST)
        # Pages of the company's own may have that space and label, too.
        own = [each for each in found if each.chunk.source_type == ANSWER_SOURCE]
        applying = [each for each in own if _applies(each.chunk, scope)]
        best = await self._best(request.question, applying)
        return None if best is None else await self._reply(best, scope)

    async def _are_there(self, tenant: str) -> bool:
        now = time.monotonic()
        if now >= self._known_until:
            self._there = ANSWERS_SPACE in await self._index.spaces(tenant)
            self._known_until = now + _KNOWN_SECONDS
        return self._there

    async def _best(self, question: str, found: Sequence[Passage]) -> Passage | None:
        wordings = [
            (each, wording)
            for each in found
            for wording in wordings_of(each.chunk)
            if may_mean_the_same(question, wording)
        ]
        if not wordings:
            return None
        if self._near is None:
            same = set(stems(question))
            return next((each for each, wording in wordings if set(stems(wording)) == same), None)
        vectors = await self._near.embed([question, *(wording for _, wording in wordings)])
        near = (vectors[1:] @ vectors[0]).tolist()
        value, at = max((value, -at) for at, value in enumerate(near))
        return wordings[-at][0] if value >= NEAR else None

    async def _reply(self, passage: Passage, scope: Scope) -> StandardReply | None:
        page = await self._index.page(
            scope.tenant, ANSWERS_SPACE, passage.chunk.page_id, scope.readers
        )
        if not page:
            return None
        first = Passage(page[0], 1.0, {**passage.signals, "fused": 1.0})
        reply = Reply(
            text=f"**{MARK}**\n\n{_whole_text(page)}\n\n[1]",
            tone="found",
            sources=(source_of_passage(first, page[0].text),),
            confidence=1.0,
            confidence_level="sure",
        )
        return StandardReply(reply, first)


def wordings_of(chunk: Chunk) -> Sequence[str]:
    """Return the questions that an answer's page was written for."""
    return list(dict.fromkeys((chunk.title, *chunk.breadcrumb[1:])))


def may_mean_the_same(question: str, wording: str) -> bool:
    """Return whether two questions differ by no word on both sides, and by no number or code."""
    one, other = set(stems(question)), set(stems(wording))
    if not one or not other or not (one <= other or other <= one):
        return False
    return identifiers(question) == identifiers(wording)


def _applies(chunk: Chunk, scope: Scope) -> bool:
    """Return whether an answer is for what may be searched: everything, or a space of its own."""
    spaces = frozenset(chunk.labels) - {STANDARD_LABEL}
    if scope.spaces is None or not spaces:
        return scope.spaces is None or ANSWERS_SPACE in scope.spaces
    return bool(spaces & scope.spaces)


def _whole_text(page: Sequence[Chunk]) -> str:
    """Return the text of a page's chunks, without what each repeats of the one before."""
    text = page[0].text
    for chunk in page[1:]:
        longest = min(len(text), len(chunk.text), _LONGEST_OVERLAP)
        sizes = range(longest, _LEAST_OVERLAP, -1)
        over = next((size for size in sizes if text.endswith(chunk.text[:size])), 0)
        text += chunk.text[over:] if over else f"\n\n{chunk.text}"
    return text

"""What became of the quotes of a posted answer, for those who read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal

from bot.answering.asker_identity import EVERYONE_PRINCIPALS
from bot.answering.permitted_views import CitedQuote, QuoteCheck, QuoteState
from bot.domain.interactions import Interaction, Reply, Source
from bot.domain.ports import Directory
from rag.ports import SearchIndex
from rag.types import ANSWERS_SPACE, Principal

QuoteFate = Literal["there", "changed", "closed"]
"""closed: the page is gone, or may not be read any more where the answer was posted."""


def sources_quoted(asked: Interaction) -> Sequence[Source]:
    """Return the sources of a posted answer; () for all that is no answer, or was not posted."""
    outcome = asked.outcome
    if outcome is None or outcome.silent or asked.posted is None or asked.withdrawn:
        return ()
    return outcome.response.sources if isinstance(outcome.response, Reply) else ()


class QuoteFates:
    """Looks up what became of quotes, each page once; use a new one for each round of checks.

    Args:
        index: Holds the pages.
        directory: Resolves what the asker of a private answer may read.
        expired: Returns whether a page is a person's answer whose date has passed. Nobody said that
            it is wrong, so what was posted of it stays.
    """

    def __init__(
        self,
        tenant: str,
        index: SearchIndex,
        directory: Directory,
        expired: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._tenant = tenant
        self._index = index
        self._directory = directory
        self._expired = expired
        self._checks: dict[frozenset[Principal], QuoteCheck] = {}

    async def of(
        self, asked: Interaction, quotes: Sequence[tuple[str, str, str, str]]
    ) -> Sequence[QuoteState]:
        """Return the states of quotes (space, page, chunk and words) of one answer.

        "unknown" is a page that its asker alone was shown and may not read now. A page that is gone
        from its space is looked for in the others. Raises rag.errors.IndexUnavailable.
        """
        public = not asked.message.private
        readers = EVERYONE_PRINCIPALS if public else await self._principals(asked)
        check = self._checks.setdefault(readers, QuoteCheck(self._index, self._tenant, readers))
        cited = [CitedQuote(*each, public) for each in quotes]
        states = await check.fates(cited)
        elsewhere = [replace(each, space="") for each in cited if states[each] == "gone"]
        moved = await check.fates(elsewhere)
        fates = [moved.get(replace(each, space=""), states[each]) for each in cited]
        return [
            "there" if fate == "gone" and await self._is_expired(each) else fate
            for each, fate in zip(cited, fates, strict=True)
        ]

    async def _is_expired(self, quote: CitedQuote) -> bool:
        return quote.space == ANSWERS_SPACE and await self._expired(quote.page_id)

    async def _principals(self, asked: Interaction) -> frozenset[Principal]:
        message = asked.message
        known = await self._directory.principals(message.thread.tenant, message.author)
        return known | EVERYONE_PRINCIPALS


def fate_of(states: Sequence[QuoteState]) -> QuoteFate:
    """Return the fate of an answer: that of its worst quote."""
    if any(each in {"gone", "restricted", "unknown"} for each in states):
        return "closed"
    return "changed" if "changed" in states else "there"

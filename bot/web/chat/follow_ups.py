"""Offer the sections beside those that an answer cites, and ask about the one that is chosen.

Nothing of an offer is stored. Its pages are read with the asker's permissions when it is shown, and
again when it is chosen: what was closed in between is not asked about.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

import structlog
from aiohttp import web

from bot.answering.further_sections import alternately, sections_beside
from bot.answering.visibility import Visibility
from bot.domain.formatting import option_label
from bot.domain.interactions import Interaction, Reply
from bot.web.auth.identity import principals_of
from bot.web.chat.answer_view import FollowUp
from bot.web.chat.stored_pages import StoredPages
from rag.errors import RagError
from rag.types import ANSWERS_SPACE, Chunk, Principal

log = structlog.get_logger(__name__)

MAX_FOLLOW_UPS = 3
_MAX_PAGES = 3


@dataclass(frozen=True, slots=True)
class FollowUps:
    """Reads the pages that an answer cites, as far as its asker may read them now."""

    pages: StoredPages
    tenant: str

    async def offered(
        self,
        request: web.Request,
        interaction: Interaction,
        seen: Visibility,
        asked: Collection[str] = (),
    ) -> tuple[FollowUp, ...]:
        """Return up to three follow-ups of an answer; () while the index is unavailable.

        ``asked`` are questions that are not offered again.
        """
        beside = alternately(await self._beside(request, interaction, seen))
        new = {option_label(each): each for each in beside if option_label(each) not in asked}
        return tuple(
            FollowUp(each.id, each.title, each.section)
            for each in islice(new.values(), MAX_FOLLOW_UPS)
        )

    async def chosen(
        self, request: web.Request, interaction: Interaction, seen: Visibility, chunk_id: str
    ) -> str | None:
        """Return the question about a section; None if it is not beside the answer's any more."""
        pages = await self._beside(request, interaction, seen)
        found = (each for page in pages for each in page if each.id == chunk_id)
        return next(map(option_label, found), None)

    async def _beside(
        self, request: web.Request, interaction: Interaction, seen: Visibility
    ) -> Sequence[Sequence[Chunk]]:
        cited = _cited_chunks(interaction, seen)
        if not cited:
            return ()
        principals = await principals_of(request, self.tenant)
        try:
            return [await self._of_page(page, cited, principals) for page in _pages_of(cited)]
        except RagError as error:
            log.warning("follow_ups.index_unavailable", why=str(error))
            return ()

    async def _of_page(
        self, page: tuple[str, str], cited: Sequence[Chunk], principals: frozenset[Principal]
    ) -> Sequence[Chunk]:
        chunks = await self.pages.page(self.tenant, *page, principals)
        return sections_beside(chunks, [each.id for each in cited])


def _cited_chunks(interaction: Interaction, seen: Visibility) -> Sequence[Chunk]:
    """Return the chunks that an answer from the wiki cites; none if the answer is not shown."""
    response = interaction.outcome.response if interaction.outcome else None
    if interaction.withdrawn or not isinstance(response, Reply) or not seen.tells(interaction):
        return ()
    cited = (seen.passages.get(each.chunk_id) for each in response.sources)
    return [each for each in cited if each is not None and each.space != ANSWERS_SPACE]


def _pages_of(cited: Sequence[Chunk]) -> Sequence[tuple[str, str]]:
    return list(dict.fromkeys((each.space, each.page_id) for each in cited))[:_MAX_PAGES]

"""Whether an expert's words about a case may go to others who asked the same.

They are written for who asked, and may repeat pages that another may not read. So they go to others
only if everyone may read each page that was found for any of the cases, and each page of the wiki
that they link to; where that is not known, they don't.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import structlog

from bot.answering.permitted_views import context_exchanges
from bot.answering.visibility import (
    ReadablePassages,
    RecordedPassage,
    recorded_passages,
)
from bot.domain.cases import Act
from bot.domain.handoff import question_of_person_request
from bot.domain.interactions import Escalation, Interaction
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions
from bot.domain.texts import tr
from rag.errors import RagError
from rag.types import EVERYONE

WITHHELD = tr(
    "The answer was corrected. The correction may quote pages that you can't open, so it is not "
    "shown here. Ask again to get an answer of your own."
)
"""What others read in place of a correction that they may not read."""

_MOST_TURNS = 20
"""Earlier exchanges that a question may lean on, directly or not; of more nothing is known."""

_NOT_SEARCHED = frozenset({"unavailable", "waited"})
"""Reasons for which it may not be known what the wiki has."""

_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"'`|)\]}]*[^\s<>\"'`|)\]}.,;:!?]", re.IGNORECASE)

log = structlog.get_logger(__name__)


def links_in(text: str) -> frozenset[str]:
    """Return the web addresses in a text, as they are written."""
    return frozenset(match[0] for match in _LINK.finditer(text))


def in_their_place(act: Act) -> str:
    """Return what others get for the text of an act that they may not read."""
    return WITHHELD if act == "amend" else ""


class SharedWords:
    """Decides whether texts may go to all askers of a question.

    ``wiki_hosts`` are those of pages with readers: a link to another host is an expert's own. None
    if they are not known: then every link must be to a page that is known to be open.
    """

    def __init__(
        self,
        interactions: Interactions,
        readable: ReadablePassages,
        wiki_hosts: frozenset[str] | None,
    ) -> None:
        self._interactions = interactions
        self._readable = readable
        self._wiki_hosts = wiki_hosts

    async def are_open(self, tenant: str, cases: Iterable[InteractionId], *texts: str) -> bool:
        """Return whether everyone may read what is behind cases and behind texts about them."""
        found: list[RecordedPassage] = []
        for each in cases:
            behind = await self._behind(each)
            if behind is None:
                return False
            found += behind
        try:
            chunks = await self._readable.readable(tenant, found, frozenset({EVERYONE}))
        except RagError as error:
            log.warning("case.readers_unknown", why=str(error))
            return False
        pages = frozenset(_page(each.url) for each in chunks.values())
        there = ((chunks.get(each.chunk_id), each.page_id) for each in found)
        known = all(chunk is not None and chunk.page_id == page for chunk, page in there)
        return known and all(self._links_to(pages, each) for each in texts)

    def _links_to(self, pages: frozenset[str], text: str) -> bool:
        """Return whether a text links to no page of the wiki but these."""
        links = filter(self._is_wiki, links_in(text))
        bare = _LINK.sub("", text).lower()
        named = any(host and host in bare for host in self._wiki_hosts or ())
        return not named and all(_page(each) in pages for each in links)

    async def _behind(self, case_id: InteractionId) -> Sequence[RecordedPassage] | None:
        """Return all passages that a question and those it leans on found; None if not known."""
        found: list[RecordedPassage] = []
        seen: set[InteractionId] = set()
        wanted = [case_id]
        while wanted:
            key = wanted.pop()
            if key in seen:
                continue
            asked = await self._interactions.get(key)
            earlier = None if asked is None else _earlier(asked)
            if asked is None or earlier is None or len(seen) == _MOST_TURNS:
                return None
            seen.add(key)
            found += recorded_passages(asked)
            wanted += earlier
        return found

    def _is_wiki(self, link: str) -> bool:
        host = _host(link)
        return not host or self._wiki_hosts is None or host in self._wiki_hosts


def _earlier(asked: Interaction) -> Sequence[InteractionId] | None:
    """Return the earlier exchanges that a question is about; None if they are not known."""
    outcome = asked.outcome
    if outcome is None or asked.withdrawn:
        return None
    leaned, wished = context_exchanges(asked), question_of_person_request(asked.message)
    earlier = leaned if wished is None else (*leaned, wished)
    reason = outcome.response.reason if isinstance(outcome.response, Escalation) else ""
    unknown = reason in _NOT_SEARCHED or (reason == "asked_for_human" and not earlier)
    return None if unknown else earlier


def _page(link: str) -> str:
    """Return an address without the place within its page."""
    return link.partition("#")[0].rstrip("/")


def _host(link: str) -> str:
    """Return the host of a link, "" for one that can't be read."""
    absolute = link if "://" in link else f"https://{link}"
    try:
        return urlsplit(absolute).hostname or ""
    except ValueError:
        return ""

"""Which links of an expert's reply are told others who asked the same.

A reply is written for who asked, and a wiki page's address has its title. So the others get a link
into the wiki only if everyone may read its page; what is not known to be open is left out.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import structlog

from bot.answering.visibility import ReadablePassages, recorded_passages
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions
from rag.errors import RagError
from rag.types import EVERYONE

LEFT_OUT = "(a link is left out here: it may not be open to you)"
"""Stands in place of a link."""

_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"'`|)\]}]*[^\s<>\"'`|)\]}.,;:!?]", re.IGNORECASE)

log = structlog.get_logger(__name__)


def links_in(text: str) -> frozenset[str]:
    """Return the web addresses in a text, as they are written."""
    return frozenset(match[0] for match in _LINK.finditer(text))


def with_open_links(text: str, opened: frozenset[str]) -> str:
    """Return a text without the links that are not ``opened``."""
    return _LINK.sub(lambda match: match[0] if match[0] in opened else LEFT_OUT, text)


class OpenLinks:
    """Finds the links that everyone may follow.

    ``wiki_hosts`` are those of pages with readers: a link to another host is an expert's own. None
    if they are not known: then only links to known pages are open.
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

    async def among(self, tenant: str, case_id: InteractionId, *texts: str) -> frozenset[str]:
        """Return the open links of texts about a case: of pages found for it, and elsewhere."""
        links = frozenset[str]().union(*map(links_in, texts))
        within = frozenset(each for each in links if self._is_wiki(each))
        if not within:
            return links
        known = await self._known(tenant, case_id)
        return links - frozenset(each for each in within if _page(each) not in known)

    def _is_wiki(self, link: str) -> bool:
        return self._wiki_hosts is None or _host(link) in self._wiki_hosts

    async def _known(self, tenant: str, case_id: InteractionId) -> frozenset[str]:
        """Return the addresses of pages found for a case that everyone may read."""
        asked = await self._interactions.get(case_id)
        if asked is None:
            return frozenset()
        found = list(recorded_passages(asked))
        try:
            chunks = await self._readable.readable(tenant, found, frozenset({EVERYONE}))
        except RagError as error:
            log.warning("case.links_unknown", why=str(error))
            return frozenset()
        return frozenset(_page(each.url) for each in chunks.values())


def _page(link: str) -> str:
    """Return an address without the place within its page."""
    return link.partition("#")[0].rstrip("/")


def _host(link: str) -> str:
    absolute = link if "://" in link else f"https://{link}"
    try:
        return urlsplit(absolute).hostname or ""
    except ValueError:
        return ""

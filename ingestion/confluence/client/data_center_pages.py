"""Pages and blog posts of Data Center: listed, searched by CQL, read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from ingestion.confluence.client.paging import parts
from ingestion.confluence.client.searching import SEARCH
from ingestion.confluence.client.shapes import Content, ContentPart
from ingestion.confluence.client.telling import head_of, kind_of, labels_of
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_cql, in_path
from ingestion.confluence.errors import NotVisible, WikiUnavailable
from ingestion.confluence.types import ChangedPages, PageHead, WikiPage, WikiSpace
from ingestion.errors import PageUnreadable

_MOST = 100
_HEAD = "version,ancestors,space"
_WHOLE = f"{_HEAD},body.storage,metadata.labels"
_KINDS = ("page", "blogpost")
_ANY_ZONE = timedelta(days=1)
"""CQL takes times in the zone of the token's user, which nobody tells."""


class DataCenterPages:
    """Reads pages and blog posts by the older API, which knows them as one kind of thing."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scans = True

    async def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        """Yield every current page and blog post of a space, each once."""
        seen: set[str] = set()
        for kind in _KINDS:
            async for head in self._listed(space, kind):
                if head.id not in seen:
                    seen.add(head.id)
                    yield head

    async def _listed(self, space: WikiSpace, kind: str) -> AsyncIterator[PageHead]:
        query: Query = {
            "spaceKey": space.key,
            "type": kind,
            "status": "current",
            "expand": _HEAD,
            "limit": _MOST,
        }
        begun = False
        try:
            if self._scans:
                async for head, _ in self._heads("/rest/api/content/scan", query):
                    begun = True
                    yield head
                return
        except NotVisible as error:
            if begun or error.forbidden:
                raise
            # Before 7.18 there is no scan.
            self._scans = False
        async for head, _ in self._heads("/rest/api/content", query, counted=True):
            yield head

    async def _heads(
        self, path: str, query: Query, *, counted: bool = False
    ) -> AsyncIterator[tuple[PageHead, datetime]]:
        """Yield heads, each with when the site was asked for it."""
        async for answer in parts(self._transport, path, query, of=ContentPart, counted=counted):
            base = answer.value.links.base or self._base
            for content in answer.value.results:
                if content.status == "current" and kind_of(content.type):
                    yield _listed_head(content, base=base), answer.asked_at

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return what was edited since, newest first.

        A day more is asked for than is wanted, for the zone; the version's own time decides.
        """
        cql = (
            f"space = {in_cql(space.key)} and type in (page, blogpost) "
            f'and lastmodified >= "{since - _ANY_ZONE:%Y-%m-%d %H:%M}" order by lastmodified desc'
        )
        asked_at: list[datetime] = []
        heads: dict[str, PageHead] = {}
        query: Query = {"cql": cql, "expand": _HEAD, "limit": _MOST}
        async for answer in parts(self._transport, SEARCH, query, of=ContentPart, counted=True):
            asked_at.append(answer.asked_at)
            base = answer.value.links.base or self._base
            told = [_listed_head(content, base=base) for content in answer.value.results]
            heads |= {head.id: head for head in told if head.updated_at >= since}
            if told and told[-1].updated_at < since:
                break
        newest_first = sorted(heads.values(), key=lambda head: head.updated_at, reverse=True)
        return ChangedPages(heads=tuple(newest_first), asked_at=asked_at[0])

    async def page(self, page_id: str) -> WikiPage:
        """Return a page or blog post whole."""
        content = await self._one(page_id, _WHOLE)
        labels = content.metadata.labels if content.metadata else None
        if content.body is None or content.body.storage is None or labels is None:
            raise PageUnreadable(f"Confluence does not give text and labels of page {page_id}.")
        return WikiPage(
            head=head_of(content, base=self._base),
            storage=content.body.storage.value,
            labels=labels_of(labels.results),
            ancestors=tuple(above.id for above in content.ancestors or ()),
        )

    async def head(self, page_id: str) -> PageHead:
        """Return a page or blog post without its text."""
        return head_of(await self._one(page_id, _HEAD), base=self._base)

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        """Return what a page hangs under, outermost first."""
        content = await self._one(page_id, "ancestors")
        if content.ancestors is None:
            raise PageUnreadable(f"Confluence does not say what page {page_id} hangs under.")
        return tuple(above.id for above in content.ancestors)

    async def labels(self, page_id: str) -> tuple[str, ...]:
        """Return a page's labels."""
        content = await self._one(page_id, "metadata.labels")
        if content.metadata is None or content.metadata.labels is None:
            raise PageUnreadable(f"Confluence does not tell the labels of page {page_id}.")
        return labels_of(content.metadata.labels.results)

    async def _one(self, page_id: str, expand: str) -> Content:
        path = f"/rest/api/content/{in_path(page_id)}"
        query: Query = {"expand": expand, "status": "current"}
        content = (await self._transport.get(path, query, shape=Content)).value
        if content.status != "current" or kind_of(content.type) is None:
            raise NotVisible(f"{page_id} is no current page, but {content.status} {content.type}.")
        return content

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        """Return the current page with a title."""
        query: Query = {
            "spaceKey": space_key,
            "title": title,
            "type": "page",
            "status": "current",
            "expand": _HEAD,
            "limit": 2,
        }
        try:
            async for head, _ in self._heads("/rest/api/content", query):
                if head.title.casefold() == title.casefold():
                    return head
        except NotVisible:
            pass
        return None

    @property
    def _base(self) -> str:
        return str(self._transport.address.base)


def _listed_head(content: Content, *, base: str) -> PageHead:
    """Return a head of a listing, which can't be believed where one of it can't be read."""
    try:
        return head_of(content, base=base)
    except PageUnreadable as error:
        raise WikiUnavailable(str(error)) from error

"""Pages and blog posts of Confluence Cloud by its newer API, where they are two kinds of thing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeVar

from ingestion.confluence.client.paging import items, parts
from ingestion.confluence.client.shapes_v2 import Ancestors, LabelPart, Page, PagePart, SpacePart
from ingestion.confluence.client.telling import labels_of
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_path
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import ChangedPages, Kind, PageHead, WikiPage, WikiSpace
from ingestion.errors import PageUnreadable

Found = TypeVar("Found")

_MOST = 250
_NEWEST = 50
"""How many are asked for at once of what changed: each one that is told is charged for."""

_DEEPEST = 40
_ROOMS: Mapping[Kind, str] = {"page": "pages", "blogpost": "blogposts"}
_ABOVE = frozenset({"page", "folder", "whiteboard", "database"})


class CloudPages:
    """Reads pages and blog posts. Keeps the keys of spaces, which the API tells by id alone."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._keys: dict[str, str] = {}

    async def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        """Yield every current page and blog post of a space, each once."""
        seen: set[str] = set()
        for kind in _ROOMS:
            async for heads, _ in self._listed(space, kind, {"limit": _MOST}):
                for head in heads:
                    if head.id not in seen:
                        seen.add(head.id)
                        yield head

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return what was edited since, newest first."""
        asked_at: list[datetime] = []
        heads: dict[str, PageHead] = {}
        for kind in _ROOMS:
            query: Query = {"sort": "-modified-date", "limit": _NEWEST}
            async for told, asked in self._listed(space, kind, query):
                asked_at.append(asked)
                newer = [head for head in told if head.updated_at >= since]
                heads |= {head.id: head for head in newer}
                if len(newer) < len(told):
                    break
        newest_first = sorted(heads.values(), key=lambda head: head.updated_at, reverse=True)
        return ChangedPages(heads=tuple(newest_first), asked_at=min(asked_at))

    async def _listed(
        self, space: WikiSpace, kind: Kind, query: Query
    ) -> AsyncIterator[tuple[list[PageHead], datetime]]:
        """Yield the heads of each answer, and when the site was asked for them."""
        path = f"/api/v2/spaces/{in_path(space.id)}/{_ROOMS[kind]}"
        # Without a status archived ones come too.
        wanted: Query = {**query, "status": "current"}
        async for answer in parts(self._transport, path, wanted, of=PagePart):
            base = answer.value.links.base or self._base
            current = [page for page in answer.value.results if page.status == "current"]
            heads = [page.head(kind, space_key=space.key, base=base) for page in current]
            yield heads, answer.asked_at

    async def page(self, page_id: str, *, above: bool) -> WikiPage:
        """Return a page or blog post whole; its ancestors, a request more, with ``above``."""
        query: Query = {"body-format": "storage", "include-labels": "true"}
        kind, page = await self._one(page_id, query)
        if page.body is None or page.body.storage is None:
            raise PageUnreadable(f"Confluence does not give the text of page {page_id}.")
        ancestors = await self._above("page", page_id) if above and page.parent_id else ()
        return WikiPage(
            head=page.head(kind, space_key=await self._key(page.space_id), base=self._base),
            storage=page.body.storage.value,
            labels=await self._all_labels(page),
            ancestors=ancestors,
        )

    async def head(self, page_id: str) -> PageHead:
        """Return a page or blog post without its text."""
        kind, page = await self._one(page_id, {})
        return page.head(kind, space_key=await self._key(page.space_id), base=self._base)

    async def _one(self, page_id: str, query: Query) -> tuple[Kind, Page]:
        async def of(kind: Kind) -> tuple[Kind, Page]:
            path = f"/api/v2/{_ROOMS[kind]}/{in_path(page_id)}"
            return kind, (await self._transport.get(path, query, shape=Page)).value

        kind, page = await _page_or_blogpost(of)
        if page.status != "current":
            raise NotVisible(f"Page {page_id} is {page.status}.")
        return kind, page

    async def titled(self, space: WikiSpace, title: str) -> PageHead | None:
        """Return the current page with a title."""
        query: Query = {"title": title, "space-id": space.id, "status": "current", "limit": 2}
        async for answer in parts(self._transport, "/api/v2/pages", query, of=PagePart):
            base = answer.value.links.base or self._base
            for page in answer.value.results:
                if page.title.casefold() == title.casefold() and page.status == "current":
                    return page.head("page", space_key=space.key, base=base)
        return None

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        """Return what a page hangs under, outermost first; blog posts hang under nothing."""
        try:
            return await self._above("page", page_id)
        except NotVisible:
            if (await self.head(page_id)).kind == "blogpost":
                return ()
            raise

    async def _above(self, kind: str, content_id: str) -> tuple[str, ...]:
        """Return what is above; where that is more than an answer holds, in several."""
        above: tuple[str, ...] = ()
        for _ in range(_DEEPEST):
            path = f"/api/v2/{_room_above(kind, content_id)}/{in_path(content_id)}/ancestors"
            answer = await self._transport.get(path, {"limit": _MOST}, shape=Ancestors)
            told = answer.value.results
            above = (*(each.id for each in told), *above)
            if len(told) < _MOST:
                return above
            kind, content_id = told[0].type, told[0].id
        raise PageUnreadable(f"Page {content_id} lies deeper than {_DEEPEST * _MOST} pages.")

    async def labels(self, page_id: str) -> tuple[str, ...]:
        """Return a page's labels; none where it is neither page nor blog post, as a folder."""

        async def of(kind: Kind) -> tuple[str, ...]:
            path = f"/api/v2/{_ROOMS[kind]}/{in_path(page_id)}/labels"
            told = items(self._transport, path, {"limit": _MOST}, of=LabelPart)
            return labels_of(tuple([label async for label in told]))

        try:
            return await _page_or_blogpost(of)
        except NotVisible:
            return ()

    async def _all_labels(self, page: Page) -> tuple[str, ...]:
        if page.labels is None or page.labels.meta.has_more:
            return await self.labels(page.id)
        return labels_of(page.labels.results)

    async def _key(self, space_id: str) -> str:
        if space_id not in self._keys:
            query: Query = {"ids": space_id}
            async for space in items(self._transport, "/api/v2/spaces", query, of=SpacePart):
                self._keys[space.id] = space.key
        if space_id not in self._keys:
            raise NotVisible(f"The token may not see the space with the id {space_id!r}.")
        return self._keys[space_id]

    @property
    def _base(self) -> str:
        return str(self._transport.address.base)


async def _page_or_blogpost(of: Callable[[Kind], Awaitable[Found]]) -> Found:
    """Return what there is of an id, which does not tell which of the two it is.

    What is neither, or hidden, fails as a page does.
    """
    try:
        return await of("page")
    except NotVisible as as_page:
        try:
            return await of("blogpost")
        except NotVisible:
            raise as_page from None


def _room_above(kind: str, content_id: str) -> str:
    if kind not in _ABOVE:
        raise PageUnreadable(f"What lies above {content_id}, a {kind!r}, can't be asked for.")
    return f"{kind}s"

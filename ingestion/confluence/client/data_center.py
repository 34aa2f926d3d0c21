"""Confluence Data Center, whose only API is the older one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from pathlib import Path

from ingestion.confluence.client.about import about
from ingestion.confluence.client.data_center_pages import DataCenterPages
from ingestion.confluence.client.data_center_shapes import (
    SpacePart,
    SpacePermissions,
    readers_of,
)
from ingestion.confluence.client.downloading import download
from ingestion.confluence.client.marking import Marking
from ingestion.confluence.client.paging import parts
from ingestion.confluence.client.people import People
from ingestion.confluence.client.searching import attachments_in, including
from ingestion.confluence.client.shapes import ContentPart, Group
from ingestion.confluence.client.spaces import seen_spaces
from ingestion.confluence.client.telling import attachment_of
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_lots, in_path
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import (
    ChangedPages,
    PageHead,
    PageMarks,
    Subjects,
    WikiAbout,
    WikiAttachment,
    WikiGroup,
    WikiPage,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import PageUnreadable

_MOST = 100


class DataCenter:
    """Implements ingestion.confluence.ports.WikiSite for Confluence Data Center."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pages = DataCenterPages(transport)
        self._marking = Marking(transport, labels_of=self._pages.labels, counted=True)
        self._people = People(transport, by="key")

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        return await seen_spaces(self._transport, self._spaces, keys)

    async def _spaces(self, keys: Sequence[str] | None) -> AsyncIterator[WikiSpace]:
        for some in in_lots(keys):
            query: Query = {"limit": _MOST} | ({"spaceKey": list(some)} if some else {})
            async for answer in parts(
                self._transport, "/rest/api/space", query, of=SpacePart, counted=True
            ):
                base = answer.value.links.base or str(self._transport.address.base)
                for space in answer.value.results:
                    yield space.space(base=base)

    def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        return self._pages.heads(space)

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        return await self._pages.changed(space, since)

    def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        return self._marking.of_all(head.id async for head in self.heads(space))

    async def marks_of(self, page_id: str) -> PageMarks:
        return await self._marking.of(page_id)

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:  # noqa: ARG002 - at no cost here
        return await self._pages.page(page_id)

    async def head(self, page_id: str) -> PageHead:
        return await self._pages.head(page_id)

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        return await self._pages.ancestors(page_id)

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        return await self._pages.titled(space_key, title)

    async def space_readers(self, space: WikiSpace) -> Subjects:
        """Return who may view the space; nobody before 9.1, which can't be asked."""
        path = f"/rest/api/space/{in_path(space.key)}/permissions"
        try:
            answer = await self._transport.get(path, shape=SpacePermissions)
        except NotVisible:
            return Subjects()
        return readers_of(answer.value.root)

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        path = f"/rest/api/content/{in_path(page_id)}/child/attachment"
        query: Query = {"expand": "version", "limit": _MOST}
        found: dict[str, WikiAttachment] = {}
        async for answer in parts(self._transport, path, query, of=ContentPart, counted=True):
            base = answer.value.links.base or str(self._transport.address.base)
            told = (
                attachment_of(each, base=base, page_id=page_id) for each in answer.value.results
            )
            found |= {each.id: each for each in told if each is not None}
        return tuple(found.values())

    def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        return attachments_in(self._transport, space)

    def including(self, space: WikiSpace) -> AsyncIterator[str]:
        return including(self._transport, space)

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        path = attachment.download
        if not path.startswith("/download/") or "/../" in path:
            raise PageUnreadable(f"Confluence names no place where {attachment.name!r} is fetched.")
        return await download(self._transport, attachment, path=path, into=into, most=most)

    async def user(self, user_id: str) -> WikiUser:
        return await self._people.user(user_id)

    async def user_of(self, email: str) -> WikiUser | None:  # noqa: ARG002 - the port's
        """Return None: Data Center tells nobody's address, so nobody can be told by one."""
        return None

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        return await self._people.groups_of(user_id)

    async def group_named(self, name: str) -> WikiGroup | None:
        try:
            answer = await self._transport.get(f"/rest/api/group/{in_path(name)}", shape=Group)
        except NotVisible:
            return None
        return answer.value.group()

    async def about(self) -> WikiAbout:
        return await about(self._transport)

    async def close(self) -> None:
        await self._transport.close()

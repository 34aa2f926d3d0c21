"""Confluence Cloud: the newer API for content, the older one where the newer has nothing."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from pathlib import Path

from ingestion.confluence.client.about import about
from ingestion.confluence.client.cloud_pages import CloudPages
from ingestion.confluence.client.downloading import download
from ingestion.confluence.client.marking import Marking
from ingestion.confluence.client.paging import items, parts
from ingestion.confluence.client.people import People, by_email
from ingestion.confluence.client.searching import attachments_in, including
from ingestion.confluence.client.shapes import Group
from ingestion.confluence.client.shapes_v2 import (
    AttachmentPart,
    PermissionPart,
    SpacePart,
    readers_of,
)
from ingestion.confluence.client.spaces import seen_spaces
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_cql, in_lots, in_path
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

_MOST = 250
_PLAIN = re.compile(r"[^\s\"\\@]+@[^\s\"\\@]+")
_SEARCH_PEOPLE = "/rest/api/search/user"


class Cloud:
    """Implements ingestion.confluence.ports.WikiSite for Confluence Cloud."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pages = CloudPages(transport)
        self._marking = Marking(transport, labels_of=self._pages.labels)
        self._people = People(transport, by="accountId")
        self._known: dict[str, WikiSpace] = {}

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        return await seen_spaces(self._transport, self._spaces, keys)

    async def _spaces(self, keys: Sequence[str] | None) -> AsyncIterator[WikiSpace]:
        for some in in_lots(keys):
            query: Query = {"limit": _MOST} | ({"keys": ",".join(some)} if some else {})
            async for answer in parts(self._transport, "/api/v2/spaces", query, of=SpacePart):
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

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:
        return await self._pages.page(page_id, above=above)

    async def head(self, page_id: str) -> PageHead:
        return await self._pages.head(page_id)

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        return await self._pages.ancestors(page_id)

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        if space_key not in self._known:
            self._known |= {space.key: space for space in await self.spaces([space_key])}
        space = self._known.get(space_key)
        return await self._pages.titled(space, title) if space else None

    async def space_readers(self, space: WikiSpace) -> Subjects:
        path = f"/api/v2/spaces/{in_path(space.id)}/permissions"
        try:
            told = items(self._transport, path, {"limit": _MOST}, of=PermissionPart)
            return readers_of([permission async for permission in told])
        except NotVisible:
            return Subjects()

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        try:
            return await self._attachments("pages", page_id)
        except NotVisible:
            return await self._attachments("blogposts", page_id)

    async def _attachments(self, room: str, page_id: str) -> Sequence[WikiAttachment]:
        path = f"/api/v2/{room}/{in_path(page_id)}/attachments"
        found: dict[str, WikiAttachment] = {}
        query: Query = {"limit": _MOST, "status": "current"}
        async for answer in parts(self._transport, path, query, of=AttachmentPart):
            base = answer.value.links.base or str(self._transport.address.base)
            for each in answer.value.results:
                if each.status == "current":
                    found[each.id] = each.attachment(page_id, base=base)
        return tuple(found.values())

    def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        return attachments_in(self._transport, space)

    def including(self, space: WikiSpace) -> AsyncIterator[str]:
        return including(self._transport, space)

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        path = _download(attachment.page_id, attachment.id)
        return await download(self._transport, attachment, path=path, into=into, most=most)

    async def user(self, user_id: str) -> WikiUser:
        return await self._people.user(user_id)

    async def user_of(self, email: str) -> WikiUser | None:
        if not _PLAIN.fullmatch(email):
            return None
        words = " ".join(re.split(r"[^\w]+", email.partition("@")[0])).strip()
        queries = tuple(f"user.fullname ~ {in_cql(text)}" for text in (email, words) if text)
        return await by_email(self._transport, _SEARCH_PEOPLE, queries, email)

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        return await self._people.groups_of(user_id)

    async def group_named(self, name: str) -> WikiGroup | None:
        try:
            answer = await self._transport.get(
                "/rest/api/group/by-name", {"name": name}, shape=Group
            )
        except NotVisible:
            return None
        return answer.value.group()

    async def about(self) -> WikiAbout:
        return await about(self._transport)

    async def close(self) -> None:
        await self._transport.close()


def _download(page_id: str, attachment_id: str) -> str:
    """Return where a file is fetched, also behind the gateway, where web addresses do not work."""
    return (
        f"/rest/api/content/{in_path(page_id)}/child/attachment/{in_path(attachment_id)}/download"
    )

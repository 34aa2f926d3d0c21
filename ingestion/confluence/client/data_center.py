"""Read Confluence Data Center, whose only API is REST v1: list, search by CQL, read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, RootModel

from ingestion.confluence.client.payloads_v1 import (
    Content,
    ContentLinks,
    ContentPart,
    attachment_of,
    head_of,
    labels_of,
    page_kind,
)
from ingestion.confluence.client.rest_v1 import SEARCH, RestV1, download
from ingestion.confluence.client.transport import Part, Query, Transport, parts
from ingestion.confluence.client.urls import cql_quoted, key_batches, path_segment, web_address
from ingestion.confluence.wiki import (
    ChangedPages,
    PageHead,
    PageMarks,
    Subjects,
    WikiAttachment,
    WikiGroup,
    WikiPage,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import NotVisible, PageUnreadable, WikiUnavailable


class Space(BaseModel):
    """A space; its numeric id is not used in any request here."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    key: str
    name: str = ""
    status: str = "current"
    links: ContentLinks = Field(
        default_factory=lambda: ContentLinks.model_validate({}), alias="_links"
    )

    def space(self, *, base: str) -> WikiSpace:
        return WikiSpace(
            id=self.id,
            key=self.key,
            name=self.name,
            url=web_address(base, self.links.webui),
            archived=self.status.lower() == "archived",
        )


class Subject(BaseModel):
    """The subject of a permission: a user, a group, or anonymous users."""

    type: str = ""
    user_key: str | None = Field(None, alias="userKey")
    username: str | None = None
    name: str | None = None


class Operation(BaseModel):
    """The operation that a permission allows."""

    key: str = Field(alias="operationKey")
    target_type: str = Field(alias="targetType")


class Permission(BaseModel):
    """One permission of a space."""

    operation: Operation
    subject: Subject | None = None

    @property
    def reads(self) -> bool:
        return self.operation.key == "read" and self.operation.target_type == "space"


class SpacePermissions(RootModel[tuple[Permission, ...]]):
    """All permissions of a space; this response is not paged."""


SpacePart = Part[Space]


def space_viewers(permissions: Sequence[Permission]) -> Subjects:
    """Return the viewers of a space; subjects of other kinds are ignored."""
    named = [each.subject for each in permissions if each.reads and each.subject]
    users = {each.user_key or each.username or "" for each in named if _is_user(each)}
    return Subjects(
        users=frozenset(users - {""}),
        groups=frozenset(each.name for each in named if each.type == "group" and each.name),
        anyone=any(each.type == "anonymous" for each in named),
    )


def _is_user(subject: Subject) -> bool:
    return subject.type in {"user", "known"}


_MOST = 100
_HEAD = "version,ancestors,space"
_WHOLE = f"{_HEAD},body.storage,metadata.labels"
_KINDS = ("page", "blogpost")
_ANY_ZONE = timedelta(days=1)
"""CQL takes times in the time zone of the token's user, which the API does not return."""


def _listed_head(content: Content, *, base: str) -> PageHead:
    """Return a page head; one that cannot be parsed makes the whole listing unusable."""
    try:
        return head_of(content, base=base)
    except PageUnreadable as error:
        raise WikiUnavailable(str(error)) from error


class DataCenter(RestV1):
    """A Confluence Data Center site, where pages and blog posts are one resource.

    Implements ``ingestion.confluence.wiki.Wiki``.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, person_key="key", labels_of=self.labels, counted=True)
        self._scans = True

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        wanted = None if keys is None else sorted(set(keys))
        return await self._visible_spaces(self._spaces(wanted), wanted)

    async def _spaces(self, keys: Sequence[str] | None) -> AsyncIterator[WikiSpace]:
        for some in key_batches(keys):
            query: Query = {"limit": _MOST} | ({"spaceKey": list(some)} if some else {})
            async for answer in parts(
                self._transport, "/rest/api/space", query, of=SpacePart, counted=True
            ):
                base = answer.value.links.base or self._base
                for space in answer.value.results:
                    yield space.space(base=base)

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
            # The scan endpoint exists since 7.18.
            self._scans = False
        async for head, _ in self._heads("/rest/api/content", query, counted=True):
            yield head

    async def _heads(
        self, path: str, query: Query, *, counted: bool = False
    ) -> AsyncIterator[tuple[PageHead, datetime]]:
        """Yield page heads, each with the site's time of the request."""
        async for answer in parts(self._transport, path, query, of=ContentPart, counted=counted):
            base = answer.value.links.base or self._base
            for content in answer.value.results:
                if content.status == "current" and page_kind(content.type):
                    yield _listed_head(content, base=base), answer.asked_at

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return the pages edited since a time, newest first.

        The query reaches back one day further because its time zone is unknown; results are
        filtered by the time of their version.
        """
        cql = (
            f"space = {cql_quoted(space.key)} and type in (page, blogpost) "
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

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:  # noqa: ARG002 - at no cost here
        """Return a page or blog post with its text."""
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
        """Return the ids of a page's ancestors, outermost first."""
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
        path = f"/rest/api/content/{path_segment(page_id)}"
        query: Query = {"expand": expand, "status": "current"}
        content = (await self._transport.get(path, query, shape=Content)).value
        if content.status != "current" or page_kind(content.type) is None:
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

    def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        return self._marks.of_all(head.id async for head in self.heads(space))

    async def space_readers(self, space: WikiSpace) -> Subjects:
        """Return the viewers of the space; empty before 9.1, which has no endpoint for them."""
        path = f"/rest/api/space/{path_segment(space.key)}/permissions"
        try:
            answer = await self._transport.get(path, shape=SpacePermissions)
        except NotVisible:
            return Subjects()
        return space_viewers(answer.value.root)

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        path = f"/rest/api/content/{path_segment(page_id)}/child/attachment"
        query: Query = {"expand": "version", "limit": _MOST}
        found: dict[str, WikiAttachment] = {}
        async for answer in parts(self._transport, path, query, of=ContentPart, counted=True):
            base = answer.value.links.base or self._base
            told = (
                attachment_of(each, base=base, page_id=page_id) for each in answer.value.results
            )
            found |= {each.id: each for each in told if each is not None}
        return tuple(found.values())

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        path = attachment.download
        if not path.startswith("/download/") or "/../" in path:
            raise PageUnreadable(f"Confluence names no place where {attachment.name!r} is fetched.")
        return await download(self._transport, attachment, path=path, into=into, most=most)

    async def user_of(self, email: str) -> WikiUser | None:  # noqa: ARG002 - the port's
        """Return None: Data Center never returns e-mail addresses."""
        return None

    async def group_named(self, name: str) -> WikiGroup | None:
        return await self._group(f"/rest/api/group/{path_segment(name)}")

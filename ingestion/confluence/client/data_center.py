"""Read Confluence Data Center, whose only API is REST v1: list, search by CQL, read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel, Field, RootModel

from ingestion.confluence.client.payloads import (
    Content,
    ContentPart,
    Operation,
    attachment_of,
    head_of,
    labels_of,
    page_kind,
)
from ingestion.confluence.client.rest_v1 import SEARCH, RestV1, newest_first
from ingestion.confluence.client.transport import Query, Transport, parts
from ingestion.confluence.client.urls import cql_quoted, path_segment
from ingestion.confluence.wiki import (
    ChangedPages,
    Kind,
    PageHead,
    Subjects,
    WikiAttachment,
    WikiGroup,
    WikiPage,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import NotVisible, PageUnreadable, WikiUnavailable


class Subject(BaseModel):
    """The subject of a permission: a user, a group, or anonymous users."""

    type: str = ""
    user_key: str | None = Field(None, alias="userKey")
    username: str | None = None
    name: str | None = None


class Permission(BaseModel):
    """One permission of a space."""

    operation: Operation
    subject: Subject | None = None


class ServerInformation(BaseModel):
    """The server information of a Data Center since 9.1."""

    version: str = ""


class SpacePermissions(RootModel[tuple[Permission, ...]]):
    """All permissions of a space; this response is not paged."""


def space_viewers(permissions: Sequence[Permission]) -> Subjects:
    """Return the viewers of a space; subjects of other kinds are ignored."""
    named = [each.subject for each in permissions if each.operation.reads_space and each.subject]
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

    person_key = "key"
    counted = True

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._scans = True

    def _space_request(self, keys: Sequence[str]) -> tuple[str, Query]:
        return "/rest/api/space", {"limit": _MOST} | ({"spaceKey": list(keys)} if keys else {})

    async def _heads_of(self, space: WikiSpace, kind: Kind) -> AsyncIterator[PageHead]:
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
                async for head, _ in self._listed("/rest/api/content/scan", query):
                    begun = True
                    yield head
                return
        except NotVisible as error:
            if begun or error.forbidden:
                raise
            # The scan endpoint exists since 7.18.
            self._scans = False
        async for head, _ in self._listed("/rest/api/content", query, counted=True):
            yield head

    async def _listed(
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
        heads: list[PageHead] = []
        query: Query = {"cql": cql, "expand": _HEAD, "limit": _MOST}
        async for answer in parts(self._transport, SEARCH, query, of=ContentPart, counted=True):
            asked_at.append(answer.asked_at)
            base = answer.value.links.base or self._base
            told = [_listed_head(content, base=base) for content in answer.value.results]
            heads += [head for head in told if head.updated_at >= since]
            if told and told[-1].updated_at < since:
                break
        return newest_first(heads, asked_at[0])

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
            async for head, _ in self._listed("/rest/api/content", query):
                if head.title.casefold() == title.casefold():
                    return head
        except NotVisible:
            pass
        return None

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

    def _download_path(self, attachment: WikiAttachment) -> str:
        path = attachment.download
        if not path.startswith("/download/") or "/../" in path:
            raise PageUnreadable(f"Confluence names no place where {attachment.name!r} is fetched.")
        return path

    async def user_of(self, email: str) -> WikiUser | None:  # noqa: ARG002 - the port's
        """Return None: Data Center never returns e-mail addresses."""
        return None

    async def group_named(self, name: str) -> WikiGroup | None:
        return await self._group(f"/rest/api/group/{path_segment(name)}")

    async def _version(self) -> str:
        """Return the version, which is told since 9.1."""
        try:
            path = "/rest/api/server-information"
            return (await self._transport.get(path, shape=ServerInformation)).value.version
        except NotVisible:
            return ""

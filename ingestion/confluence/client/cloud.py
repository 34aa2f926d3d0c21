"""Read Confluence Cloud: REST v2 for content, REST v1 where v2 lacks an endpoint.

Pages and blog posts are separate resources in v2.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, TypeVar

from pydantic import AwareDatetime, BaseModel, Field

from ingestion.confluence.client.payloads import (
    Body,
    ContentLinks,
    Label,
    Labels,
    Operation,
    Person,
    Reference,
    SpacePart,
    labels_of,
    no_links,
)
from ingestion.confluence.client.rest_v1 import KINDS, PEOPLE_LIMIT, RestV1, newest_first
from ingestion.confluence.client.transport import Part, Query, Transport, items, parts
from ingestion.confluence.client.urls import cql_quoted, path_segment, web_address
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
    normalized_email,
)
from ingestion.errors import NotVisible, PageUnreadable

_ANONYMOUS = frozenset({"anonymous", "anonymous-users", "anonymous_users"})


class Version(BaseModel):
    """A version, its author and its time."""

    number: int
    created_at: AwareDatetime = Field(alias="createdAt")
    author_id: str | None = Field(None, alias="authorId")


class Page(BaseModel):
    """A page or a blog post; the latter has no parent."""

    id: str
    status: str
    title: str
    space_id: str = Field(alias="spaceId")
    version: Version
    parent_id: str | None = Field(None, alias="parentId")
    parent_type: str | None = Field(None, alias="parentType")
    body: Body | None = None
    labels: Labels | None = None
    links: ContentLinks = Field(default_factory=no_links, alias="_links")

    def head(self, kind: Kind, *, space_key: str, base: str) -> PageHead:
        return PageHead(
            id=self.id,
            kind=kind,
            title=self.title,
            space_key=space_key,
            parent_id=self.parent_id or None,
            version=self.version.number,
            updated_at=self.version.created_at,
            url=web_address(self.links.base or base, self.links.webui),
            parent_kind=self.parent_type or "page",
            updated_by=self.version.author_id or "",
        )


class Ancestors(BaseModel):
    """All ancestors of a page: pages, folders and others, outermost first."""

    results: tuple[Reference, ...]


class Attachment(BaseModel):
    """A file attached to a page."""

    id: str
    status: str = "current"
    title: str
    media_type: str = Field("", alias="mediaType")
    file_size: int = Field(0, alias="fileSize")
    version: Version
    links: ContentLinks = Field(default_factory=no_links, alias="_links")

    def attachment(self, page_id: str, *, base: str) -> WikiAttachment:
        return WikiAttachment(
            id=self.id,
            page_id=page_id,
            name=self.title,
            media_type=self.media_type,
            bytes=self.file_size,
            version=self.version.number,
            updated_at=self.version.created_at,
            url=web_address(base, self.links.webui),
            download=self.links.download,
        )


class Principal(BaseModel):
    """The principal of a permission."""

    type: str
    id: str | None = None


class Permission(BaseModel):
    """One permission of a space; a permission without a principal lets nobody in."""

    principal: Principal | None = None
    operation: Operation


class PersonHit(BaseModel):
    """A result of a user search."""

    user: Person | None = None


PagePart = Part[Page]
AttachmentPart = Part[Attachment]
PermissionPart = Part[Permission]
LabelPart = Part[Label]
HitPart = Part[PersonHit]


def space_viewers(permissions: list[Permission]) -> Subjects:
    """Return the viewers of a space.

    Roles and unknown kinds of principals let nobody in, which hides more, not less; except the role
    that is named for anonymous users.
    """
    named = [
        each.principal for each in permissions if each.operation.reads_space and each.principal
    ]
    others = [each for each in named if each.type not in {"user", "group"}]
    return Subjects(
        users=frozenset(each.id for each in named if each.type == "user" and each.id),
        groups=frozenset(each.id for each in named if each.type == "group" and each.id),
        anyone=any(_is_anyone(each) for each in others),
        unknown=frozenset(f"{one.type}/{one.id or ''}" for one in others if not _is_anyone(one)),
    )


def _is_anyone(principal: Principal) -> bool:
    return principal.type in _ANONYMOUS or (principal.id or "").lower() in _ANONYMOUS


Found = TypeVar("Found")

_MOST = 250
_NEWEST = 50
"""Page size of requests for changed pages: Confluence charges for each one returned."""

_DEEPEST = 40
_ROOMS: Mapping[Kind, str] = {"page": "pages", "blogpost": "blogposts"}
_ABOVE = frozenset({"page", "folder", "whiteboard", "database"})


async def _page_or_blogpost(of: Callable[[Kind], Awaitable[Found]]) -> Found:
    """Fetch content by an id that may belong to a page or to a blog post.

    Content that is neither, or hidden, raises the same error as a page would.
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


_PLAIN = re.compile(r"[^\s\"\\@]+@[^\s\"\\@]+")


class Cloud(RestV1):
    """A Confluence Cloud site. Implements ``ingestion.confluence.wiki.Wiki``.

    Caches space keys, because the API returns only space ids.
    """

    person_key = "accountId"
    counted: ClassVar = False

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._known: dict[str, WikiSpace] = {}
        self._keys: dict[str, str] = {}

    def _space_request(self, keys: Sequence[str]) -> tuple[str, Query]:
        return "/api/v2/spaces", {"limit": _MOST} | ({"keys": ",".join(keys)} if keys else {})

    async def _heads_of(self, space: WikiSpace, kind: Kind) -> AsyncIterator[PageHead]:
        async for heads, _ in self._listed(space, kind, {"limit": _MOST}):
            for head in heads:
                yield head

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return the pages edited since a time, newest first."""
        asked_at: list[datetime] = []
        heads: list[PageHead] = []
        for kind in KINDS:
            query: Query = {"sort": "-modified-date", "limit": _NEWEST}
            async for told, asked in self._listed(space, kind, query):
                asked_at.append(asked)
                newer = [head for head in told if head.updated_at >= since]
                heads += newer
                if len(newer) < len(told):
                    break
        return newest_first(heads, min(asked_at))

    async def _listed(
        self, space: WikiSpace, kind: Kind, query: Query
    ) -> AsyncIterator[tuple[list[PageHead], datetime]]:
        """Yield the page heads of each response, with the site's time of the request."""
        path = f"/api/v2/spaces/{path_segment(space.id)}/{_ROOMS[kind]}"
        # Without a status, archived pages are returned too.
        wanted: Query = {**query, "status": "current"}
        async for answer in parts(self._transport, path, wanted, of=PagePart):
            base = answer.value.links.base or self._base
            current = [page for page in answer.value.results if page.status == "current"]
            heads = [page.head(kind, space_key=space.key, base=base) for page in current]
            yield heads, answer.asked_at

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:
        """Return a page or blog post with its text; ``above`` costs a request for its ancestors."""
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
            path = f"/api/v2/{_ROOMS[kind]}/{path_segment(page_id)}"
            return kind, (await self._transport.get(path, query, shape=Page)).value

        kind, page = await _page_or_blogpost(of)
        if page.status != "current":
            raise NotVisible(f"Page {page_id} is {page.status}.")
        return kind, page

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        if space_key not in self._known:
            self._known |= {space.key: space for space in await self.spaces([space_key])}
        space = self._known.get(space_key)
        if space is None:
            return None
        query: Query = {"title": title, "space-id": space.id, "status": "current", "limit": 2}
        async for answer in parts(self._transport, "/api/v2/pages", query, of=PagePart):
            base = answer.value.links.base or self._base
            for page in answer.value.results:
                if page.title.casefold() == title.casefold() and page.status == "current":
                    return page.head("page", space_key=space.key, base=base)
        return None

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        """Return the ids of a page's ancestors, outermost first; blog posts have none."""
        try:
            return await self._above("page", page_id)
        except NotVisible:
            if (await self.head(page_id)).kind == "blogpost":
                return ()
            raise

    async def _above(self, kind: str, content_id: str) -> tuple[str, ...]:
        """Return the ids of the ancestors, with several requests where there are many."""
        above: tuple[str, ...] = ()
        for _ in range(_DEEPEST):
            path = f"/api/v2/{_room_above(kind, content_id)}/{path_segment(content_id)}/ancestors"
            answer = await self._transport.get(path, {"limit": _MOST}, shape=Ancestors)
            told = answer.value.results
            above = (*(each.id for each in told), *above)
            if len(told) < _MOST:
                return above
            kind, content_id = told[0].type, told[0].id
        raise PageUnreadable(f"Page {content_id} lies deeper than {_DEEPEST * _MOST} pages.")

    async def labels(self, page_id: str) -> tuple[str, ...]:
        """Return a page's labels; none for content such as folders that can't have any."""

        async def of(kind: Kind) -> tuple[str, ...]:
            path = f"/api/v2/{_ROOMS[kind]}/{path_segment(page_id)}/labels"
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

    async def space_readers(self, space: WikiSpace) -> Subjects:
        path = f"/api/v2/spaces/{path_segment(space.id)}/permissions"
        try:
            told = items(self._transport, path, {"limit": _MOST}, of=PermissionPart)
            return space_viewers([permission async for permission in told])
        except NotVisible:
            return Subjects()

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        try:
            return await self._attachments("pages", page_id)
        except NotVisible:
            return await self._attachments("blogposts", page_id)

    async def _attachments(self, room: str, page_id: str) -> Sequence[WikiAttachment]:
        path = f"/api/v2/{room}/{path_segment(page_id)}/attachments"
        found: dict[str, WikiAttachment] = {}
        query: Query = {"limit": _MOST, "status": "current"}
        async for answer in parts(self._transport, path, query, of=AttachmentPart):
            base = answer.value.links.base or self._base
            for each in answer.value.results:
                if each.status == "current":
                    found[each.id] = each.attachment(page_id, base=base)
        return tuple(found.values())

    def _download_path(self, attachment: WikiAttachment) -> str:
        """Return the API path of a download; web addresses do not work behind the gateway."""
        page, file = path_segment(attachment.page_id), path_segment(attachment.id)
        return f"/rest/api/content/{page}/child/attachment/{file}/download"

    async def user_of(self, email: str) -> WikiUser | None:
        """Return the only person who shows exactly this address; None also for several."""
        if not _PLAIN.fullmatch(email):
            return None
        words = " ".join(re.split(r"[^\w]+", email.partition("@")[0])).strip()
        for text in filter(None, (email, words)):
            found = await self._people(f"user.fullname ~ {cql_quoted(text)}")
            shown = [
                each
                for each in found.values()
                if normalized_email(each.email) == normalized_email(email)
            ]
            if shown:
                return shown[0] if len(shown) == 1 else None
        return None

    async def _people(self, cql: str) -> dict[str, WikiUser]:
        query: Query = {"cql": cql, "limit": PEOPLE_LIMIT}
        hits = items(self._transport, "/rest/api/search/user", query, of=HitPart)
        people = [hit.user async for hit in hits if hit.user is not None]
        return {person.id: person.user() for person in people if person.id}

    async def group_named(self, name: str) -> WikiGroup | None:
        return await self._group("/rest/api/group/by-name", {"name": name})

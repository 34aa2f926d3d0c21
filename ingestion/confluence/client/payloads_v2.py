"""Payloads of Cloud's REST v2, and their conversion to our values. Pure."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field

from ingestion.confluence.client.payloads_v1 import (
    Body,
    ContentLinks,
    Label,
    Labels,
    Operation,
    Reference,
    no_links,
)
from ingestion.confluence.client.transport import Part
from ingestion.confluence.client.urls import web_address
from ingestion.confluence.wiki import Kind, PageHead, Subjects, WikiAttachment

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


PagePart = Part[Page]
AttachmentPart = Part[Attachment]
PermissionPart = Part[Permission]
LabelPart = Part[Label]


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

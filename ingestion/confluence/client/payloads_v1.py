"""Payloads of REST v1, alike on both editions, and their conversion to our values. Pure.

Unknown fields are ignored; what is needed and missing is an error that names it.
"""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field

from ingestion.confluence.client.transport import Links, Part
from ingestion.confluence.client.urls import web_address
from ingestion.confluence.wiki import (
    Kind,
    PageHead,
    PageMarks,
    Subjects,
    WikiAttachment,
    WikiGroup,
    WikiUser,
)
from ingestion.errors import PageUnreadable


class Person(BaseModel):
    """A person: by ``accountId`` on Cloud, by ``userKey`` on Data Center."""

    account_id: str | None = Field(None, alias="accountId")
    user_key: str | None = Field(None, alias="userKey")
    username: str | None = None
    display_name: str = Field("", alias="displayName")
    public_name: str = Field("", alias="publicName")
    email: str | None = None

    @property
    def id(self) -> str:
        return self.account_id or self.user_key or self.username or ""

    def user(self) -> WikiUser:
        name = self.display_name or self.public_name or self.username or ""
        return WikiUser(id=self.id, name=name, email=self.email or "")


class Group(BaseModel):
    """A group; Data Center has no id for it but the name."""

    id: str | None = None
    name: str = ""

    @property
    def key(self) -> str:
        return self.id or self.name

    def group(self) -> WikiGroup:
        return WikiGroup(id=self.key, name=self.name)


class People(BaseModel):
    """Those named; more than ``limit`` come in parts."""

    results: tuple[Person, ...]
    limit: int = 200


class Groups(BaseModel):
    """The groups named; as People."""

    results: tuple[Group, ...]
    limit: int = 200


class NamedSubjects(BaseModel):
    """Who is named by a restriction. Both must be there: else it was not asked for, or kept."""

    user: People
    group: Groups

    @property
    def last(self) -> bool:
        """Whether nobody comes after these."""
        return all(len(each.results) < each.limit for each in (self.user, self.group))

    @property
    def step(self) -> int:
        """How many of each were asked for."""
        return max(1, min(self.user.limit, self.group.limit))

    def subjects(self) -> Subjects:
        return Subjects(
            users=frozenset(person.id for person in self.user.results if person.id),
            groups=frozenset(group.key for group in self.group.results if group.key),
        )

    @property
    def unnamed(self) -> bool:
        """Whether somebody is named without an id: who that is can't be told."""
        return not (
            all(person.id for person in self.user.results)
            and all(group.key for group in self.group.results)
        )


class Restriction(BaseModel):
    """A restriction of one operation."""

    restrictions: NamedSubjects


class Restrictions(BaseModel):
    """The restrictions of a page that were asked for."""

    read: Restriction | None = None


class Label(BaseModel):
    """A label; ``prefix`` is "global" for those that everybody sees."""

    name: str
    prefix: str = "global"


class Labels(BaseModel):
    """Labels."""

    results: tuple[Label, ...]


class Metadata(BaseModel):
    """What a page carries beside its text."""

    labels: Labels | None = None
    media_type: str = Field("", alias="mediaType")


class Version(BaseModel):
    """A version, and who made it when."""

    number: int
    when: AwareDatetime
    by: Person | None = None


class Reference(BaseModel):
    """Something by its id."""

    id: str
    type: str = "page"


class InSpace(BaseModel):
    """The space of a page."""

    key: str


class Storage(BaseModel):
    """Text in storage format."""

    value: str


class Body(BaseModel):
    """A page's text, in the formats that were asked for."""

    storage: Storage | None = None


class Extensions(BaseModel):
    """What an attachment carries."""

    media_type: str = Field("", alias="mediaType")
    file_size: int = Field(0, alias="fileSize")


class ContentLinks(Links):
    """Where content is seen, and fetched."""

    webui: str = ""
    download: str = ""


class Content(BaseModel):
    """A page, a blog post or an attachment; what was not expanded is None."""

    id: str
    type: str
    status: str = "current"
    title: str = ""
    space: InSpace | None = None
    version: Version | None = None
    ancestors: tuple[Reference, ...] | None = None
    container: Reference | None = None
    body: Body | None = None
    metadata: Metadata | None = None
    restrictions: Restrictions | None = None
    extensions: Extensions | None = None
    links: ContentLinks = Field(
        default_factory=lambda: ContentLinks.model_validate({}), alias="_links"
    )


ContentPart = Part[Content]
GroupPart = Part[Group]


def labels_of(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return the labels that everybody sees, in order."""
    return tuple(sorted({label.name for label in labels if label.prefix == "global"}))


def page_kind(content_type: str) -> Kind | None:
    """Return which kind of page it is; None for what is none."""
    match content_type:
        case "page":
            return "page"
        case "blogpost":
            return "blogpost"
        case _:
            return None


def marks_of(content: Content) -> PageMarks | None:
    """Return restrictions and labels; None where the answer does not hold all of them."""
    restrictions, metadata = content.restrictions, content.metadata
    if restrictions is None or restrictions.read is None or metadata is None:
        return None
    named = restrictions.read.restrictions
    if metadata.labels is None or not named.last or named.unnamed:
        return None
    return PageMarks(
        id=content.id, readers=named.subjects(), labels=labels_of(metadata.labels.results)
    )


def head_of(content: Content, *, base: str) -> PageHead:
    """Return a page's head. Raises PageUnreadable, which names what is missing."""
    kind = page_kind(content.type)
    if kind is None:
        raise PageUnreadable(f"{content.id} is no page but {content.type!r}.")
    if content.space is None or content.version is None or content.ancestors is None:
        raise PageUnreadable(
            f"Confluence does not say space, version and place of page {content.id}."
        )
    parent = content.ancestors[-1] if content.ancestors else None
    return PageHead(
        id=content.id,
        kind=kind,
        title=content.title,
        space_key=content.space.key,
        parent_id=parent.id if parent else None,
        version=content.version.number,
        updated_at=content.version.when,
        url=web_address(content.links.base or base, content.links.webui),
        parent_kind=parent.type if parent else "page",
        updated_by=content.version.by.id if content.version.by else "",
    )


def attachment_of(content: Content, *, base: str, page_id: str = "") -> WikiAttachment | None:
    """Return an attachment; None for one that is not current, or is on nothing."""
    on = content.container.id if content.container else page_id
    if content.status != "current" or content.version is None or not on:
        return None
    extensions = content.extensions or Extensions.model_validate({})
    media_type = extensions.media_type or (content.metadata.media_type if content.metadata else "")
    return WikiAttachment(
        id=content.id,
        page_id=on,
        name=content.title,
        media_type=media_type,
        bytes=extensions.file_size,
        version=content.version.number,
        updated_at=content.version.when,
        url=web_address(content.links.base or base, content.links.webui),
        download=content.links.download,
    )

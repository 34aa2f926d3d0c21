"""Payloads of REST v1, and of v2 where they are alike, and their conversion to our values. Pure.

Unknown fields are ignored; a missing required field raises an error that names it.
"""

from __future__ import annotations

from pydantic import AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field

from ingestion.confluence.client.transport import Links, Part
from ingestion.confluence.client.urls import web_address
from ingestion.confluence.wiki import (
    Kind,
    PageHead,
    PageMarks,
    Subjects,
    WikiAttachment,
    WikiGroup,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import PageUnreadable


class Person(BaseModel):
    """A person, identified by ``accountId`` on Cloud and by ``userKey`` on Data Center."""

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
    """A group; on Data Center its name is its only id."""

    id: str | None = None
    name: str = ""

    @property
    def key(self) -> str:
        return self.id or self.name

    def group(self) -> WikiGroup:
        return WikiGroup(id=self.key, name=self.name)


class People(BaseModel):
    """The users of a restriction; more than ``limit`` are returned in parts."""

    results: tuple[Person, ...]
    limit: int = 200


class Groups(BaseModel):
    """The groups of a restriction; paged as People."""

    results: tuple[Group, ...]
    limit: int = 200


class NamedSubjects(BaseModel):
    """The users and groups of a restriction; both required: a missing one was not expanded."""

    user: People
    group: Groups

    @property
    def last(self) -> bool:
        """Return whether this is the last part."""
        return all(len(each.results) < each.limit for each in (self.user, self.group))

    @property
    def step(self) -> int:
        """Return the page size of users and groups."""
        return max(1, min(self.user.limit, self.group.limit))

    def subjects(self) -> Subjects:
        return Subjects(
            users=frozenset(person.id for person in self.user.results if person.id),
            groups=frozenset(group.key for group in self.group.results if group.key),
        )

    @property
    def unnamed(self) -> bool:
        """Return whether a user or group has no id, and so cannot be identified."""
        return not (
            all(person.id for person in self.user.results)
            and all(group.key for group in self.group.results)
        )


class Restriction(BaseModel):
    """A restriction of one operation."""

    restrictions: NamedSubjects


class Restrictions(BaseModel):
    """The restrictions of a page that the request expanded."""

    read: Restriction | None = None


class Label(BaseModel):
    """A label; ``prefix`` is "global" for labels that everybody sees."""

    name: str
    prefix: str = "global"


class LabelsMeta(BaseModel):
    """Whether there are more labels than the response holds; v1 always returns all."""

    has_more: bool = Field(default=False, alias="hasMore")


class Labels(BaseModel):
    """A list of labels."""

    results: tuple[Label, ...]
    meta: LabelsMeta = Field(default_factory=lambda: LabelsMeta.model_validate({}))


class Metadata(BaseModel):
    """The metadata of a page."""

    labels: Labels | None = None
    media_type: str = Field("", alias="mediaType")


class Version(BaseModel):
    """A version, its author and its time."""

    number: int
    when: AwareDatetime
    by: Person | None = None


class Reference(BaseModel):
    """A reference to content by its id."""

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
    """The extension fields of an attachment."""

    media_type: str = Field("", alias="mediaType")
    file_size: int = Field(0, alias="fileSize")


class ContentLinks(Links):
    """Links to the web address and the download of content."""

    webui: str = ""
    download: str = ""


def no_links() -> ContentLinks:
    """Return the links of what came without any."""
    return ContentLinks.model_validate({})


class Space(BaseModel):
    """A space; requests of v2 take its id, those of v1 its key."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    key: str
    name: str = ""
    status: str = "current"
    links: ContentLinks = Field(default_factory=no_links, alias="_links")

    def space(self, *, base: str) -> WikiSpace:
        return WikiSpace(
            id=self.id,
            key=self.key,
            name=self.name,
            url=web_address(base, self.links.webui),
            archived=self.status.lower() == "archived",
        )


class Operation(BaseModel):
    """The operation that a permission allows."""

    key: str = Field(validation_alias=AliasChoices("key", "operationKey"))
    target_type: str = Field(alias="targetType")

    @property
    def reads_space(self) -> bool:
        return self.key == "read" and self.target_type == "space"


class Content(BaseModel):
    """A page, a blog post or an attachment; fields that were not expanded are None."""

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
    links: ContentLinks = Field(default_factory=no_links, alias="_links")


SpacePart = Part[Space]
ContentPart = Part[Content]
GroupPart = Part[Group]


def labels_of(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return the global labels, in order."""
    return tuple(sorted({label.name for label in labels if label.prefix == "global"}))


def page_kind(content_type: str) -> Kind | None:
    """Return the kind of page of a content type; None for content that is no page."""
    match content_type:
        case "page":
            return "page"
        case "blogpost":
            return "blogpost"
        case _:
            return None


def marks_of(content: Content) -> PageMarks | None:
    """Return restrictions and labels; None where the response does not hold all of them."""
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
    """Return a page's head. Raises PageUnreadable, which names the missing field."""
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
    """Return an attachment; None for one that is not current or has no page."""
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

"""The shapes of what both editions answer alike (REST v1).

Unknown fields are ignored; what is needed and missing is an error that names it.
"""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field

from ingestion.confluence.client.paging import Links, Part
from ingestion.confluence.types import (
    Subjects,
    WikiGroup,
    WikiUser,
)


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


class Named(BaseModel):
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

    restrictions: Named


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

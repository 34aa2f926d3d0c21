"""What Confluence says, in one shape for Cloud and Data Center; all frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["page", "blogpost"]


@dataclass(frozen=True, slots=True)
class WikiSpace:
    """A space that the token can see. ``id`` is what the API wants; ``key`` is what people write.

    ``archived`` spaces are told and never read.
    """

    id: str
    key: str
    name: str
    url: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class PageHead:
    """A current page or blog post without its text.

    ``parent_id`` is None at the top of a space. On Cloud a parent may be a folder, a whiteboard or
    a database: ``parent_kind`` says so. ``updated_by`` is a user's id, "" when unknown.
    """

    id: str
    kind: Kind
    title: str
    space_key: str
    parent_id: str | None
    version: int
    updated_at: datetime
    url: str
    parent_kind: str = "page"
    updated_by: str = ""


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page with its text in storage format (XHTML), as of ``head.version``.

    ``ancestors`` are the ids of what it hangs under, outermost first, as Confluence says them.
    """

    head: PageHead
    storage: str
    labels: tuple[str, ...]
    ancestors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subjects:
    """Users and groups by id. On Data Center a group's id is its name.

    ``anyone``: people who are not signed in as well. ``unknown`` are principals of kinds whose
    members are not known here, as ``role/all-licensed-users``; they let nobody in.
    """

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    anyone: bool = False
    unknown: frozenset[str] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether nobody is named. As a *restriction* that means: no restriction at this layer."""
        return not (self.users or self.groups or self.anyone)

    def joined(self, more: Subjects) -> Subjects:
        """Return those named by either."""
        return Subjects(
            users=self.users | more.users,
            groups=self.groups | more.groups,
            anyone=self.anyone or more.anyone,
            unknown=self.unknown | more.unknown,
        )


@dataclass(frozen=True, slots=True)
class PageMarks:
    """What can change on a page without a new version: who is named to read it, and labels."""

    id: str
    readers: Subjects
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WikiAttachment:
    """A file on a page. ``download`` is where it is fetched, relative to the site."""

    id: str
    page_id: str
    name: str
    media_type: str
    bytes: int
    version: int
    updated_at: datetime
    url: str
    download: str


@dataclass(frozen=True, slots=True)
class WikiUser:
    """A person there. ``email`` is "" where it is hidden, which Cloud does by default."""

    id: str
    name: str
    email: str = ""


@dataclass(frozen=True, slots=True)
class WikiGroup:
    """A group. On Data Center ``id`` is the name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ChangedPages:
    """What was changed since a moment, newest first.

    ``asked_at`` is the site's own time when it was asked: the next question's ``since``.
    """

    heads: tuple[PageHead, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class WikiAbout:
    """What a site says of itself, and who it takes the token for.

    ``version`` is "" where it is not told: by Cloud, which has none, and by Data Center before
    9.1. ``account`` is None where the token counts for nobody. ``asked_at`` is the site's own time.
    """

    edition: Literal["cloud", "data-center"]
    base: str
    version: str
    account: WikiUser | None
    asked_at: datetime

"""The Confluence that ingestion reads: the Wiki port and its frozen values.

Cloud and Data Center implement it alike, in one shape.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

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


class Wiki(Protocol):
    """A Confluence site, read with one token.

    Every method raises WikiUnavailable, WikiRefused or EndpointGone; those about one thing raise
    NotVisible when it answers 403 or 404. Requests that may help are tried again inside.
    """

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        """Return the spaces that the token can see, those of ``keys`` alone where given."""
        ...

    def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        """Yield every current page and blog post of a space, each once, in no promised order."""
        ...

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return what was created or edited at or after ``since``; the caller adds the overlap.

        Moves, deletions, labels and restrictions are no edits: only ``heads`` and ``marks`` show
        them.
        """
        ...

    def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        """Yield restrictions and labels of every current page and blog post, many a request.

        A page whose restrictions can't be read is left out; the caller takes that for nobody.
        """
        ...

    async def marks_of(self, page_id: str) -> PageMarks:
        """Return one page's restrictions and labels."""
        ...

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:
        """Return a current page or blog post whole; a trashed or archived one is NotVisible.

        Without ``above`` its ancestors may be left out, where they cost a request.
        """
        ...

    async def head(self, page_id: str) -> PageHead:
        """Return a current page or blog post without its text; else as ``page``."""
        ...

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        """Return the ids of what a page hangs under, outermost first, folders and such included."""
        ...

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        """Return the current page with a title, for links and includes."""
        ...

    async def space_readers(self, space: WikiSpace) -> Subjects:
        """Return who may view the space; empty when that can't be read, which means nobody."""
        ...

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        """Return a page's current attachments."""
        ...

    def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        """Yield the current attachments of all pages of a space, many a request."""
        ...

    def including(self, space: WikiSpace) -> AsyncIterator[str]:
        """Yield the ids of current pages with an include or excerpt-include macro.

        By the site's search (CQL ``macro in (...)``), which may lag a little behind.
        """
        ...

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        """Write an attachment to a file and return its bytes.

        Raises PageUnreadable when there are more than ``most``, before they are all fetched.
        """
        ...

    async def user(self, user_id: str) -> WikiUser: ...

    async def user_of(self, email: str) -> WikiUser | None:
        """Return the one person who shows this address; None for nobody or several."""
        ...

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        """Return the groups that a person is in."""
        ...

    async def group_named(self, name: str) -> WikiGroup | None: ...

    async def close(self) -> None: ...


class WikiSite(Wiki, Protocol):
    """A Wiki that tells of itself; for those who set it up."""

    async def about(self) -> WikiAbout:
        """Return edition, version, account and time."""
        ...


def normalized_email(email: str) -> str:
    """Return an address in small letters, and no further.

    Letters that only look or sort alike stay apart: with ``ß`` and with ``ss`` these are two
    domains, of two owners.
    """
    return "".join(map(_lower_letter, email.strip()))


def _lower_letter(letter: str) -> str:
    # The sign for kelvin is a k in small letters, but no k is that sign in capitals.
    small = letter.lower()
    return small if small.upper() == letter else letter

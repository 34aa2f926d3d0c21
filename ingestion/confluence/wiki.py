"""Define the Wiki port through which ingestion reads Confluence, and its frozen values.

Cloud and Data Center implement it in the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from ingestion.errors import WikiUnavailable

Kind = Literal["page", "blogpost"]


@dataclass(frozen=True, slots=True)
class WikiSpace:
    """A space that the token can see. ``id`` is what the API uses; ``key`` is what people write.

    ``archived`` spaces are listed and never read.
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

    ``ancestors`` are the ids of its ancestors, outermost first, as Confluence returns them.
    """

    head: PageHead
    storage: str
    labels: tuple[str, ...]
    ancestors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subjects:
    """Users and groups by id. On Data Center a group's id is its name.

    ``anyone``: includes anonymous users. ``unknown`` are principals of kinds whose members cannot
    be resolved, as ``role/all-licensed-users``; they let nobody in.
    """

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    anyone: bool = False
    unknown: frozenset[str] = frozenset()

    @property
    def empty(self) -> bool:
        """Return whether nobody is named. For a *restriction* that means: none at this layer."""
        return not (self.users or self.groups or self.anyone)

    def joined(self, more: Subjects) -> Subjects:
        """Return the union of both."""
        return Subjects(
            users=self.users | more.users,
            groups=self.groups | more.groups,
            anyone=self.anyone or more.anyone,
            unknown=self.unknown | more.unknown,
        )


@dataclass(frozen=True, slots=True)
class PageMarks:
    """What can change on a page without a new version: the readers that it names, and labels."""

    id: str
    readers: Subjects
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WikiAttachment:
    """A file on a page. ``download`` is its download address, relative to the site."""

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
    """A Confluence user. ``email`` is "" where it is hidden, which is Cloud's default."""

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
    """The pages changed since a moment, newest first.

    ``asked_at`` is the site's own time of the request: the next request's ``since``.
    """

    heads: tuple[PageHead, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class WikiAbout:
    """The site's own information, and the account of the token.

    ``version`` is "" where it is not returned: by Cloud, which has none, and by Data Center before
    9.1. ``account`` is None for an anonymous token. ``asked_at`` is the site's own time.
    """

    edition: Literal["cloud", "data-center"]
    base: str
    version: str
    account: WikiUser | None
    asked_at: datetime


class Wiki(Protocol):
    """A Confluence site, read with one token.

    Every method raises WikiUnavailable, WikiRefused or EndpointGone; those about one resource raise
    NotVisible when the site answers 403 or 404. Implementations retry transient failures.
    """

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        """Return the spaces that the token can see, only those of ``keys`` where given."""
        ...

    def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        """Yield every current page and blog post of a space, each once, in undefined order."""
        ...

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        """Return the pages created or edited at or after ``since``; the caller adds the overlap.

        Moves, deletions, labels and restrictions are no edits: only ``heads`` and ``marks`` show
        them.
        """
        ...

    def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        """Yield restrictions and labels of every current page and blog post, many per request.

        A page whose restrictions can't be read is left out; the caller must treat it as readable by
        nobody.
        """
        ...

    async def marks_of(self, page_id: str) -> PageMarks:
        """Return one page's restrictions and labels."""
        ...

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:
        """Return a current page or blog post with its text; NotVisible if trashed or archived.

        Without ``above`` its ancestors may be left out, where they cost a request.
        """
        ...

    async def head(self, page_id: str) -> PageHead:
        """Return a current page or blog post without its text; otherwise as ``page``."""
        ...

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        """Return the ids of a page's ancestors (pages, folders and others), outermost first."""
        ...

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        """Return the current page with a title, for links and includes."""
        ...

    async def space_readers(self, space: WikiSpace) -> Subjects:
        """Return the viewers of the space; empty when they can't be read, which means nobody."""
        ...

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        """Return a page's current attachments."""
        ...

    def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        """Yield the current attachments of all pages of a space, many per request."""
        ...

    def including(self, space: WikiSpace) -> AsyncIterator[str]:
        """Yield the ids of current pages with an include or excerpt-include macro.

        By the site's search (CQL ``macro in (...)``), which may lag a little behind.
        """
        ...

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        """Download an attachment into a file and return its bytes.

        Raises PageUnreadable when there are more than ``most``, before all are downloaded.
        """
        ...

    async def user(self, user_id: str) -> WikiUser: ...

    async def user_of(self, email: str) -> WikiUser | None:
        """Return the only person who shows this address; None for nobody or several."""
        ...

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        """Return the groups that a person is in."""
        ...

    async def group_named(self, name: str) -> WikiGroup | None: ...

    async def close(self) -> None: ...


def normalized_email(email: str) -> str:
    """Return an address in lower case, without any further folding.

    Letters that only look or sort alike stay distinct: with ``ß`` and with ``ss`` these are two
    domains, of two owners.
    """
    return "".join(map(_lower_letter, email.strip()))


def _lower_letter(letter: str) -> str:
    # The Kelvin sign lower-cases to k, but k does not upper-case to the Kelvin sign.
    small = letter.lower()
    return small if small.upper() == letter else letter


_MOST_IN_A_ROW = 20


class FailureStreak:
    """Counts consecutive failures and tolerates a limited number of them."""

    def __init__(self, most: int = _MOST_IN_A_ROW) -> None:
        self._most = most
        self._in_a_row = 0

    def count(self, error: WikiUnavailable) -> None:
        """Record a failure. Raises it when the limit is exceeded."""
        self._in_a_row += 1
        if self._in_a_row >= self._most:
            raise error

    def reset(self) -> None:
        """Record a success, which ends the streak."""
        self._in_a_row = 0

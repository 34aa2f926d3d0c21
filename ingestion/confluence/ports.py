"""What ingestion needs of a Confluence, as Protocols; Cloud and Data Center implement it alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ingestion.confluence.types import (
    ChangedPages,
    PageHead,
    PageMarks,
    Subjects,
    WikiAbout,
    WikiAttachment,
    WikiGroup,
    WikiPage,
    WikiSpace,
    WikiUser,
)


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

"""A Confluence site in memory: what people do there, and who may read what afterwards.

Only ``edit`` touches a version: moves, labels, restrictions, archiving and files don't, there as
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from mimetypes import guess_type

from tests.confluence.content import Attachment, Content, ContentKind, Named, Status
from tests.confluence.oracle import Oracle
from tests.confluence.society import ADMIN, Society
from tests.confluence.state import TITLES

__all__ = ["ADMIN", "Site"]


@dataclass
class Site(Society):
    """A wiki with everything that changes in it (see State for its time and its names)."""

    # Pages

    def create(
        self,
        space: str,
        title: str,
        storage: str = "<p></p>",
        *,
        parent: str | None = None,
        kind: ContentKind = "page",
        by: str = ADMIN,
        labels: Iterable[str] = (),
        status: Status = "current",
    ) -> Content:
        """Write a page, blog post or folder; a folder is one of ``kind`` and has no text."""
        assert parent is None or self.contents[parent].space == space
        assert self.titled(space, title, kind) is None, f"{space} has a {title!r} already"
        now = self.changed(TITLES)
        made = Content(
            id=self.next_id(),
            kind=kind,
            space=self.spaces[space].key,
            title=title,
            storage=storage,
            parent=parent,
            author=by,
            created=now,
            updated=now,
            updated_by=by,
            status=status,
            labels=list(labels),
        )
        made.position = made.number
        self.contents[made.id] = made
        if status == "current":
            self.keeping(TITLES, self._titles)[space, kind, title] = made
        return made

    def edit(
        self,
        page: str,
        storage: str | None = None,
        *,
        title: str | None = None,
        by: str = ADMIN,
        minor: bool = False,
    ) -> Content:
        """Write a new version."""
        content = self.contents[page]
        taken = self.titled(content.space, title, content.kind) if title else None
        assert taken in (None, content), f"{content.space} has a {title!r} already"
        content.updated = self.changed() if title else self.changed(TITLES)
        content.updated_by = by
        content.version += 1
        content.minor = minor
        content.storage = content.storage if storage is None else storage
        content.title = title or content.title
        return content

    def move(self, page: str, parent: str | None, *, space: str | None = None) -> None:
        """Hang a page and all below it elsewhere; ``space`` is needed where there's no parent."""
        content = self.contents[page]
        below = self.below(page)
        assert parent != page, "a page can't hang under itself"
        assert parent not in {c.id for c in below}, "nor under what hangs under it"
        target = self.contents[parent].space if parent else space or content.space
        content.parent = parent
        for moved in (content, *below):
            moved.space = self.spaces[target].key
        self.changed()

    def trash(self, page: str, *, below: bool = False) -> None:
        """Delete a page; what is ``below`` goes too, or else moves up to its parent."""
        self._retire(page, "trashed", below=below)

    def archive(self, page: str, *, below: bool = False) -> None:
        self._retire(page, "archived", below=below)

    def restore(self, page: str) -> None:
        """Bring a page back from the trash or the archive, to where it was if that is there."""
        content = self.contents[page]
        content.status = "current"
        parent = self.contents.get(content.parent or "")
        if parent is None or parent.status != "current":
            content.parent = None
        self.changed()

    def purge(self, page: str) -> None:
        """Remove a page for ever; nobody can ask for it any more."""
        self._lift_children(page)
        del self.contents[page]
        self.changed()

    def label(self, page: str, *labels: str) -> None:
        kept = self.contents[page].labels
        kept += [label for label in labels if label not in kept]
        self.changed(TITLES)

    def unlabel(self, page: str, *labels: str) -> None:
        content = self.contents[page]
        content.labels = [label for label in content.labels if label not in labels]
        self.changed(TITLES)

    def restrict(
        self, page: str, *, users: Collection[str] = (), groups: Collection[str] = ()
    ) -> None:
        """Name who alone may read a page, as far as what is above it and the space let them."""
        self.contents[page].readers = Named(set(users), set(groups))
        self.changed(TITLES)

    def unrestrict(self, page: str) -> None:
        self.restrict(page)

    # Files

    def attach(
        self,
        page: str,
        name: str,
        content: bytes,
        *,
        size: int | None = None,
        media_type: str = "",
        by: str = ADMIN,
    ) -> Attachment:
        """Put a file on a page; one of the same name gets a new version.

        ``size`` bytes are handed out, ``content`` over and over; by default all of it, once.
        """
        now = self.changed(TITLES)
        files = self.contents[page].attachments
        old = next((file for file in files.values() if file.name == name), None)
        file = Attachment(
            id=old.id if old else f"att{self.next_id()}",
            page=page,
            name=name,
            media_type=media_type or guess_type(name)[0] or "application/octet-stream",
            content=content,
            size=len(content) if size is None else size,
            version=old.version + 1 if old else 1,
            updated=now,
            author=by,
        )
        files[file.id] = file
        return file

    def detach(self, attachment: str) -> None:
        del self.contents[self.attachment(attachment).page].attachments[attachment]
        self.changed()

    def _retire(self, page: str, status: Status, *, below: bool) -> None:
        if below:
            for content in self.below(page):
                content.status = status
        else:
            self._lift_children(page)
        self.contents[page].status = status
        self.changed()

    def _lift_children(self, page: str) -> None:
        """Hang what is under a page under its parent, as Confluence does when one goes."""
        for content in self.children(page):
            content.parent = self.contents[page].parent

    # Who may read what

    def may_read(self, person: str | None, page: str, everyone: Collection[str] = ()) -> bool:
        """Say whether somebody may read a current page; None is somebody not signed in.

        Everybody counts as a member of the groups of ``everyone``. An attachment is read as
        its page: ``ID/att…`` is taken too.
        """
        content = self.contents.get(page.partition("/")[0])
        if content is None or not self.is_current(content):
            return False
        return self.oracle.permits(person, content, everyone)

    def readable(self, person: str | None, everyone: Collection[str] = ()) -> set[str]:
        """Return the ids of all current pages and blog posts that somebody may read."""
        return {c.id for c in self.current() if self.oracle.permits(person, c, everyone)}

    @property
    def oracle(self) -> Oracle:
        return Oracle(self.spaces, self.contents, self.groups)

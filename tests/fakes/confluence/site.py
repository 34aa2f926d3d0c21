"""A Confluence site in memory: what people do there, and who may read what afterwards.

``Oracle`` is the rule that the product is held against, written without looking at the product.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count
from mimetypes import guess_type
from typing import Any, TypeVar

from tests.fakes.confluence.content import (
    Attachment,
    Content,
    ContentKind,
    Group,
    Named,
    Person,
    Space,
    Status,
)


@dataclass(frozen=True)
class Oracle:
    """The site's state, asked for permissions. ``person`` None is somebody not signed in."""

    spaces: Mapping[str, Space]
    contents: Mapping[str, Content]
    groups: Mapping[str, Group]

    def permits(self, person: str | None, content: Content, everyone: Collection[str] = ()) -> bool:
        """Say whether someone may see a thing, whatever its status.

        Groups of ``everyone`` count as if everybody were in them.
        """
        if not self.may_view(self.spaces[content.space].readers, person, everyone):
            return False
        layer: Content | None = content
        while layer is not None:
            restricted = not layer.readers.empty
            if restricted and not self.may_view(layer.readers, person, everyone):
                return False
            layer = self.contents.get(layer.parent) if layer.parent else None
        return True

    def may_view(self, named: Named, person: str | None, everyone: Collection[str] = ()) -> bool:
        """Say whether somebody is among the named, by name or by group."""
        if named.anonymous or any(group in named.groups for group in everyone):
            return True
        if person is None:
            return False
        return person in named.users or any(
            person in self.groups[name].members for name in named.groups if name in self.groups
        )


T = TypeVar("T")
TITLES = "titles"
"""What is kept under this is which page has which title."""


@dataclass
class SiteState:
    """One company's wiki. Pages are named by id, people by handle, groups by name.

    Every change takes ``step`` of the site's own time, so that no two happen at once. ``zone``
    is the server's: Data Center's dates and every CQL date are in it. ``unexpected`` lists what
    was asked that no Confluence knows.
    """

    now: datetime = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
    step: timedelta = timedelta(seconds=1)
    zone: tzinfo = UTC
    spaces: dict[str, Space] = field(default_factory=dict)
    contents: dict[str, Content] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    revision: int = 0
    _ids: count[int] = field(default_factory=lambda: count(65_601))
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def keeping(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made under a key since the last change, or make it."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def titled(self, space: str, title: str, kind: ContentKind = "page") -> Content | None:
        """Return the current page with a title, as links name it."""
        return self.keeping(TITLES, self._titles).get((space, kind, title))

    def children(self, page: str) -> list[Content]:
        """Return what hangs right under a page, whatever its status, in order."""
        return self.keeping("children", self._children).get(page, [])

    def below(self, page: str) -> list[Content]:
        """Return everything that hangs under a page, parents first."""
        found = list(self.children(page))
        for content in found:
            found += self.children(content.id)
        return found

    def ancestors(self, page: str) -> list[Content]:
        """Return what a page hangs under, outermost first."""
        above: list[Content] = []
        at = self.contents[page].parent
        while at is not None:
            above.append(self.contents[at])
            at = self.contents[at].parent
        return above[::-1]

    def attachment(self, attachment: str) -> Attachment:
        """Return a file by id. Raises KeyError where there is none."""
        return self.keeping("attachments", self._attachments)[attachment]

    def current(self, space: str | None = None) -> list[Content]:
        """Return current pages and blog posts, which is what is read and answered from."""
        contents = self.contents.values()
        return [c for c in contents if self.is_current(c) and space in {None, c.space}]

    def is_current(self, content: Content) -> bool:
        """Say whether it is a page or blog post that is there to be read."""
        kept = content.status == "current" and content.kind in {"page", "blogpost"}
        return kept and self.spaces[content.space].status == "current"

    def _titles(self) -> dict[tuple[str, str, str], Content]:
        return {
            (content.space, content.kind, content.title): content
            for content in self.contents.values()
            if content.status == "current"
        }

    def _children(self) -> dict[str, list[Content]]:
        found: dict[str, list[Content]] = {}
        for content in sorted(self.contents.values(), key=lambda content: content.position):
            if content.parent is not None:
                found.setdefault(content.parent, []).append(content)
        return found

    def _attachments(self) -> dict[str, Attachment]:
        return {
            file.id: file
            for content in self.contents.values()
            for file in content.attachments.values()
        }

    def changed(self, *untouched: str) -> datetime:
        """Note that something changes, and return when; what is ``untouched`` is not redone."""
        self._kept = {key: kept for key, kept in self._kept.items() if key in untouched}
        self.revision += 1
        self.now += self.step
        return self.now

    def next_id(self) -> str:
        return str(next(self._ids))


ADMIN = "admin"
"""Who writes when nobody is named, and whose token may view every space made here."""


@dataclass
class SitePeople(SiteState):
    """A site without pages."""

    def __post_init__(self) -> None:
        self.add_person(ADMIN, name="Site Admin", admin=True)

    def add_person(
        self,
        handle: str,
        *,
        name: str = "",
        email: str = "",
        email_shown: bool = False,
        admin: bool = False,
    ) -> Person:
        person = Person(
            handle,
            name or handle.replace(".", " ").title(),
            email or f"{handle}@acme.example",
            email_shown,
            admin,
        )
        self.people[handle] = person
        self.changed()
        return person

    def add_group(self, name: str, members: Iterable[str] = ()) -> Group:
        group = self.groups.setdefault(name, Group(name))
        for member in members:
            self.join(member, name)
        self.changed()
        return group

    def join(self, person: str, group: str) -> None:
        self.groups[group].members.add(self.people[person].handle)
        self.changed()

    def leave(self, person: str, group: str) -> None:
        self.groups[group].members.discard(person)
        self.changed()

    def groups_of(self, person: str) -> list[Group]:
        return [group for _, group in sorted(self.groups.items()) if person in group.members]

    # Spaces

    def add_space(
        self,
        key: str,
        *,
        name: str = "",
        users: Collection[str] = (),
        groups: Collection[str] = (),
        anonymous: bool = False,
    ) -> Space:
        """Make a space that the named and the site's admin may view."""
        personal = key.startswith("~")
        space = Space(
            id=self.next_id(),
            key=key,
            name=name or f"{key} space",
            kind="personal" if personal else "global",
            readers=Named({ADMIN, *users}, set(groups), anonymous),
        )
        self.spaces[key] = space
        self.changed()
        return space

    def grant_space(
        self,
        key: str,
        *,
        users: Collection[str] = (),
        groups: Collection[str] = (),
        anonymous: bool = False,
    ) -> None:
        readers = self.spaces[key].readers
        readers.users |= set(users)
        readers.groups |= set(groups)
        readers.anonymous |= anonymous
        self.changed()

    def revoke_space(
        self,
        key: str,
        *,
        users: Collection[str] = (),
        groups: Collection[str] = (),
        anonymous: bool = False,
    ) -> None:
        readers = self.spaces[key].readers
        readers.users -= set(users)
        readers.groups -= set(groups)
        readers.anonymous = readers.anonymous and not anonymous
        self.changed()

    def archive_space(self, key: str) -> None:
        self.spaces[key].status = "archived"
        self.changed()

    def remove_space(self, key: str) -> None:
        """Take a space away with everything in it."""
        self.contents = {i: c for i, c in self.contents.items() if c.space != key}
        del self.spaces[key]
        self.changed()


@dataclass
class Site(SitePeople):
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
    ) -> Content:
        """Write a new version."""
        content = self.contents[page]
        taken = self.titled(content.space, title, content.kind) if title else None
        assert taken in (None, content), f"{content.space} has a {title!r} already"
        content.updated = self.changed() if title else self.changed(TITLES)
        content.updated_by = by
        content.version += 1
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

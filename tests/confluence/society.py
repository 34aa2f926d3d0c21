"""People, groups and spaces of a site: who comes and goes, and who may view which space."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tests.confluence.content import Named, Space
from tests.confluence.people import Group, Person
from tests.confluence.state import State

ADMIN = "admin"
"""Who writes when nobody is named, and whose token may view every space made here."""


@dataclass
class Society(State):
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

"""Who may read what: the rule that the product is held against, written without looking at it.

A page may be read by who may view its space AND is named by the page's restriction AND by the
restriction of everything that it hangs under. A restriction that names nobody restricts nobody;
a space that names nobody is for nobody. No principals here and no sets of readers: people,
groups and the tree are walked each time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tests.confluence.content import Content, Named, Space
from tests.confluence.people import Group


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

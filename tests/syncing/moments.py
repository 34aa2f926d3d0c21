"""Who might read what when: the oracle, asked about a site as it was.

An index is up to date with a moment, never with this one. What it shows is right when it was so at
some moment since the last look at everything began, and when that text was that person's to read.
Groups are those of now: who is in them is asked with each question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, field, replace

from tests.confluence.content import Content, Named, Space
from tests.confluence.oracle import Oracle
from tests.confluence.site import Site

MARK = re.compile(r"qx(\d+)v(\d+)qx")
"""Stands in all that a page says: which page it is, in which version."""


def mark_all(site: Site) -> None:
    """Write into all text whose it is, and as of when; that is no edit of its own."""
    for content in site.contents.values():
        mark = f"qx{content.id}v{content.version}qx"
        if content.storage and mark not in content.storage:
            bare = MARK.sub("", content.storage).replace("<p> ", "<p>")
            content.storage = bare.replace("<p>", f"<p>{mark} ")


@dataclass(frozen=True)
class Moment:
    """The permissions of a site, as they were."""

    spaces: Mapping[str, Space]
    contents: Mapping[str, Content]

    @classmethod
    def of(cls, site: Site, before: Moment | None) -> Moment:
        """Keep what there is now; what is as it was ``before`` is kept once."""
        spaces = {key: replace(s, readers=_named(s.readers)) for key, s in site.spaces.items()}
        old = before.contents if before else {}
        return cls(spaces, {i: _kept(c, old.get(i)) for i, c in site.contents.items()})

    def permits(self, who: Asker, page: str, version: int | None = None) -> bool:
        """Say whether somebody might have read a page, in that version if one is named."""
        content = self.contents.get(page)
        if content is None or content.status != "current" or version not in {None, content.version}:
            return False
        if self.spaces[content.space].status != "current":
            return False
        oracle = Oracle(self.spaces, self.contents, who.site.groups)
        return oracle.permits(who.handle, content, who.everyone)


@dataclass(frozen=True)
class Asker:
    """Somebody, or None for somebody unknown; ``everyone`` are groups that all are in."""

    site: Site
    handle: str | None
    everyone: Collection[str]


@dataclass
class Moments:
    """All moments of a site, and which of them each space's index may still be of."""

    site: Site
    kept: list[Moment] = field(default_factory=list)
    since: dict[str, int] = field(default_factory=dict)

    def note(self) -> None:
        """Keep what is now as a moment of its own."""
        self.kept.append(Moment.of(self.site, self.kept[-1] if self.kept else None))

    @property
    def now(self) -> int:
        return len(self.kept) - 1

    def looked(self, space: str, began: int) -> None:
        """Note that a look at a whole space is over, which began at a moment."""
        self.since[space] = began

    def due(self, who: Asker, space: str, page: str) -> bool:
        """Say whether a page may still be shown: it might be read since the last whole look."""
        return self._ever(who, page, None, self.since.get(space, 0))

    def told(self, who: Asker, page: str, version: int) -> bool:
        """Say whether a text was ever that person's to read."""
        return self._ever(who, page, version, 0)

    def _ever(self, who: Asker, page: str, version: int | None, since: int) -> bool:
        return any(each.permits(who, page, version) for each in reversed(self.kept[since:]))


def _named(named: Named) -> Named:
    return Named(set(named.users), set(named.groups), named.anonymous)


def _kept(content: Content, before: Content | None) -> Content:
    if before is not None and _shape(before) == _shape(content):
        return before
    kept = copy(content)
    kept.readers = _named(content.readers)
    return kept


def _shape(content: Content) -> tuple[object, ...]:
    return (content.space, content.parent, content.status, content.version, content.readers)

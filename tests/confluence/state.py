"""What a site holds: its things, its time, and what is worked out once between two changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count
from typing import Any, TypeVar

from tests.confluence.content import Attachment, Content, ContentKind, Space
from tests.confluence.people import Group, Person

T = TypeVar("T")
TITLES = "titles"
"""What is kept under this is which page has which title."""


@dataclass
class State:
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

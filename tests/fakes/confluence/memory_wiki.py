"""The wiki port over a site's state in memory, and settings for a local Confluence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ingestion.config import Settings
from ingestion.confluence.wiki import (
    ChangedPages,
    PageHead,
    PageMarks,
    Subjects,
    WikiAttachment,
    WikiGroup,
    WikiPage,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import NotVisible, PageUnreadable, WikiUnavailable
from tests.fakes.confluence.content import Attachment, Content, Named
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site

SITE = "https://wiki.acme.example"


@dataclass
class SiteWiki:
    """Implements Wiki for one person without any network.

    ``asked`` names every request, as ``page 123``. ``broken`` are requests that always fail;
    ``hidden`` are things that answer 403, ``refused`` requests. ``before`` is called with each
    request's name first. ``hides_permissions``: nobody is told who may view a space;
    ``unknown_viewers`` may view it besides.
    """

    site: Site
    person: str = ADMIN
    asked: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    before: Callable[[str], object] = lambda _request: None
    hides_permissions: bool = False
    unknown_viewers: frozenset[str] = frozenset()
    blind: bool = False

    def _ask(self, request: str) -> None:
        self.before(request)
        self.asked.append(request)
        if request in self.broken:
            raise WikiUnavailable(f"{request} failed with 500")
        if request in self.refused or request.rpartition(" ")[2] in self.hidden:
            raise NotVisible(f"{request} is not to be seen", forbidden=True)

    def _content(self, request: str, content_id: str) -> Content:
        self._ask(f"{request} {content_id}")
        content = self.site.contents.get(content_id)
        seen = content and content.status == "current" and not self.blind
        if content is None or not seen or not self.site.oracle.permits(self.person, content):
            raise NotVisible(f"{content_id} is not there")
        return content

    def _page(self, request: str, page_id: str) -> Content:
        content = self._content(request, page_id)
        if content.kind not in {"page", "blogpost"}:
            raise NotVisible(f"{page_id} is no page")
        return content

    def _seen(self, space: str) -> list[Content]:
        if self.blind:
            return []
        return [c for c in self.site.current(space) if self.site.may_read(self.person, c.id)]

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        self._ask("spaces")
        permits = self.site.oracle.may_view
        return [
            WikiSpace(s.id, s.key, s.name, f"{SITE}/spaces/{s.key}", s.status == "archived")
            for s in self.site.spaces.values()
            if (keys is None or s.key in keys) and permits(s.readers, self.person)
        ]

    async def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        self._ask(f"heads {space.key}")
        for content in self._seen(space.key):
            yield self._head(content)

    async def changed(self, space: WikiSpace, since: datetime) -> ChangedPages:
        self._ask(f"changed {space.key}")
        heads = [self._head(c) for c in self._seen(space.key) if c.updated >= since]
        heads.sort(key=lambda head: head.updated_at, reverse=True)
        return ChangedPages(tuple(heads), self.site.now)

    async def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        self._ask(f"marks {space.key}")
        for content in self._seen(space.key):
            if f"marks_of {content.id}" not in self.broken and content.id not in self.hidden:
                yield self._marks(content)

    async def marks_of(self, page_id: str) -> PageMarks:
        return self._marks(self._content("marks_of", page_id))

    async def page(self, page_id: str, *, above: bool = True) -> WikiPage:
        content = self._page("page", page_id)
        ancestors = tuple(each.id for each in self.site.ancestors(page_id))
        return WikiPage(self._head(content), content.storage, tuple(content.labels), ancestors)

    async def head(self, page_id: str) -> PageHead:
        return self._head(self._page("head", page_id))

    async def ancestors(self, page_id: str) -> tuple[str, ...]:
        self._page("ancestors", page_id)
        return tuple(each.id for each in self.site.ancestors(page_id))

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        self._ask(f"titled {space_key}/{title}")
        found = (c for c in self._seen(space_key) if c.title == title and c.kind == "page")
        return next((self._head(c) for c in found), None)

    async def space_readers(self, space: WikiSpace) -> Subjects:
        self._ask(f"space_readers {space.key}")
        named = self.site.spaces[space.key].readers
        told = Subjects() if self.hides_permissions else self._subjects(named)
        return told.joined(Subjects(unknown=self.unknown_viewers))

    async def attachments(self, page_id: str) -> Sequence[WikiAttachment]:
        return list(_files(self._page("attachments", page_id)))

    async def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        self._ask(f"attachments_in {space.key}")
        for content in self._seen(space.key):
            for file in _files(content):
                yield file

    async def including(self, space: WikiSpace) -> AsyncIterator[str]:
        self._ask(f"including {space.key}")
        for content in self._seen(space.key):
            names = ('ac:name="include"', 'ac:name="excerpt-include"')
            if any(name in content.storage for name in names):
                yield content.id

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        self._page("download", attachment.page_id)
        file = self.site.attachment(attachment.id)
        if file.size > most:
            raise PageUnreadable(f"has more than {most} bytes")
        content = _whole(file)
        await asyncio.to_thread(into.write_bytes, content)
        return len(content)

    async def user(self, user_id: str) -> WikiUser:
        self._ask(f"user {user_id}")
        found = (p for p in self.site.people.values() if p.account_id == user_id)
        person = next(found, None)
        if person is None:
            raise NotVisible(f"there is nobody {user_id}")
        return WikiUser(person.account_id, person.name)

    async def user_of(self, email: str) -> WikiUser | None:
        shown = (p for p in self.site.people.values() if p.email_shown and p.email == email)
        person = next(shown, None)
        return WikiUser(person.account_id, person.name) if person else None

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        person = next(p for p in self.site.people.values() if p.account_id == user_id)
        return [WikiGroup(g.id, g.name) for g in self.site.groups_of(person.handle)]

    async def group_named(self, name: str) -> WikiGroup | None:
        self._ask(f"group_named {name}")
        group = self.site.groups.get(name)
        return WikiGroup(group.id, group.name) if group else None

    async def close(self) -> None: ...

    def _head(self, content: Content) -> PageHead:
        parent = self.site.contents.get(content.parent or "")
        return PageHead(
            id=content.id,
            kind="blogpost" if content.kind == "blogpost" else "page",
            title=content.title,
            space_key=content.space,
            parent_id=content.parent,
            version=content.version,
            updated_at=content.updated,
            url=f"{SITE}/spaces/{content.space}/pages/{content.id}",
            parent_kind=parent.kind if parent else "page",
            updated_by=self.site.people[content.updated_by].account_id,
        )

    def _marks(self, content: Content) -> PageMarks:
        return PageMarks(content.id, self._subjects(content.readers), tuple(content.labels))

    def _subjects(self, named: Named) -> Subjects:
        return Subjects(
            frozenset(self.site.people[user].account_id for user in named.users),
            frozenset(self.site.groups[name].id for name in named.groups),
            named.anonymous,
        )


def _files(content: Content) -> Iterable[WikiAttachment]:
    for file in content.attachments.values():
        yield WikiAttachment(
            id=file.id,
            page_id=content.id,
            name=file.name,
            media_type=file.media_type,
            bytes=file.size,
            version=file.version,
            updated_at=file.updated,
            url=f"{SITE}/spaces/{content.space}/pages/{content.id}?preview={file.id}",
            download=f"/download/{content.id}/{file.id}",
        )


def _whole(file: Attachment) -> bytes:
    times = -(-file.size // max(1, len(file.content)))
    return (file.content * times)[: file.size]


def wiki_settings(
    server: LocalConfluence, *, directory: str | None = None, last_check: bool = False
) -> Settings:
    """Return the settings that name a site, and its admin's token."""
    person = server.site.people[ADMIN]
    given: dict[str, object] = {
        "confluence_url": server.url,
        "confluence_token": person.token,
        "confluence_email": person.email if server.edition == "cloud" else None,
        "confluence_edition": server.edition,
        "confluence_directory": directory,
        "confluence_last_check": last_check,
    }
    return Settings(_env_file=None, **given)  # type: ignore[arg-type]

"""A site with random changes, and who might read what of it at each moment."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

from tests.fakes.confluence.content import Content, Named, Space
from tests.fakes.confluence.generator import RandomActivity, storage_of, wiki_site
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Oracle, Site

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


SPACES = ("IT", "HR", "FIN")
OWN_SHARE = 0.15
INCLUDE = (
    '<ac:structured-macro ac:name="include"><ac:parameter ac:name=""><ac:link>'
    '<ri:page ri:space-key="{}" ri:content-title="{}"/></ac:link></ac:parameter>'
    "</ac:structured-macro>"
)


@dataclass(frozen=True)
class ChangingWiki:
    """A site that is served, all that ever was so there, and chance.

    ``everyone`` are the groups that every colleague is in, as the settings say.
    """

    site: Site
    server: LocalConfluence
    life: RandomActivity
    random: Random
    moments: Moments
    everyone: tuple[str, ...]

    def happens(self) -> str:
        """Let one thing happen, and return what it was."""
        own = self.random.random() < OWN_SHARE
        told = self.random.choice(OWN)(self) if own else self.life.happens()
        self.site.pass_time(self.random.choice((0, 1, 60, 400)))
        mark_all(self.site)
        self.moments.note()
        return told

    def asker(self) -> Asker:
        """Return one of the people, or somebody unknown."""
        handle = self.random.choice([None, *sorted(self.site.people)])
        return Asker(self.site, handle, self.everyone)

    def page(self) -> Content:
        """Return any page there is."""
        return self.random.choice(self.site.current())

    def include(self) -> str:
        """Show another page's words in a page."""
        page, shown = self.page(), self.page()
        if shown.kind != "page" or page is shown:
            return "nothing"
        words = storage_of(self.random, page.space)
        self.site.edit(page.id, words + INCLUDE.format(shown.space, shown.title))
        return f"{page.id} includes {shown.id}"

    def redact(self) -> str:
        """Take out what not all may read, and then let all read the rest."""
        page = self.page()
        self.site.edit(page.id, storage_of(self.random, page.space))
        self.site.unrestrict(page.id)
        return f"redact and open {page.id}"

    def close(self) -> str:
        """Let few read a page, and then write what is for them alone."""
        page = self.page()
        self.site.restrict(page.id, users=[ADMIN, self.random.choice(sorted(self.site.people))])
        self.site.edit(page.id, storage_of(self.random, page.space))
        return f"close and edit {page.id}"


OWN: tuple[Callable[[ChangingWiki], str], ...] = (
    ChangingWiki.include,
    ChangingWiki.redact,
    ChangingWiki.close,
)


@asynccontextmanager
async def served(
    *, seed: int, pages: int = 60, edition: Edition = "cloud"
) -> AsyncIterator[ChangingWiki]:
    """Grow a site from a seed, and serve it until the block ends."""
    site = wiki_site(pages=pages, seed=seed, spaces=SPACES, people=8)
    # What the product takes for tomorrow must not come to pass here.
    site.now = datetime.now(UTC).replace(microsecond=0) - timedelta(days=9)
    random = Random(seed)  # noqa: S311 - a story, no secret
    moments = Moments(site)
    mark_all(site)
    moments.note()
    everyone = random.choice([(), ("staff",)])
    async with LocalConfluence(site, edition).serving() as server:
        yield ChangingWiki(site, server, RandomActivity.of(site, seed), random, moments, everyone)
    assert site.unexpected == []

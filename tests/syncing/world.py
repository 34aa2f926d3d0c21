"""A site that people live in, with what is hardest to follow: words lent, taken out, and opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from tests.confluence.call import Edition
from tests.confluence.content import Content
from tests.confluence.growing import wiki_site
from tests.confluence.living import Life
from tests.confluence.prose import storage_of
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.confluence.society import ADMIN
from tests.syncing.moments import Asker, Moments, mark_all

SPACES = ("IT", "HR", "FIN")
OWN_SHARE = 0.15
INCLUDE = (
    '<ac:structured-macro ac:name="include"><ac:parameter ac:name=""><ac:link>'
    '<ri:page ri:space-key="{}" ri:content-title="{}"/></ac:link></ac:parameter>'
    "</ac:structured-macro>"
)


@dataclass(frozen=True)
class World:
    """A site that is served, all that ever was so there, and chance.

    ``everyone`` are the groups that every colleague is in, as the settings say.
    """

    site: Site
    server: LocalConfluence
    life: Life
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


OWN: tuple[Callable[[World], str], ...] = (World.include, World.redact, World.close)


@asynccontextmanager
async def served(*, seed: int, pages: int = 60, edition: Edition = "cloud") -> AsyncIterator[World]:
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
        yield World(site, server, Life.of(site, seed), random, moments, everyone)
    assert site.unexpected == []

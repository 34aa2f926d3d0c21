"""A wiki with one space, and the source that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingestion.confluence.permissions import Rules, group_principal, user_principal
from ingestion.confluence.source import ConfluenceSource
from ingestion.types import Listing, SourcePage
from rag.types import EVERYONE, Readers
from tests.fakes.confluence.content import Content
from tests.fakes.confluence.memory_wiki import SiteWiki
from tests.fakes.confluence.site import ADMIN, Site

ANYBODY = (frozenset({EVERYONE}),)
INCLUDE = (
    '<ac:structured-macro ac:name="include"><ac:parameter ac:name=""><ac:link>'
    '<ri:page ri:content-title="{}"/></ac:link></ac:parameter></ac:structured-macro>'
)


@dataclass
class SpaceWiki:
    """A space IT that staff may view, a wiki that is asked for it, and its source."""

    site: Site = field(default_factory=Site)
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        self.site.add_person("ann")
        self.site.add_person("bob")
        self.site.add_group("staff", ["ann", "bob"])
        self.site.add_group("board", ["bob"])
        self.site.add_space("IT", groups=["staff"])
        self.asked = SiteWiki(self.site)

    @property
    def source(self) -> ConfluenceSource:
        return ConfluenceSource(self.asked, "IT", self.rules, now=lambda: self.site.now)

    def page(self, title: str, storage: str = "<p>Some text.</p>", **more: object) -> Content:
        return self.site.create("IT", title, storage, **more)  # type: ignore[arg-type]

    def restrict(self, page: str, *people: str) -> None:
        """Let only these people read a page, and the one whose token we have."""
        self.site.restrict(page, users={ADMIN, *people})

    def named(self, handle: str) -> str:
        return user_principal(self.site.people[handle].account_id)

    def staff(self) -> frozenset[str]:
        return frozenset({self.named(ADMIN), group_principal(self.site.groups["staff"].id)})

    def may_read(self, handle: str, readers: Readers) -> bool:
        own = {group_principal(one.id) for one in self.site.groups_of(handle)}
        asker = {EVERYONE, self.named(handle), *own}
        return bool(readers) and all(one & asker for one in readers)


def by_id(listing: Listing) -> dict[str, SourcePage]:
    return {page.id: page for page in listing.pages}


async def listed(wiki: SpaceWiki, page_id: str) -> SourcePage:
    return by_id(await wiki.source.list())[page_id]

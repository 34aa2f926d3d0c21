"""Whatever changes meanwhile, the index admits exactly those who may read the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.confluence.permissions import group_principal, user_principal
from ingestion.confluence.rules import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.errors import IngestionError, PageUnreadable, SourceUnavailable
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from ingestion.types import Document, Listing
from rag.types import EVERYONE, Principal, Readers
from tests.fakes.confluence.content import Content, ContentKind, Named
from tests.fakes.confluence.memory_wiki import SiteWiki
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.ingestion import MemoryIndex
from tests.sweeps.syncing.changing_wiki import MARK, mark_all
from tests.unit.ingestion.confluence.test_source import INCLUDE, Wiki

PEOPLE = ("ann", "bob", "cyd", ADMIN)
GROUPS = ("staff", "board", "all")
KINDS: tuple[ContentKind, ...] = ("page", "page", "page", "folder")
_some = st.integers(0, 999)
Event = tuple[str, int, int]


def new_site() -> Site:
    site = Site()
    for handle in PEOPLE[:-1]:
        site.add_person(handle)
    for name in GROUPS:
        site.add_group(name, [ADMIN])
    site.add_space("IT", groups=["staff"])
    return site


def happen(site: Site, event: Event) -> None:
    """Let something happen; numbers choose what it happens to."""
    what, first, second = event
    contents = [c for c in site.contents.values() if c.status == "current"]
    person, name = PEOPLE[second % len(PEOPLE)], GROUPS[second % len(GROUPS)]
    if what == "create" or not contents:
        parent = contents[first % len(contents)].id if contents and first % 4 else None
        title = f"Page {len(site.contents)}"
        site.create("IT", title, parent=parent, kind=KINDS[second % len(KINDS)])
        return
    page = contents[first % len(contents)].id
    # Mostly the one whose token we have keeps sight, so that there is something to compare.
    named = {person} if first % 7 == 0 else {person, ADMIN}
    effects: dict[str, Callable[[], object]] = {
        "include": lambda: include(site, page, contents[second % len(contents)]),
        "restrict": lambda: site.restrict(page, users=named, groups={name}),
        "restrict to one": lambda: site.restrict(page, users=named),
        "unrestrict": lambda: site.unrestrict(page),
        "move": lambda: move(site, page, contents[second % len(contents)].id),
        "trash": lambda: site.trash(page),
        "join": lambda: site.join(PEOPLE[first % len(PEOPLE)], name),
        "leave": lambda: site.leave(PEOPLE[first % len(PEOPLE)], name),
        "open": lambda: site.grant_space("IT", groups=[name], anonymous=first % 9 == 0),
        "close": lambda: site.revoke_space("IT", groups=[name], anonymous=True),
    }
    effects[what]()


def move(site: Site, page: str, parent: str) -> None:
    if parent != page and parent not in {below.id for below in site.below(page)}:
        site.move(page, parent)


def include(site: Site, page: str, shown: Content) -> None:
    """Show one page on another, below what that says already."""
    if site.contents[page].kind == "page":
        site.edit(page, site.contents[page].storage + INCLUDE.format(shown.title))


def lets_in(site: Site, handle: str | None, readers: Readers) -> bool:
    asker: set[Principal] = {EVERYONE}
    if handle is not None:
        asker.add(user_principal(site.people[handle].account_id))
        asker |= {group_principal(one.id) for one in site.groups_of(handle)}
    return bool(readers) and all(one & asker for one in readers)


async def check(site: Site, everyone: tuple[str, ...]) -> None:
    source = ConfluenceSource(SiteWiki(site), "IT", Rules(everyone_groups=everyone))
    listed = {page.id: page for page in (await source.list()).pages}
    for content in site.current("IT"):
        for handle in (*PEOPLE, None):
            allowed = site.may_read(handle, content.id, everyone)
            shown = content.id in listed
            readers = listed[content.id].readers if shown else ()
            assert lets_in(site, handle, readers) == (allowed and shown)
    assert listed.keys() == site.readable(ADMIN)
    for page_id, page in listed.items():
        assert (await source.only(page_id)).pages == (page,)


WHAT = """create create create create restrict restrict unrestrict move move trash join leave
open close""".split()
events = st.tuples(st.sampled_from([*WHAT, "restrict to one"]), _some, _some)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(events, min_size=20, max_size=60), st.sampled_from([(), ("all",)]))
def test_readers_are_those_who_may_read(happened: list[Event], everyone: tuple[str, ...]) -> None:
    site = new_site()
    for event in happened:
        happen(site, event)

    asyncio.run(check(site, everyone))


async def check_during(site: Site, meanwhile: list[tuple[int, Event]]) -> None:
    """Let things happen while the space is listed; nobody is let in who never might read it."""
    wiki = SiteWiki(site)
    might: set[tuple[str | None, str]] = set()

    def note() -> None:
        might.update((who, page_id) for who in (*PEOPLE, None) for page_id in site.readable(who))

    def before(_request: str) -> None:
        for _, event in [each for each in meanwhile if each[0] == len(wiki.asked)]:
            happen(site, event)
            note()

    wiki.before = before
    note()
    try:
        listing = await ConfluenceSource(wiki, "IT", Rules()).list()
    except SourceUnavailable:
        return
    for page in listing.pages:
        let_in = {who for who in (*PEOPLE, None) if lets_in(site, who, page.readers)}
        assert {(who, page.id) for who in let_in} <= might


WIKI = [each for each in WHAT if each not in {"join", "leave"}]
while_listing = st.lists(
    st.tuples(st.integers(0, 9), st.tuples(st.sampled_from(WIKI), _some, _some)),
    min_size=1,
    max_size=2,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(events, min_size=10, max_size=30), while_listing)
def test_nobody_is_let_in_who_never_might_read_it(
    happened: list[Event], meanwhile: list[tuple[int, Event]]
) -> None:
    site = new_site()
    for event in happened:
        happen(site, event)

    asyncio.run(check_during(site, meanwhile))


async def follow(site: Site, index: MemoryIndex) -> None:
    source = ConfluenceSource(SiteWiki(site), "IT", Rules())
    await sync(source, index, None, tenant="acme", allow_mass_delete=True, progress=NoProgress())


async def check_texts(happened: list[Event]) -> None:
    """Follow a site in steps; whoever is shown a text may read the page that it stands on."""
    site, index = new_site(), MemoryIndex()
    for number, event in enumerate(happened, 1):
        happen(site, event)
        if number % 5 and number < len(happened):
            continue
        mark_all(site)
        try:
            await follow(site, index)
        except SourceUnavailable:
            return
        for chunk in index.chunks():
            shown = {page for page, _ in MARK.findall(chunk.text)}
            for who in (*PEOPLE, None):
                if lets_in(site, who, chunk.readers):
                    assert all(site.may_read(who, page) for page in shown)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from([*WIKI, *["include"] * 8]), _some, _some),
        min_size=20,
        max_size=60,
    )
)
def test_no_text_is_shown_to_whom_its_page_is_closed(happened: list[Event]) -> None:
    asyncio.run(check_texts(happened))


SECRET = "the secret"
MOST_REQUESTS = 60

Change = Callable[["Place"], object]
Look = Callable[[ConfluenceSource, "Place"], Awaitable[Listing]]


@dataclass
class Place:
    """A page under another one, a page that includes it, and a file on it."""

    wiki: Wiki = field(default_factory=Wiki)

    def __post_init__(self) -> None:
        self.home = self.wiki.page("Home").id
        self.page = self.wiki.page("VPN", parent=self.home).id
        self.front = self.wiki.page("Front", INCLUDE.format("VPN")).id
        self.file = self.wiki.site.attach(self.page, "notes.txt", b"Words of the file.").id

    def everything(self) -> tuple[str, ...]:
        return (self.home, self.page, self.front)


def edited(place: Place) -> None:
    place.wiki.restrict(place.page)
    place.wiki.site.edit(place.page, f"<p>Now {SECRET}.</p>")


def edited_below(place: Place) -> None:
    place.wiki.restrict(place.home)
    place.wiki.site.edit(place.page, f"<p>Now {SECRET}.</p>")


def attached(place: Place) -> None:
    place.wiki.restrict(place.page)
    place.wiki.site.attach(place.page, "plan.txt", f"Here is {SECRET}.".encode())


def attached_below(place: Place) -> None:
    place.wiki.restrict(place.home)
    place.wiki.site.attach(place.page, "notes.txt", f"Here is {SECRET}.".encode())


def moved_below(place: Place) -> None:
    closed = place.wiki.page("Closed")
    place.wiki.restrict(closed.id)
    place.wiki.site.move(place.page, closed.id)
    place.wiki.site.edit(place.page, f"<p>Now {SECRET}.</p>")


def moved_with_file(place: Place) -> None:
    closed = place.wiki.page("Closed")
    place.wiki.restrict(closed.id)
    place.wiki.site.move(place.page, closed.id)
    place.wiki.site.attach(place.page, "plan.txt", f"Here is {SECRET}.".encode())


def space_closed(place: Place) -> None:
    place.wiki.site.spaces["IT"].readers = Named(users={ADMIN})
    place.wiki.site.edit(place.page, f"<p>Now {SECRET}.</p>")


def created_below(place: Place) -> None:
    place.wiki.restrict(place.home)
    place.wiki.page("Plan", f"<p>Here is {SECRET}.</p>", parent=place.home)


async def whole(source: ConfluenceSource, _place: Place) -> Listing:
    return await source.list()


async def changes(source: ConfluenceSource, place: Place) -> Listing:
    before = ConfluenceSource(place.wiki.asked, "IT", place.wiki.rules)
    watermark = (await before.list()).watermark
    return await source.changes(watermark, place.everything())


@pytest.mark.parametrize("look", [whole, changes])
@pytest.mark.parametrize(
    "change",
    [
        edited,
        edited_below,
        attached,
        attached_below,
        moved_below,
        moved_with_file,
        space_closed,
        created_below,
    ],
)
async def test_what_was_written_into_a_closed_page_is_never_read_as_open(
    change: Change, look: Look
) -> None:
    leaks = []
    for number in range(1, MOST_REQUESTS):
        place = Place()
        source = place.wiki.source
        asked = 0

        def before(_request: str, place: Place = place, number: int = number) -> None:
            nonlocal asked
            asked += 1
            if asked == number:
                change(place)

        place.wiki.asked.before = before
        if await _leaks(source, look, place):
            leaks.append((number, place.wiki.asked.asked[number - 1 :][:1]))
        if asked < number:
            break
    else:
        pytest.fail("There are more requests than were tried.")
    assert leaks == []


async def test_files_that_may_not_be_listed_are_kept_as_long_as_their_page() -> None:
    place = Place()
    (mark, everything) = ((await place.wiki.source.list()).watermark, place.everything())
    place.wiki.asked.refused.add(f"attachments {place.page}")

    kept = await place.wiki.source.changes(mark, everything)
    place.wiki.site.trash(place.page)
    gone = await place.wiki.source.changes(mark, everything)

    assert f"{place.page}/" in {one.page for one in kept.failed}
    assert place.page in {one.id for one in kept.pages}
    assert gone.failed == ()


async def _leaks(source: ConfluenceSource, look: Look, place: Place) -> bool:
    try:
        listing = await look(source, place)
    except IngestionError:
        return False
    for page in listing.pages:
        try:
            document = await source.read(page)
        except PageUnreadable:
            continue
        if SECRET in _text(document) and place.wiki.may_read("ann", page.readers):
            return True
    return False


def _text(document: Document) -> str:
    return str(document.blocks)

"""Somebody closes a page and then writes a secret, just before any one of a run's requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from ingestion.confluence.source import ConfluenceSource
from ingestion.errors import IngestionError, PageUnreadable
from ingestion.types import Document, Listing
from tests.confluence.content import Named
from tests.confluence.society import ADMIN
from tests.ingestion.confluence.test_source import INCLUDE, Wiki

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

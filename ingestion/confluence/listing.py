"""List a space, or some of its pages: offered pages and files, and why others were left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ingestion.concurrency import for_each
from ingestion.confluence.attachments import offered
from ingestion.confluence.offers import NOT_FOR_ALL, Includes, Offer, Offers
from ingestion.confluence.page_lookup import AncestorIds, PageLookup, PageTexts
from ingestion.confluence.permissions import PageAccess, Rules, is_of_space
from ingestion.confluence.space_scan import SpaceScan, scan_space, staying_visible
from ingestion.confluence.wiki import FailureStreak, PageHead, Wiki, WikiAttachment, WikiSpace
from ingestion.errors import IngestionError, NotVisible, PageUnreadable, WikiUnavailable
from ingestion.types import Finding, Listing, SourcePage


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file, and the offer of the page that it is attached to."""

    attachment: WikiAttachment
    offer: Offer


@dataclass(slots=True)
class SpaceContents:
    """What was found in a space; grows while the space is listed."""

    offers: dict[str, Offer] = field(default_factory=dict)
    files: dict[str, OfferedFile] = field(default_factory=dict)
    pages: dict[str, SourcePage] = field(default_factory=dict)
    skipped: list[Finding] = field(default_factory=list)
    failed: list[Finding] = field(default_factory=list)
    notes: dict[Finding, None] = field(default_factory=dict)

    def page(self, found: Offer | Finding) -> None:
        """Add a page's offer, or why it is left out."""
        if isinstance(found, Finding):
            self.skipped.append(found)
            return
        self.offers[found.head.id] = found
        self.pages[found.page.id] = found.page
        if found.doubt:
            # A finding about the whole space is reported once.
            subject = found.head.space_key if is_of_space(found.doubt) else found.page.id
            self.notes[Finding(subject, found.doubt)] = None
        if found.narrower:
            self.notes[Finding(found.page.id, NOT_FOR_ALL)] = None

    def forget(self, page_id: str) -> None:
        """Remove a page that turned out to be gone, and its files."""
        self.offers.pop(page_id, None)
        for gone in [key for key in self.pages if key.partition("/")[0] == page_id]:
            del self.pages[gone]
            self.files.pop(gone, None)

    def attachment(self, attachment: WikiAttachment, most: int) -> None:
        """Add a file, if its page is offered."""
        offer = self.offers.get(attachment.page_id)
        if offer is None:
            return
        found = offered(attachment, offer, most)
        if isinstance(found, Finding):
            self.skipped.append(found)
            return
        self.files[found.id] = OfferedFile(attachment, offer)
        self.pages[found.id] = found

    def listing(self, *, within: tuple[str, ...] | None, watermark: str) -> Listing:
        """Return everything as a Listing, or only the ``within`` pages and their descendants."""
        asked = None if within is None else frozenset(within)
        return Listing(
            pages=tuple(self.pages[key] for key in sorted(self.pages) if _finding_of(key, asked)),
            skipped=tuple(one for one in self.skipped if _finding_of(one.page, asked)),
            failed=tuple(one for one in self.failed if _finding_of(one.page, asked)),
            notes=tuple(self.notes),
            within=within,
            watermark=watermark,
        )


def _finding_of(page_id: str, within: frozenset[str] | None) -> bool:
    return within is None or page_id.partition("/")[0] in within


_AT_ONCE = 4

_FilesOrError = Sequence[WikiAttachment] | IngestionError
"""A page's files, or the error of listing them."""


class SpaceListing:
    """One run's listing of a space; each answer of the wiki is cached.

    Args:
        wiki: the Confluence site.
        space: the space's key.
        rules: which pages are read.
        now: the time, for the maximum age of pages.
    """

    def __init__(
        self, wiki: Wiki, space: WikiSpace, rules: Rules, *, now: Callable[[], datetime]
    ) -> None:
        self._wiki = wiki
        self._space = space
        self._rules = rules
        self._access = PageAccess(
            wiki, everyone_groups=rules.everyone_groups, space_readers=rules.space_readers
        )
        self._failures_in_a_row = FailureStreak()
        self.lookup = PageLookup(wiki, space.key)
        self.texts = PageTexts(wiki)
        includes = Includes(wiki, self._access, self.lookup, self.texts)
        self._offers = Offers(
            space=space,
            access=self._access,
            includes=includes,
            lookup=self.lookup,
            selection=rules.selection,
            now=now,
        )

    async def whole(self) -> tuple[SpaceContents, SpaceScan]:
        """List the whole space. Raises SourceUnavailable where the listing can't be trusted.

        Files are listed before any permission is read; see PageAccess.forget.
        """
        files = await self._files_of_all()
        surveyed = await scan_space(self._wiki, self._space, self._access)
        self.lookup.whole(surveyed.heads)
        seen = SpaceContents()
        with staying_visible(self._space):
            including = {page_id async for page_id in self._wiki.including(self._space)}
            for page_id in sorted(surveyed.heads):
                seen.page(await self._surveyed(surveyed, page_id, including))
        self._take_files(seen, files)
        await self._say_unknown(seen)
        return seen, surveyed

    async def some(self, heads: Iterable[PageHead]) -> SpaceContents:
        """List some pages; one that is gone meanwhile is not in the result.

        Files are listed before any permission is read; see PageAccess.forget.
        """
        seen, waiting = SpaceContents(), list(heads)
        files: dict[str, _FilesOrError] = {}

        async def list_files(head: PageHead) -> None:
            files[head.id] = await self._files_of(head)

        async def take(head: PageHead) -> None:
            await self._take(seen, head, files[head.id])

        await for_each(waiting, list_files, at_once=_AT_ONCE)
        await for_each(waiting, take, at_once=_AT_ONCE)
        await self._say_unknown(seen)
        return seen

    async def _take(self, seen: SpaceContents, head: PageHead, files: _FilesOrError) -> None:
        """Add one page; where Confluence fails on the page, its indexed version stays for now."""
        try:
            chain = await self._chain(head.id)
            found = await self._offers.offer(head, [chain], includes=True)
            seen.page(found)
            if isinstance(found, Offer):
                self._take_files_of(seen, head, files)
        except NotVisible:
            seen.forget(head.id)
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            seen.failed.append(Finding(head.id, str(error)))
        else:
            self._failures_in_a_row.reset()

    async def _files_of(self, head: PageHead) -> _FilesOrError:
        try:
            return await self._wiki.attachments(head.id) if self._rules.largest else ()
        except NotVisible as error:
            return error
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            return error

    def _take_files_of(self, seen: SpaceContents, head: PageHead, files: _FilesOrError) -> None:
        if isinstance(files, IngestionError):
            seen.failed.append(Finding(f"{head.id}/", f"its files can't be listed: {files}"))
        else:
            self._take_files(seen, files)

    async def _chain(self, page_id: str) -> AncestorIds:
        try:
            return await self._wiki.ancestors(page_id)
        except NotVisible:
            raise
        except PageUnreadable:
            return None
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            return None

    async def _surveyed(
        self, surveyed: SpaceScan, page_id: str, including: Collection[str]
    ) -> Offer | Finding:
        chains = [await surveyed.after.chain(page_id)]
        if page_id in surveyed.known_before:
            chains.append(await surveyed.before.chain(page_id))
        if page_id in surveyed.written:
            self._access.forget({page_id, *(each for chain in chains for each in chain or ())})
        head = surveyed.heads[page_id]
        return await self._offers.offer(head, chains, includes=page_id in including)

    async def _files_of_all(self) -> Sequence[WikiAttachment]:
        if not self._rules.largest:
            return ()
        with staying_visible(self._space):
            return [one async for one in self._wiki.attachments_in(self._space)]

    def _take_files(self, seen: SpaceContents, files: Iterable[WikiAttachment]) -> None:
        for attachment in files:
            seen.attachment(attachment, self._rules.largest)

    async def _say_unknown(self, seen: SpaceContents) -> None:
        for name in await self._access.unknown_groups():
            reason = (
                f"CONFLUENCE_EVERYONE_GROUPS names {name!r}, and Confluence shows no such group"
            )
            seen.notes[Finding(self._space.key, reason)] = None
        if reason := await self._access.unknown_viewers(self._space):
            seen.notes[Finding(self._space.key, reason)] = None

"""Looks at a space, whole or at some of its pages, and tells what is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from ingestion.confluence.access import Access
from ingestion.confluence.bodies import Bodies
from ingestion.confluence.errors import NotVisible, WikiUnavailable
from ingestion.confluence.includes import Includes, Wanted
from ingestion.confluence.offers import Offer, Offers
from ingestion.confluence.ports import Wiki
from ingestion.confluence.rules import Rules
from ingestion.confluence.seen import Seen
from ingestion.confluence.setbacks import Setbacks
from ingestion.confluence.survey import Survey, lost_sight, survey
from ingestion.confluence.tree import Chain
from ingestion.confluence.types import PageHead, WikiAttachment, WikiSpace
from ingestion.confluence.whereabouts import Whereabouts
from ingestion.errors import IngestionError, PageUnreadable
from ingestion.side_by_side import for_each
from ingestion.types import Finding

_AT_ONCE = 4

_Files = Sequence[WikiAttachment] | IngestionError
"""A page's files, or why they can't be listed."""


class Looks:
    """One run's look at a space; what was asked once is not asked again.

    Args:
        wiki: who is asked.
        space: where.
        rules: what is read.
        wanted: which pages a text includes.
        now: the time, for pages that are too old.
    """

    def __init__(
        self,
        wiki: Wiki,
        space: WikiSpace,
        rules: Rules,
        *,
        wanted: Wanted,
        now: Callable[[], datetime],
    ) -> None:
        self._wiki = wiki
        self._space = space
        self._rules = rules
        self._access = Access(
            wiki, everyone_groups=rules.everyone_groups, space_readers=rules.space_readers
        )
        self._setbacks = Setbacks()
        self.whereabouts = Whereabouts(wiki, space.key)
        self.bodies = Bodies(wiki)
        includes = Includes(wiki, self._access, self.whereabouts, self.bodies, wanted)
        self._offers = Offers(
            space=space,
            access=self._access,
            includes=includes,
            whereabouts=self.whereabouts,
            selection=rules.selection,
            now=now,
        )

    async def whole(self) -> tuple[Seen, Survey]:
        """Look at everything. Raises SourceUnavailable where the look can't be trusted.

        Files are listed before anything is asked about who may read; see Access.forget.
        """
        files = await self._files_of_all()
        surveyed = await survey(self._wiki, self._space, self._access)
        self.whereabouts.whole(surveyed.heads)
        seen = Seen()
        try:
            including = {page_id async for page_id in self._wiki.including(self._space)}
            for page_id in sorted(surveyed.heads):
                seen.page(await self._surveyed(surveyed, page_id, including))
        except NotVisible as error:
            raise lost_sight(self._space) from error
        self._take_files(seen, files)
        await self._say_unknown(seen)
        return seen, surveyed

    async def some(self, heads: Iterable[PageHead]) -> Seen:
        """Look at some pages; one that is gone meanwhile is not among what was seen.

        Files are listed before anything is asked about who may read; see Access.forget.
        """
        seen, waiting = Seen(), list(heads)
        files: dict[str, _Files] = {}

        async def list_files(head: PageHead) -> None:
            files[head.id] = await self._files_of(head)

        async def take(head: PageHead) -> None:
            await self._take(seen, head, files[head.id])

        await for_each(waiting, list_files, at_once=_AT_ONCE)
        await for_each(waiting, take, at_once=_AT_ONCE)
        await self._say_unknown(seen)
        return seen

    async def _take(self, seen: Seen, head: PageHead, files: _Files) -> None:
        """Look at one page; where Confluence fails, what is indexed of it stays for now."""
        try:
            chain = await self._chain(head.id)
            found = await self._offers.of(head, [chain], includes=True)
            seen.page(found)
            if isinstance(found, Offer):
                self._take_files_of(seen, head, files)
        except NotVisible:
            seen.forget(head.id)
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            seen.failed.append(Finding(head.id, str(error)))
        else:
            self._setbacks.over()

    async def _files_of(self, head: PageHead) -> _Files:
        try:
            return await self._wiki.attachments(head.id) if self._rules.largest else ()
        except NotVisible as error:
            return error
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            return error

    def _take_files_of(self, seen: Seen, head: PageHead, files: _Files) -> None:
        if isinstance(files, IngestionError):
            seen.failed.append(Finding(f"{head.id}/", f"its files can't be listed: {files}"))
        else:
            self._take_files(seen, files)

    async def _chain(self, page_id: str) -> Chain:
        try:
            return await self._wiki.ancestors(page_id)
        except NotVisible:
            raise
        except PageUnreadable:
            return None
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            return None

    async def _surveyed(
        self, surveyed: Survey, page_id: str, including: Collection[str]
    ) -> Offer | Finding:
        chains = [await surveyed.after.chain(page_id)]
        if page_id in surveyed.known_before:
            chains.append(await surveyed.before.chain(page_id))
        if page_id in surveyed.written:
            self._access.forget({page_id, *(each for chain in chains for each in chain or ())})
        head = surveyed.heads[page_id]
        return await self._offers.of(head, chains, includes=page_id in including)

    async def _files_of_all(self) -> Sequence[WikiAttachment]:
        if not self._rules.largest:
            return ()
        try:
            return [one async for one in self._wiki.attachments_in(self._space)]
        except NotVisible as error:
            raise lost_sight(self._space) from error

    def _take_files(self, seen: Seen, files: Iterable[WikiAttachment]) -> None:
        for attachment in files:
            seen.attachment(attachment, self._rules.largest)

    async def _say_unknown(self, seen: Seen) -> None:
        for name in await self._access.unknown_groups():
            reason = (
                f"CONFLUENCE_EVERYONE_GROUPS names {name!r}, and Confluence shows no such group"
            )
            seen.notes[Finding(self._space.key, reason)] = None
        if reason := await self._access.unknown_viewers(self._space):
            seen.notes[Finding(self._space.key, reason)] = None

"""Finds out who may read a page: asks Confluence for what is not known yet, once a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingestion.confluence.errors import NotVisible, WikiUnavailable
from ingestion.confluence.permissions import all_of, readers_of
from ingestion.confluence.ports import Wiki
from ingestion.confluence.setbacks import Setbacks
from ingestion.confluence.types import PageMarks, Subjects, WikiSpace
from ingestion.errors import PageUnreadable
from rag.types import Readers

NOT_TOLD = (
    "its restrictions can't be read, so nobody is shown it; see that the token's account may view "
    "the page and all above it"
)
NO_SPACE_READERS = (
    "who may view the space can't be read, so nobody is shown its pages; let the token's account "
    "see the space's permissions, or set CONFLUENCE_SPACE_READERS"
)
NOT_UNDERSTOOD = (
    "its members aren't known to Frontdesk; add who may read the space by CONFLUENCE_SPACE_READERS"
)


def not_understood(viewers: Subjects) -> str:
    """Return what to say of principals of kinds that are not known here; "" where all are."""
    names = ", ".join(sorted(viewers.unknown))
    return f"{names} is not understood: {NOT_UNDERSTOOD}" if names else ""


def is_of_space(doubt: str) -> bool:
    """Whether a doubt is about a whole space."""
    return doubt == NO_SPACE_READERS or doubt.endswith(NOT_UNDERSTOOD)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Who may read a page, and what was in doubt ("" when nothing was)."""

    readers: Readers
    doubt: str = ""


class Access:
    """Knows the readers of spaces and the marks of pages; each is asked for once.

    Args:
        wiki: who is asked.
        everyone_groups: names of the groups that every colleague is in.
        space_readers: who may view a space, by key, besides those whom Confluence names.
    """

    def __init__(
        self,
        wiki: Wiki,
        *,
        everyone_groups: Collection[str] = (),
        space_readers: Mapping[str, Subjects] | None = None,
    ) -> None:
        self._wiki = wiki
        self._everyone_names = everyone_groups
        self._said = space_readers or {}
        self._everyone: dict[str, str | None] | None = None
        self._spaces: dict[str, tuple[Subjects, ...]] = {}
        self._marks: dict[str, PageMarks | None] = {}
        self._setbacks = Setbacks()

    async def know_marks_of(self, space: WikiSpace) -> Collection[str]:
        """Ask for the marks of a whole space, many a request; return the pages' ids."""
        known = {marks.id: marks async for marks in self._wiki.marks(space)}
        self._marks.update(known)
        return known.keys()

    def forget(self, page_ids: Iterable[str]) -> None:
        """Ask for the marks of these pages once more, when they are needed again.

        A text is shown to whom its page was open *after* the text was there: somebody may close
        a page first and write then.
        """
        for page_id in page_ids:
            self._marks.pop(page_id, None)

    async def marks(self, page_id: str) -> PageMarks | None:
        """Return a page's restrictions and labels; None when they can't be read.

        Raises WikiUnavailable when that happens to many pages in a row.
        """
        if page_id not in self._marks:
            self._marks[page_id] = await self._asked(page_id)
        return self._marks[page_id]

    async def of(self, space: WikiSpace, page_id: str, chain: Sequence[str]) -> Allowed:
        """Return who may read a page that hangs under ``chain``."""
        viewers = await self._viewers(space)
        closed = next((one for one in viewers if one.empty), None)
        if closed is not None:
            return Allowed((), not_understood(closed) or NO_SPACE_READERS)
        marks = [await self.marks(each) for each in (page_id, *chain)]
        restrictions = [None if each is None else each.readers for each in marks]
        groups = await self.everyone()
        first, *more = (readers_of(one, restrictions, groups) for one in viewers)
        return Allowed(all_of(first, *more), "" if None not in marks else NOT_TOLD)

    async def ask_viewers(self, space: WikiSpace) -> None:
        """Ask who may view a space, also a second time: then both must be met."""
        try:
            told = await self._wiki.space_readers(space)
        except NotVisible:
            told = Subjects()
        viewers = told.joined(self._said.get(space.key, Subjects()))
        known = self._spaces.get(space.key, ())
        self._spaces[space.key] = known if viewers in known else (*known, viewers)

    async def unknown_viewers(self, space: WikiSpace) -> str:
        """Return what to say where a space names somebody who is not understood; else "".

        Nothing is said of a space that a setting tells the readers of, or that was not asked about.
        """
        everyone = await self.everyone()
        viewers = () if space.key in self._said else self._spaces.get(space.key, ())
        open_to_all = any(one.anyone or one.groups & everyone for one in viewers)
        return "" if open_to_all else next(filter(None, map(not_understood, viewers)), "")

    async def _viewers(self, space: WikiSpace) -> tuple[Subjects, ...]:
        if space.key not in self._spaces:
            await self.ask_viewers(space)
        return self._spaces[space.key]

    async def everyone(self) -> frozenset[str]:
        """Return the ids of the groups that every colleague is in; unknown names are left out."""
        return frozenset(one for one in (await self._groups()).values() if one is not None)

    async def unknown_groups(self) -> tuple[str, ...]:
        """Return the names of everyone's groups that Confluence does not know."""
        return tuple(name for name, one in (await self._groups()).items() if one is None)

    async def _groups(self) -> dict[str, str | None]:
        if self._everyone is None:
            found = {name: await self._wiki.group_named(name) for name in self._everyone_names}
            self._everyone = {name: one.id if one else None for name, one in found.items()}
        return self._everyone

    async def _asked(self, page_id: str) -> PageMarks | None:
        try:
            marks: PageMarks | None = await self._wiki.marks_of(page_id)
        except PageUnreadable:
            marks = None
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            return None
        self._setbacks.over()
        return marks

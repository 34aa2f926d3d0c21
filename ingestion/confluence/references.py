"""Looks up what a page refers to: people, pages, files, and the text that it includes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from ingestion.confluence.looks import Looks
from ingestion.confluence.names import Names
from ingestion.confluence.ports import Wiki
from ingestion.confluence.storage.convert import needs
from ingestion.confluence.storage.types import FileRef, Needs, PageRef, Resolve
from ingestion.confluence.types import PageHead, WikiPage
from ingestion.errors import PageUnreadable

_Ref = TypeVar("_Ref", bound=Hashable)

_MOST = 500
"""More links or people of one page are not looked up; they are named by what the page says."""


def wanted(storage: str) -> Sequence[tuple[str, str]]:
    """Return the pages whose text a page shows: space key ("" for its own) and title."""
    return [(ref.space, ref.title) for ref in needs(storage, "").includes]


class References:
    """Looks up for one run; what is asked once is not asked again."""

    def __init__(self, wiki: Wiki, names: Names) -> None:
        self._wiki = wiki
        self._names = names

    async def of(self, page: WikiPage, included: Iterable[PageHead], looks: Looks) -> Resolve:
        """Return what a page refers to; of other pages' text only what is ``included``."""
        shown = [page, *await self._texts(included, looks)]
        asked = [needs(one.storage, one.head.space_key) for one in shown]
        texts = {one.head.id: one.storage for one in shown[1:]}
        space = page.head.space_key
        refs = _first(ref for one in asked for ref in (*one.includes, *one.pages))
        found = await self._heads(refs, space, looks)
        users = _first(user for one in asked for user in one.users)
        return Resolve(
            here=PageRef(space, page.head.title),
            users={user: name for user in users if (name := await self._names.of(user))},
            pages={ref: head.url for ref, head in found.items()},
            files=await self._files(page, asked[0], looks),
            includes={ref: texts[one.id] for ref, one in found.items() if one.id in texts},
        )

    async def _heads(
        self, refs: Iterable[PageRef], space: str, looks: Looks
    ) -> Mapping[PageRef, PageHead]:
        titled = looks.whereabouts.titled
        heads = {ref: await titled(ref.space or space, ref.title) for ref in refs}
        return {ref: head for ref, head in heads.items() if head is not None}

    async def _texts(self, included: Iterable[PageHead], looks: Looks) -> list[WikiPage]:
        """Return the included pages that are still as they were when their readers were asked."""
        texts = []
        for one in included:
            page = await looks.bodies.get(one.id)
            if page.head.version == one.version:
                texts.append(page)
        return texts

    async def _files(self, page: WikiPage, asked: Needs, looks: Looks) -> Mapping[FileRef, str]:
        found: dict[FileRef, str] = {}
        for owner in _first(ref.page for ref in asked.files):
            urls = await self._urls(page, owner, looks)
            refs = (ref for ref in asked.files if ref.page == owner)
            found |= {ref: urls[ref.name] for ref in refs if ref.name in urls}
        return found

    async def _urls(self, page: WikiPage, owner: PageRef | None, looks: Looks) -> Mapping[str, str]:
        head: PageHead | None = page.head
        if owner is not None:
            space = owner.space or page.head.space_key
            head = await looks.whereabouts.titled(space, owner.title)
        if head is None:
            return {}
        try:
            return {one.name: one.url for one in await self._wiki.attachments(head.id)}
        except PageUnreadable:
            return {}


def _first(refs: Iterable[_Ref]) -> list[_Ref]:
    """Return each once, in order, within bounds."""
    return list(islice(dict.fromkeys(refs), _MOST))

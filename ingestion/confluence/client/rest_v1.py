"""Call the REST endpoints that Cloud and Data Center share.

Spaces, restrictions and labels, search by CQL, people and their groups, site information, files.

Restrictions are fetched for a hundred pages per request. A batch is requested by page ids, so that
it neither shifts while pages change nor depends on earlier batches; pages missing from a response
(the search index lags, a restriction was incomplete) are requested one by one. The search index
lags a little behind edits.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal

from ingestion.confluence.client.payloads import (
    ContentPart,
    Group,
    GroupPart,
    NamedSubjects,
    Person,
    Restriction,
    SpacePart,
    attachment_of,
    marks_of,
)
from ingestion.confluence.client.retry import RetryLimits, TryAgain, no_spaces_error
from ingestion.confluence.client.transport import Query, Transport, items, parts
from ingestion.confluence.client.urls import cql_quoted, key_batches, path_segment
from ingestion.confluence.wiki import (
    ChangedPages,
    Kind,
    PageHead,
    PageMarks,
    Subjects,
    WikiAbout,
    WikiAttachment,
    WikiGroup,
    WikiSpace,
    WikiUser,
)
from ingestion.errors import NotVisible, PageUnreadable

SEARCH = "/rest/api/content/search"
KINDS: tuple[Kind, ...] = ("page", "blogpost")
PEOPLE_LIMIT = 200
_SEARCH_LIMIT = 100
_BATCH = 100
_RESTRICTED = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"
_EXPAND = f"{_RESTRICTED},metadata.labels"
_EACH = 200
_MOST_PARTS = 500
_FAILS_ON_IT = 500
_TOO_MANY = 429
_BATCH_LIMITS = RetryLimits(attempts=2, deadline_seconds=90.0)
"""A batch that contains one failing page always fails, so it is not worth eight tries."""
_ANONYMOUS = "anonymous"
_MB = 1_000_000


class _Account(Person):
    """The account of the token; anonymous users have a type, too."""

    type: str = "known"


class RestV1(ABC):
    """What both editions serve alike; an edition inherits this and adds its own requests.

    ``person_key`` is the edition's name for a user's id parameter. ``counted``: whether its search
    and its list of spaces page by count (see ingestion.confluence.client.transport).
    """

    person_key: ClassVar[Literal["accountId", "key"]]
    counted: ClassVar[bool]

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def transport(self) -> Transport:
        """What sends the requests, for what only some do: writing."""
        return self._transport

    @property
    def _base(self) -> str:
        return str(self._transport.address.base)

    @abstractmethod
    async def labels(self, page_id: str) -> tuple[str, ...]:
        """Return a page's labels."""

    @abstractmethod
    def _space_request(self, keys: Sequence[str]) -> tuple[str, Query]:
        """Return path and query of a listing of spaces, only those of ``keys`` where given."""

    @abstractmethod
    def _heads_of(self, space: WikiSpace, kind: Kind) -> AsyncIterator[PageHead]:
        """Yield the current pages or blog posts of a space; some may come twice."""

    @abstractmethod
    def _download_path(self, attachment: WikiAttachment) -> str:
        """Return the path of a download. Raises PageUnreadable."""

    async def spaces(self, keys: Collection[str] | None = None) -> Sequence[WikiSpace]:
        """Return the wanted spaces, or all, each once. Raises WikiRefused without a list."""
        wanted = None if keys is None else sorted(set(keys))
        found: dict[str, WikiSpace] = {}
        try:
            for some in key_batches(wanted):
                path, query = self._space_request(some)
                async for answer in parts(
                    self._transport, path, query, of=SpacePart, counted=self.counted
                ):
                    base = answer.value.links.base or self._base
                    found |= {one.key: one.space(base=base) for one in answer.value.results}
        except NotVisible as error:
            raise no_spaces_error(self._base, error) from error
        return tuple(space for space in found.values() if wanted is None or space.key in wanted)

    async def heads(self, space: WikiSpace) -> AsyncIterator[PageHead]:
        """Yield every current page and blog post of a space, each once."""
        seen: set[str] = set()
        for kind in KINDS:
            async for head in self._heads_of(space, kind):
                if head.id not in seen:
                    seen.add(head.id)
                    yield head

    async def marks(self, space: WikiSpace) -> AsyncIterator[PageMarks]:
        """Yield the marks of a space's pages; pages that cannot be read are left out."""
        async for batch in _batches(head.id async for head in self.heads(space)):
            found = await self._marks_of_batch(batch)
            for marks in found.values():
                yield marks
            for marks in await self._marks_singly([each for each in batch if each not in found]):
                yield marks

    async def _marks_of_batch(self, ids: Sequence[str]) -> dict[str, PageMarks]:
        """Return the marks in one response; empty where Confluence fails on the batch."""
        query: Query = {"cql": f"id in ({','.join(ids)})", "expand": _EXPAND, "limit": _BATCH}
        listed = items(
            self._transport,
            SEARCH,
            query,
            of=ContentPart,
            counted=self.counted,
            patience=_BATCH_LIMITS,
        )
        told: list[PageMarks | None] = []
        try:
            async for content in listed:
                told.append(marks_of(content))
                # No further part is requested than needed.
                if len(told) >= len(ids):
                    break
        except NotVisible:
            return {}
        except TryAgain as error:
            if error.status is None or error.status == _TOO_MANY:
                raise
            return {}
        return {marks.id: marks for marks in told if marks is not None and marks.id in ids}

    async def _marks_singly(self, ids: Sequence[str]) -> list[PageMarks]:
        reading = (self._marks_unless_hidden(each) for each in ids)
        # All requests are awaited, so that none continues after another has failed.
        read = await asyncio.gather(*reading, return_exceptions=True)
        for error in read:
            if isinstance(error, BaseException):
                raise error
        return [marks for marks in read if isinstance(marks, PageMarks)]

    async def _marks_unless_hidden(self, page_id: str) -> PageMarks | None:
        try:
            return await self.marks_of(page_id, patience=_BATCH_LIMITS)
        except NotVisible:
            return None
        except TryAgain as error:
            if error.status == _FAILS_ON_IT:
                return None
            raise

    async def marks_of(self, page_id: str, *, patience: RetryLimits | None = None) -> PageMarks:
        """Return one page's marks. Raises NotVisible, also where readers can't be identified."""
        subjects = await self._restriction(page_id, patience)
        return PageMarks(id=page_id, readers=subjects, labels=await self.labels(page_id))

    async def _restriction(self, page_id: str, patience: RetryLimits | None) -> Subjects:
        path = f"/rest/api/content/{path_segment(page_id)}/restriction/byOperation/read"
        query: Query = {"expand": "restrictions.user,restrictions.group", "limit": _EACH}
        told: list[NamedSubjects] = []
        for _ in range(_MOST_PARTS):
            start = sum(each.step for each in told)
            answer = await self._transport.get(
                path, {**query, "start": start}, shape=Restriction, patience=patience
            )
            told.append(answer.value.restrictions)
            if told[-1].last:
                break
        return _joined(told, page_id)

    async def attachments_in(self, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
        cql = f"space = {cql_quoted(space.key)} and type = attachment order by created"
        query: Query = {"cql": cql, "expand": "version,container", "limit": _SEARCH_LIMIT}
        seen: set[str] = set()
        async for answer in parts(self._transport, SEARCH, query, of=ContentPart):
            base = answer.value.links.base or self._base
            for content in answer.value.results:
                attachment = attachment_of(content, base=base)
                if attachment is not None and attachment.id not in seen:
                    seen.add(attachment.id)
                    yield attachment

    async def including(self, space: WikiSpace) -> AsyncIterator[str]:
        cql = (
            f"space = {cql_quoted(space.key)} and type in (page, blogpost) "
            'and macro in ("include", "excerpt-include")'
        )
        query: Query = {"cql": cql, "limit": _SEARCH_LIMIT}
        seen: set[str] = set()
        async for content in items(self._transport, SEARCH, query, of=ContentPart):
            if content.id not in seen:
                seen.add(content.id)
                yield content.id

    async def download(self, attachment: WikiAttachment, into: Path, most: int) -> int:
        """Download an attachment into a file and return its bytes; on an error it is removed.

        Raises PageUnreadable where it is too large or its size differs from the listing,
        WikiUnavailable.
        """
        path = self._download_path(attachment)
        if attachment.bytes > most:
            raise _too_big(attachment, most)
        try:
            return _checked_bytes(attachment, await self._transport.fetch(path, into, most), most)
        except BaseException:
            # Not awaited: a cancelled download must not leave its file either.
            _remove_file(into)
            raise

    async def user(self, user_id: str) -> WikiUser:
        query: Query = {self.person_key: user_id}
        answer = await self._transport.get("/rest/api/user", query, shape=Person)
        if answer.value.id != user_id:
            raise NotVisible(f"Confluence knows nobody with the id {user_id!r}.")
        return answer.value.user()

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        query: Query = {self.person_key: user_id, "limit": PEOPLE_LIMIT}
        found = items(self._transport, "/rest/api/user/memberof", query, of=GroupPart, counted=True)
        return tuple({each.key: each.group() async for each in found if each.key}.values())

    async def about(self) -> WikiAbout:
        """Return edition, version, account and time. Raises as every request does."""
        answer = await self._transport.get("/rest/api/user/current", shape=_Account)
        account = answer.value
        return WikiAbout(
            edition=self._transport.address.edition,
            base=self._base,
            version=await self._version(),
            account=account.user() if account.id and account.type != _ANONYMOUS else None,
            asked_at=answer.asked_at,
        )

    async def _version(self) -> str:
        """Return the version of the server; "" where there is none."""
        return ""

    async def close(self) -> None:
        await self._transport.close()

    async def _group(self, path: str, query: Query | None = None) -> WikiGroup | None:
        try:
            answer = await self._transport.get(path, query, shape=Group)
        except NotVisible:
            return None
        return answer.value.group()


def newest_first(heads: Iterable[PageHead], asked_at: datetime) -> ChangedPages:
    """Return changed pages in the order in which they were changed, each once."""
    distinct = {head.id: head for head in heads}.values()
    ordered = sorted(distinct, key=lambda head: head.updated_at, reverse=True)
    return ChangedPages(heads=tuple(ordered), asked_at=asked_at)


def _joined(told: Sequence[NamedSubjects], page_id: str) -> Subjects:
    subjects = Subjects()
    for part in told:
        subjects = subjects.joined(part.subjects())
    if subjects.empty and any(each.unnamed for each in told):
        # No identified reader would mean no restriction, and the page would be open to all.
        raise NotVisible(f"Confluence does not say who may read {page_id}, only that some may.")
    return subjects


async def _batches(ids: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for each in ids:
        batch.append(each)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _checked_bytes(attachment: WikiAttachment, fetched: int | None, most: int) -> int:
    if fetched is None:
        raise _too_big(attachment, most)
    if attachment.bytes and fetched != attachment.bytes:
        # It may be a login page or a newer version; the next run finds out.
        raise PageUnreadable(
            f"{attachment.name!r} came with {fetched} bytes where Confluence says "
            f"{attachment.bytes}. It is tried again."
        )
    return fetched


def _remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)


def _too_big(attachment: WikiAttachment, most: int) -> PageUnreadable:
    return PageUnreadable(
        f"{attachment.name!r} has more than {most / _MB:.0f} MB. Raise CONFLUENCE_ATTACHMENT_MB "
        "to read it."
    )

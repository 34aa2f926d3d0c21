"""Call the REST v1 endpoints that Cloud and Data Center share.

Restrictions and labels, search by CQL, people and their groups, spaces, site information, files.

Restrictions are fetched for a hundred pages per request. A batch is requested by page ids, so that
it neither shifts while pages change nor depends on earlier batches; pages missing from a response
(the search index lags, a restriction was incomplete) are requested one by one. The search index
lags a little behind edits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from ingestion.confluence.client.payloads_v1 import (
    Content,
    ContentPart,
    Group,
    GroupPart,
    NamedSubjects,
    Person,
    Restriction,
    attachment_of,
    marks_of,
)
from ingestion.confluence.client.retry import RetryLimits, TryAgain, no_spaces_error
from ingestion.confluence.client.transport import Part, Query, Transport, items, parts
from ingestion.confluence.client.urls import cql_quoted, path_segment
from ingestion.confluence.wiki import (
    PageMarks,
    Subjects,
    WikiAbout,
    WikiAttachment,
    WikiGroup,
    WikiSpace,
    WikiUser,
    normalized_email,
)
from ingestion.errors import NotVisible, PageUnreadable

SEARCH = "/rest/api/content/search"
_SEARCH_LIMIT = 100


BATCH = 100
_RESTRICTED = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"
_EXPAND = f"{_RESTRICTED},metadata.labels"
_EACH = 200
_MOST_PARTS = 500
_FAILS_ON_IT = 500
_TOO_MANY = 429
_BATCH_LIMITS = RetryLimits(attempts=2, deadline_seconds=90.0)
"""A batch that contains one failing page always fails, so it is not worth eight tries."""

LabelsOf = Callable[[str], Awaitable[tuple[str, ...]]]


class PageMarksReader:
    """Reads restrictions and labels of pages. ``labels_of`` is the edition's way to read labels.

    ``counted``: whether the edition's search pages by count (see paging).
    """

    def __init__(self, transport: Transport, *, labels_of: LabelsOf, counted: bool = False) -> None:
        self._transport = transport
        self._labels_of = labels_of
        self._counted = counted

    async def of_all(self, ids: AsyncIterator[str]) -> AsyncIterator[PageMarks]:
        """Yield the marks of pages; pages that cannot be read are left out."""
        async for batch in _batches(ids):
            found = await self._batch(batch)
            for marks in found.values():
                yield marks
            for marks in await self._singly([each for each in batch if each not in found]):
                yield marks

    async def _batch(self, ids: Sequence[str]) -> dict[str, PageMarks]:
        """Return the marks in one response; empty where Confluence fails on the batch."""
        query: Query = {"cql": f"id in ({','.join(ids)})", "expand": _EXPAND, "limit": BATCH}
        found = items(
            self._transport,
            SEARCH,
            query,
            of=ContentPart,
            counted=self._counted,
            patience=_BATCH_LIMITS,
        )
        try:
            told = await _first(found, len(ids))
        except NotVisible:
            return {}
        except TryAgain as error:
            if error.status is None or error.status == _TOO_MANY:
                raise
            return {}
        marked = (marks_of(content) for content in told)
        return {marks.id: marks for marks in marked if marks is not None and marks.id in ids}

    async def _singly(self, ids: Sequence[str]) -> list[PageMarks]:
        reading = (self._unless_hidden(each) for each in ids)
        # All requests are awaited, so that none continues after another has failed.
        read = await asyncio.gather(*reading, return_exceptions=True)
        for error in read:
            if isinstance(error, BaseException):
                raise error
        return [marks for marks in read if isinstance(marks, PageMarks)]

    async def _unless_hidden(self, page_id: str) -> PageMarks | None:
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
        return PageMarks(id=page_id, readers=subjects, labels=await self._labels_of(page_id))

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


def _joined(told: Sequence[NamedSubjects], page_id: str) -> Subjects:
    parts = [each.subjects() for each in told]
    subjects = Subjects(
        users=frozenset().union(*(part.users for part in parts)),
        groups=frozenset().union(*(part.groups for part in parts)),
    )
    if subjects.empty and any(each.unnamed for each in told):
        # No identified reader would mean no restriction, and the page would be open to all.
        raise NotVisible(f"Confluence does not say who may read {page_id}, only that some may.")
    return subjects


async def _batches(ids: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for each in ids:
        batch.append(each)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _first(found: AsyncIterator[Content], number: int) -> list[Content]:
    """Return the first ``number`` results, requesting no more than needed."""
    told: list[Content] = []
    async for content in found:
        told.append(content)
        if len(told) >= number:
            break
    return told


_PEOPLE_LIMIT = 200


class PersonHit(BaseModel):
    """A result of a user search."""

    user: Person | None = None


HitPart = Part[PersonHit]


async def person_by_email(
    transport: Transport, path: str, queries: tuple[str, ...], email: str
) -> WikiUser | None:
    """Return the only person among the results who shows exactly this address.

    ``queries`` (CQL) are tried in order until one finds a match. None for no match, and for
    several, which are ambiguous.
    """
    for cql in queries:
        found = {person.id: person async for person in _found(transport, path, cql)}
        shown = [
            user
            for user in found.values()
            if normalized_email(user.email) == normalized_email(email)
        ]
        if shown:
            return shown[0] if len(shown) == 1 else None
    return None


async def _found(transport: Transport, path: str, cql: str) -> AsyncIterator[WikiUser]:
    query: Query = {"cql": cql, "limit": _PEOPLE_LIMIT}
    async for hit in items(transport, path, query, of=HitPart):
        if hit.user is not None and hit.user.id:
            yield hit.user.user()


_ANONYMOUS = "anonymous"


class _Account(Person):
    """The account of the token; anonymous users have a type, too."""

    type: str = "known"


class _Server(BaseModel):
    """The server information of a Data Center since 9.1."""

    version: str = ""


async def _version_text(transport: Transport) -> str:
    if transport.address.edition == "cloud":
        return ""
    try:
        return (await transport.get("/rest/api/server-information", shape=_Server)).value.version
    except NotVisible:
        return ""


_MB = 1_000_000


async def download(
    transport: Transport, attachment: WikiAttachment, *, path: str, into: Path, most: int
) -> int:
    """Download an attachment into a file and return its bytes; on an error the file is removed.

    Raises PageUnreadable where it is too large or its size differs from the listing,
    WikiUnavailable.
    """
    if attachment.bytes > most:
        raise _too_big(attachment, most)
    try:
        fetched = await transport.fetch(path, into, most)
        return _expected_bytes(attachment, fetched, most)
    except BaseException:
        _remove_file(into)
        raise


def _expected_bytes(attachment: WikiAttachment, fetched: int | None, most: int) -> int:
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


class RestV1:
    """What both editions serve alike; an edition inherits this and adds its own requests.

    Args:
        transport: sends the requests.
        person_key: the edition's name for a user's id parameter.
        labels_of: the edition's way to read a page's labels.
        counted: whether the edition's search pages by count (see paging).
    """

    def __init__(
        self,
        transport: Transport,
        *,
        person_key: Literal["accountId", "key"],
        labels_of: LabelsOf,
        counted: bool = False,
    ) -> None:
        self._transport = transport
        self._person_key = person_key
        self._marks = PageMarksReader(transport, labels_of=labels_of, counted=counted)

    @property
    def _base(self) -> str:
        return str(self._transport.address.base)

    async def marks_of(self, page_id: str) -> PageMarks:
        return await self._marks.marks_of(page_id)

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

    async def user(self, user_id: str) -> WikiUser:
        query: Query = {self._person_key: user_id}
        answer = await self._transport.get("/rest/api/user", query, shape=Person)
        if answer.value.id != user_id:
            raise NotVisible(f"Confluence knows nobody with the id {user_id!r}.")
        return answer.value.user()

    async def groups_of(self, user_id: str) -> Sequence[WikiGroup]:
        query: Query = {self._person_key: user_id, "limit": _PEOPLE_LIMIT}
        found = items(self._transport, "/rest/api/user/memberof", query, of=GroupPart, counted=True)
        return tuple({each.key: each.group() async for each in found if each.key}.values())

    async def about(self) -> WikiAbout:
        """Return edition, version, account and time. Raises as every request does."""
        answer = await self._transport.get("/rest/api/user/current", shape=_Account)
        account = answer.value
        return WikiAbout(
            edition=self._transport.address.edition,
            base=self._base,
            version=await _version_text(self._transport),
            account=account.user() if account.id and account.type != _ANONYMOUS else None,
            asked_at=answer.asked_at,
        )

    async def close(self) -> None:
        await self._transport.close()

    async def _visible_spaces(
        self, listed: AsyncIterator[WikiSpace], wanted: Sequence[str] | None
    ) -> Sequence[WikiSpace]:
        """Return the wanted spaces, or all, each once. Raises WikiRefused without a list."""
        try:
            found = {space.key: space async for space in listed}
        except NotVisible as error:
            raise no_spaces_error(self._base, error) from error
        return tuple(space for space in found.values() if wanted is None or space.key in wanted)

    async def _group(self, path: str, query: Query | None = None) -> WikiGroup | None:
        try:
            answer = await self._transport.get(path, query, shape=Group)
        except NotVisible:
            return None
        return answer.value.group()

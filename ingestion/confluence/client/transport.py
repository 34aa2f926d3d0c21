"""Request JSON and files from a site, and follow its paginated listings.

Requests are paced, limited in time and retried. ``next`` links to another site and cycles are
rejected. A page without a ``next`` link is the last one, except where Confluence pages by count
(``start`` and ``limit``): there another page may follow a full one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import aiohttp
from pydantic import BaseModel, Field, ValidationError
from yarl import URL

from ingestion.confluence.client.connection import Address, Connection
from ingestion.confluence.client.retry import (
    Pacer,
    RetryLimits,
    TryAgain,
    error_of,
    json_error,
    retry_within,
)
from ingestion.errors import NotVisible, WikiRefused, WikiUnavailable
from rag.retrying import Deadline, server_date

Shape = TypeVar("Shape", bound=BaseModel)
Result = TypeVar("Result")

Query: TypeAlias = Mapping[str, str | int | Sequence[str]]
"""Query parameters; a sequence repeats its name."""

MOST_JSON_BYTES = 64 * 1024 * 1024
_READ_BYTES = 256 * 1024
_MB = 1024 * 1024
_SLOWEST_BYTES_A_SECOND = _MB
"""A download that is slower than this is aborted."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[Shape]):
    """A parsed response. ``asked_at`` is the site's own time just before the request."""

    value: Shape
    asked_at: datetime
    bytes: int


class Transport:
    """Sends requests to one site. Raises as ``error_of`` maps; WikiUnavailable after all tries."""

    def __init__(
        self,
        address: Address,
        *,
        line: Connection,
        pace: Pacer,
        patience: RetryLimits | None = None,
    ) -> None:
        self.address = address
        self._line = line
        self._pace = pace
        self._patience = patience or RetryLimits()

    async def get(
        self,
        path: str,
        query: Query | None = None,
        *,
        shape: type[Shape],
        patience: RetryLimits | None = None,
    ) -> Answer[Shape]:
        """Request JSON of a shape. ``path`` is below the site's base, encoded."""
        url = self.address.below(path)
        return await self.follow(url.update_query(query or {}), shape=shape, patience=patience)

    async def follow(
        self, url: URL, *, shape: type[Shape], patience: RetryLimits | None = None
    ) -> Answer[Shape]:
        """Request JSON at an absolute address of the site."""
        patience = patience or self._patience
        deadline = Deadline(patience.deadline_seconds)

        async def ask() -> Answer[Shape]:
            async with self._pace.turn(deadline):
                seconds = max(0.0, min(patience.try_seconds, deadline.remaining_seconds))
                return await _checked_size(seconds, self._ask(url, shape), asked=request_line(url))

        return await retry_within(ask, patience, deadline)

    async def _ask(self, url: URL, shape: type[Shape]) -> Answer[Shape]:
        asked, began = request_line(url), time.monotonic()
        async with self._line.get(url, asked=asked, accept="application/json") as response:
            took = time.monotonic() - began
            self._check(response, asked)
            if (other := json_error(response.content_type, asked)) is not None:
                raise other
            raw = await _body(response, asked)
            asked_at = server_date(response.headers) - timedelta(seconds=took)
        return Answer(value=_read(raw, shape, asked), asked_at=asked_at, bytes=len(raw))

    def _check(self, response: aiohttp.ClientResponse, asked: str) -> None:
        self._pace.heard(response.headers)
        error = error_of(response.status, response.headers, asked)
        if isinstance(error, TryAgain) and error.wait_seconds:
            self._pace.hold(error.wait_seconds)
        if error is not None:
            raise error

    async def send(
        self, method: str, path: str, body: object = None, query: Query | None = None
    ) -> tuple[int, bytes]:
        """Send JSON once, and return status and body of the response, also of a refusal.

        Raises TryAgain where it may help to look later what became of it.
        """
        url = self.address.below(path).update_query(query or {})
        asked = request_line(url, method)
        deadline = Deadline(self._patience.deadline_seconds)
        async with self._pace.turn(deadline):
            seconds = max(0.0, min(self._patience.try_seconds, deadline.remaining_seconds))
            return await _checked_size(seconds, self._write(method, url, body), asked=asked)

    async def _write(self, method: str, url: URL, body: object) -> tuple[int, bytes]:
        asked = request_line(url, method)
        async with self._line.write(method, url, body, asked=asked) as response:
            self._pace.heard(response.headers)
            error = error_of(response.status, response.headers, asked)
            if isinstance(error, TryAgain):
                raise error
            return response.status, await _body(response, asked)

    async def fetch(self, path: str, into: Path, most: int) -> int | None:
        """Download a file of the site, also from another host, and return its bytes.

        None where it has more than ``most``; the file may be partly written then, or on an error.
        """
        url = self.address.below(path)
        deadline = Deadline(self._patience.deadline_seconds + most / _SLOWEST_BYTES_A_SECOND)

        async def ask() -> int | None:
            async with self._pace.turn(deadline):
                seconds = max(0.0, deadline.remaining_seconds)
                return await _checked_size(
                    seconds, self._fetch(url, into, most), asked=request_line(url)
                )

        return await retry_within(ask, self._patience, deadline)

    async def _fetch(self, url: URL, into: Path, most: int) -> int | None:
        asked = request_line(url)
        async with self._line.get(url, asked=asked, accept="*/*", abroad=True) as response:
            try:
                self._check(response, asked)
            except WikiRefused as error:
                # The storage host never gets the token, so its refusal says nothing about the page.
                raise NotVisible(f"{asked} was sent on to where it is refused.") from error
            if (response.content_length or 0) > most:
                return None
            return await _written(response, into, most, asked)

    async def close(self) -> None:
        await self._line.close()


def request_line(url: URL, method: str = "GET") -> str:
    """Return method and path without the query, which may hold an e-mail address."""
    return f"{method} {url.raw_path}"


async def _checked_size(
    seconds: float, work: Coroutine[None, None, Result], *, asked: str
) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise TryAgain(
            f"No whole answer to {asked} within {seconds:.0f} seconds. Try again later."
        ) from error


async def _body(response: aiohttp.ClientResponse, asked: str) -> bytes:
    parts: list[bytes] = []
    size = response.content_length or 0
    if size <= MOST_JSON_BYTES:
        size = 0
        async for part in response.content.iter_chunked(_READ_BYTES):
            size += len(part)
            if size > MOST_JSON_BYTES:
                break
            parts.append(part)
    if size > MOST_JSON_BYTES:
        raise WikiUnavailable(f"{asked} was answered with more than {MOST_JSON_BYTES // _MB} MB.")
    return b"".join(parts)


def _read(raw: bytes, shape: type[Shape], asked: str) -> Shape:
    try:
        return shape.model_validate_json(raw)
    except ValidationError as error:
        # The received value is left out: it may be a page's text.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        raise TryAgain(f"{asked} was answered with what is no whole JSON. Try again later.")
    where = ".".join(str(part) for part in first["loc"]) or "all of it"
    raise WikiUnavailable(
        f"{asked} was answered in a shape that Frontdesk does not know: {where}: {first['msg']}."
    )


async def _written(
    response: aiohttp.ClientResponse, into: Path, most: int, asked: str
) -> int | None:
    written = 0
    with _writing(asked):
        file = into.open("wb")
    with file:
        async for part in response.content.iter_chunked(_READ_BYTES):
            written += len(part)
            if written > most:
                return None
            with _writing(asked):
                await asyncio.to_thread(file.write, part)
    return written


@contextmanager
def _writing(asked: str) -> Iterator[None]:
    """Distinguish a full disk from a broken connection; both raise OSError."""
    try:
        yield
    except OSError as error:
        raise WikiUnavailable(
            f"What {asked} gives can't be kept here ({error.strerror}). Make room."
        ) from error


Item = TypeVar("Item")

MOST_PARTS = 50_000
_API = re.compile(r"/(?:api/v2|rest/api)/.*$")


class Links(BaseModel):
    """Link to the next page of a listing, and the base of web addresses in this response."""

    next: str | None = None
    base: str = ""


class Part(BaseModel, Generic[Item]):
    """One page of a listing; ``start`` and ``limit`` where Confluence pages by count."""

    results: tuple[Item, ...]
    links: Links = Field(default_factory=Links, alias="_links")
    start: int | None = None
    limit: int | None = None


async def parts(
    transport: Transport,
    path: str,
    query: Query,
    *,
    of: type[Part[Item]],
    counted: bool = False,
    patience: RetryLimits | None = None,
) -> AsyncIterator[Answer[Part[Item]]]:
    """Yield the pages of a listing, the first with ``query``.

    Raises WikiUnavailable where links form a cycle, lead to another site, or never end.
    """
    url = transport.address.below(path).update_query(query)
    seen = {str(url)}
    for _ in range(MOST_PARTS):
        answer = await transport.follow(url, shape=of, patience=patience)
        yield answer
        following = _next(transport.address, url, answer.value, counted=counted)
        if following is None:
            return
        if str(following) in seen:
            raise WikiUnavailable(f"The listing {url.raw_path} goes round: its parts repeat.")
        seen.add(str(following))
        url = following
    raise WikiUnavailable(f"The listing {path} has more than {MOST_PARTS} parts.")


async def items(
    transport: Transport,
    path: str,
    query: Query,
    *,
    of: type[Part[Item]],
    counted: bool = False,
    patience: RetryLimits | None = None,
) -> AsyncIterator[Item]:
    """Yield the items of a listing, page by page."""
    async for answer in parts(transport, path, query, of=of, counted=counted, patience=patience):
        for item in answer.value.results:
            yield item


def _next(address: Address, url: URL, part: Part[Item], *, counted: bool) -> URL | None:
    if part.links.next:
        return _checked_link(address, part.links)
    full = counted and part.limit is not None and 0 < part.limit <= len(part.results)
    if not full:
        return None
    return url.update_query(start=(part.start or 0) + len(part.results))


def _checked_link(address: Address, links: Links) -> URL:
    """Return the absolute address of a link, always below the site's base.

    Confluence writes links relative to the host, relative to the site, or absolute; behind the
    gateway of api.atlassian.com they name the site itself. Only the part from the API path on is
    used.
    """
    link = _link_url(links.next or "")
    if link.host and not (link.scheme and link.origin() in _origins(address, links)):
        raise WikiUnavailable(
            f"A listing goes on at {link.host}, which is not {address.base.host}: not followed."
        )
    found = _API.search(link.raw_path)
    if found is None or "/../" in found[0]:
        raise WikiUnavailable(f"A listing goes on at what is no part of the API: {link.raw_path}.")
    return address.below(f"{found[0]}?{link.raw_query_string}")


def _origins(address: Address, links: Links) -> set[URL]:
    base = _link_url(links.base)
    return {address.origin, base.origin()} if base.host and base.scheme else {address.origin}


def _link_url(text: str) -> URL:
    try:
        return URL(text, encoded=True)
    except ValueError:
        return URL()

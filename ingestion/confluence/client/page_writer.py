"""Create, restrict and update pages: REST v2 and v1 on Cloud, REST v1 on Data Center.

What Confluence offers, by its documentation and by programs that use it: Cloud creates a page that
only its author sees (``private``), and replaces restrictions by v1, for want of an endpoint in v2.
Data Center can do neither in one step, and replaces restrictions below ``/rest/experimental``
(``/rest/api`` can only read them). Nothing is retried: a repeated creation would make two pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ingestion.confluence.client.payloads import ContentLinks, Person, no_links
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.urls import path_segment, web_address
from ingestion.confluence.wiki import Subjects, WikiSpace
from ingestion.errors import IngestionError, WikiUnavailable

Shape = TypeVar("Shape", bound=BaseModel)
_DONE = frozenset({HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT})


class WriteRejected(IngestionError):
    """Confluence rejects what is to be written, with this status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page as it is now; ``author`` and ``message`` are those of its last version."""

    id: str
    title: str
    version: int
    author: str
    message: str
    url: str


class PageWriter(Protocol):
    """Writes pages of a site. Raises WriteRejected, and WikiUnavailable where nothing is known.

    ``find`` raises NotVisible, and as all reading does.
    """

    async def find(self, page_id: str) -> WrittenPage:
        """Return a current page."""
        ...

    async def create(
        self, space: WikiSpace, parent_id: str, title: str, *, private: bool
    ) -> WrittenPage:
        """Create a page without text; ``private``: for its author alone, where it is offered."""
        ...

    async def restrict(self, page_id: str, readers: Subjects) -> None:
        """Let only these read a page, as far as what is above lets them; nobody named: all."""
        ...

    async def update(self, page: WrittenPage, title: str, storage: str, message: str) -> None:
        """Write the next version of a page; rejected with 409 if it has another version now."""
        ...

    async def may_create(self, space: WikiSpace) -> bool | None:
        """Return whether the token may create pages in a space; None where that isn't told."""
        ...


class _V2Version(BaseModel):
    number: int
    message: str | None = None
    author_id: str | None = Field(None, alias="authorId")


class _V2Page(BaseModel):
    id: str
    title: str
    version: _V2Version
    links: ContentLinks = Field(default_factory=no_links, alias="_links")

    def page(self, base: str) -> WrittenPage:
        version = self.version
        url = web_address(self.links.base or base, self.links.webui)
        return WrittenPage(
            self.id,
            self.title,
            version.number,
            version.author_id or "",
            version.message or "",
            url,
        )


class _Operation(BaseModel):
    operation: str
    target: str = Field("", alias="targetType")


class _Operations(BaseModel):
    operations: tuple[_Operation, ...]


class _V1Version(BaseModel):
    number: int
    message: str | None = None
    by: Person | None = None


class _V1Page(BaseModel):
    id: str
    title: str
    version: _V1Version
    links: ContentLinks = Field(default_factory=no_links, alias="_links")

    def page(self, base: str) -> WrittenPage:
        version = self.version
        author = version.by.id if version.by else ""
        url = web_address(self.links.base or base, self.links.webui)
        return WrittenPage(self.id, self.title, version.number, author, version.message or "", url)


class CloudWriter:
    """Writes pages of Confluence Cloud. Implements ``PageWriter``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def find(self, page_id: str) -> WrittenPage:
        path = f"/api/v2/pages/{path_segment(page_id)}"
        answer = await self._transport.get(path, {"status": "current"}, shape=_V2Page)
        return answer.value.page(_base(self._transport))

    async def create(
        self, space: WikiSpace, parent_id: str, title: str, *, private: bool
    ) -> WrittenPage:
        body = {
            "spaceId": space.id,
            "status": "current",
            "title": title,
            "parentId": parent_id,
            "body": {"representation": "storage", "value": ""},
        }
        query: Query = {"private": "true"} if private else {}
        made = await _sent(self._transport, "POST", "/api/v2/pages", body, _V2Page, query)
        return made.page(_base(self._transport))

    async def restrict(self, page_id: str, readers: Subjects) -> None:
        users = [{"type": "known", "accountId": each} for each in sorted(readers.users)]
        groups = [{"type": "group", "id": each} for each in sorted(readers.groups)]
        # A list of nobody is not taken; it has to be left out.
        named = {"user": users} | ({"group": groups} if groups else {})
        body = [{"operation": "read", "restrictions": named}]
        path = f"/rest/api/content/{path_segment(page_id)}/restriction"
        await _replace_restrictions(self._transport, path, readers, body)

    async def update(self, page: WrittenPage, title: str, storage: str, message: str) -> None:
        body = {
            "id": page.id,
            "status": "current",
            "title": title,
            "body": {"representation": "storage", "value": storage},
            "version": {"number": page.version + 1, "message": message},
        }
        await _send(self._transport, "PUT", f"/api/v2/pages/{path_segment(page.id)}", body)

    async def may_create(self, space: WikiSpace) -> bool | None:
        path = f"/api/v2/spaces/{path_segment(space.id)}/operations"
        told = (await self._transport.get(path, shape=_Operations)).value.operations
        return any((each.operation, each.target) == ("create", "page") for each in told)


class DataCenterWriter:
    """Writes pages of Confluence Data Center. Implements ``PageWriter``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def find(self, page_id: str) -> WrittenPage:
        path = f"/rest/api/content/{path_segment(page_id)}"
        query: Query = {"expand": "version", "status": "current"}
        answer = await self._transport.get(path, query, shape=_V1Page)
        return answer.value.page(_base(self._transport))

    async def create(
        self,
        space: WikiSpace,
        parent_id: str,
        title: str,
        *,
        private: bool,  # noqa: ARG002 - the port's; there is no such thing here
    ) -> WrittenPage:
        body = {
            "type": "page",
            "title": title,
            "space": {"key": space.key},
            "ancestors": [{"id": parent_id}],
            "body": {"storage": {"value": "", "representation": "storage"}},
        }
        query: Query = {"expand": "version"}
        made = await _sent(self._transport, "POST", "/rest/api/content", body, _V1Page, query)
        return made.page(_base(self._transport))

    async def restrict(self, page_id: str, readers: Subjects) -> None:
        users = [{"type": "known", "userKey": each} for each in sorted(readers.users)]
        groups = [{"type": "group", "name": each} for each in sorted(readers.groups)]
        body = [
            {"operation": "read", "restrictions": {"user": users, "group": groups}},
            {"operation": "update", "restrictions": {"user": [], "group": []}},
        ]
        path = f"/rest/experimental/content/{path_segment(page_id)}/restriction"
        await _replace_restrictions(self._transport, path, readers, body)

    async def update(self, page: WrittenPage, title: str, storage: str, message: str) -> None:
        body = {
            "id": page.id,
            "type": "page",
            "status": "current",
            "title": title,
            "body": {"storage": {"value": storage, "representation": "storage"}},
            "version": {"number": page.version + 1, "message": message},
        }
        await _send(self._transport, "PUT", f"/rest/api/content/{path_segment(page.id)}", body)

    async def may_create(self, space: WikiSpace) -> bool | None:  # noqa: ARG002 - the port's
        """Return None: its API tells rights to administrators of a space alone."""
        return None


def page_writer(transport: Transport) -> PageWriter:
    """Return what writes pages of the edition of a site."""
    cloud = transport.address.edition == "cloud"
    return CloudWriter(transport) if cloud else DataCenterWriter(transport)


def _base(transport: Transport) -> str:
    return str(transport.address.base)


async def _replace_restrictions(
    transport: Transport, path: str, readers: Subjects, body: object
) -> None:
    if readers.empty:
        await _send(transport, "DELETE", path, None)
    else:
        await _send(transport, "PUT", path, body)


async def _sent(
    transport: Transport,
    method: Literal["POST"],
    path: str,
    body: Mapping[str, object],
    shape: type[Shape],
    query: Query,
) -> Shape:
    raw = await _send(transport, method, path, body, query)
    try:
        return shape.model_validate_json(raw)
    except ValidationError as error:
        raise WikiUnavailable(
            f"{method} {path} was answered in a shape that Frontdesk does not know."
        ) from error


async def _send(
    transport: Transport, method: str, path: str, body: object, query: Query | None = None
) -> bytes:
    status, raw = await transport.send(method, path, body, query)
    if status not in _DONE:
        raise WriteRejected(f"Confluence answers {status} to {method} {path}.{_said(raw)}", status)
    return raw


_LONGEST = 200


def _said(raw: bytes) -> str:
    """Return what Confluence says of a rejection, in one line; "" if that can't be read."""
    try:
        told = json.loads(raw)
        errors = told.get("errors") or [{}]
        said = told.get("message") or errors[0].get("title") or errors[0].get("detail") or ""
    except (ValueError, AttributeError, LookupError, TypeError):
        return ""
    return f" It says: {' '.join(str(said).split())[:_LONGEST]}" if said else ""

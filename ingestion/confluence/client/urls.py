"""Parse web addresses of Confluence pages and spaces; build parts of request addresses. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote_plus, urlsplit

_NUMBER = r"(?P<id>[0-9]{1,19})"
_PAGE = re.compile(
    rf"/spaces/(?P<space>[^/]+)/(?:pages|blog/[0-9]{{4}}/[0-9]{{2}}/[0-9]{{2}})/{_NUMBER}(?:/|$)"
)
_EDITED = re.compile(rf"/spaces/(?P<space>[^/]+)/pages/(?:edit|edit-v2|resumedraft)/{_NUMBER}")
_DISPLAYED = re.compile(r"/display/(?P<space>[^/]+)(?:/(?P<title>[^/]+))?/?$")
_BLOG_DISPLAYED = re.compile(r"/display/(?P<space>[^/]+)/\d{4}/\d{2}/\d{2}/(?P<title>[^/]+)/?$")
_SPACE = re.compile(r"/spaces/(?P<space>[^/]+)(?:/|$)")
_TINY = re.compile(r"/x/(?P<tiny>[A-Za-z0-9_-]{1,11})/?$")
_API = re.compile(rf"/(?:api/v2/(?:pages|blogposts)|rest/api/content)/{_NUMBER}(?:/|$)")
_BY_ID = re.compile(r"/pages/[a-z]+\.action$")
_LONGEST_TINY = 11
_BYTES = 8


@dataclass(frozen=True, slots=True)
class AddressTarget:
    """The target of an address: a page by ``page_id``, or by ``title`` in ``space``, or a space.

    ``attachment_id`` is set where the address shows a file of the page.
    """

    page_id: str | None = None
    space: str | None = None
    title: str | None = None
    attachment_id: str | None = None


def address_target(url: str) -> AddressTarget | None:
    """Return the target of an address on any site; None for other addresses.

    A bare page id is accepted too. Short links (``/x/…``) encode the id, so no request is needed.
    """
    if re.fullmatch(_NUMBER, url.strip()):
        return AddressTarget(page_id=url.strip())
    parts = urlsplit(url.strip())
    return _by_query(parts.path, parse_qs(parts.query)) or _by_path(parts.path)


def _by_query(path: str, query: dict[str, list[str]]) -> AddressTarget | None:
    if not _BY_ID.search(path):
        return None
    page_id = query.get("pageId", query.get("draftId", [""]))[0]
    if re.fullmatch(_NUMBER, page_id):
        return AddressTarget(page_id=page_id, attachment_id=_previewed(query, page_id))
    space, title = query.get("spaceKey", [""])[0], query.get("title", [""])[0]
    return AddressTarget(space=space, title=title) if space and title else None


def _previewed(query: dict[str, list[str]], page_id: str) -> str | None:
    """Return the attachment id in ``preview=/PAGE/ATTACHMENT/name``."""
    found = re.match(rf"/{page_id}/{_NUMBER}(?:/|$)", query.get("preview", [""])[0])
    return f"att{found['id']}" if found else None


def _by_path(path: str) -> AddressTarget | None:
    for pattern in (_EDITED, _PAGE, _API, _BLOG_DISPLAYED, _DISPLAYED, _SPACE):
        if found := pattern.search(path):
            return _target_of_match(found.groupdict())
    found = _TINY.search(path)
    page_id = _id_of_tiny_link(found["tiny"]) if found else None
    return AddressTarget(page_id=page_id) if page_id else None


def _target_of_match(found: dict[str, str | None]) -> AddressTarget:
    space, title = found.get("space"), found.get("title")
    return AddressTarget(
        page_id=found.get("id"),
        space=unquote_plus(space) if space else None,
        title=unquote_plus(title) if title else None,
    )


def _id_of_tiny_link(tiny: str) -> str | None:
    """Return the page id of a short link: little-endian base64 without its trailing zeros."""
    text = tiny.replace("-", "/").replace("_", "+").ljust(_LONGEST_TINY, "A") + "="
    try:
        number = int.from_bytes(base64.b64decode(text, validate=True)[:_BYTES], "little")
    except (binascii.Error, ValueError):
        return None
    return str(number) if 0 < number < 2**63 else None


KEYS_PER_REQUEST = 50


def web_address(base: str, webui: str) -> str:
    """Return the web address of a page; ``webui`` is relative to the site's base."""
    return f"{base.rstrip('/')}/{webui.lstrip('/')}"


def path_segment(value: str) -> str:
    """Return an id or name encoded as one path segment."""
    return quote(value, safe="")


def cql_quoted(value: str) -> str:
    """Return a text quoted for CQL."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def key_batches(keys: Sequence[str] | None) -> list[Sequence[str]]:
    """Return the keys in batches that fit into an address; one empty batch requests all."""
    if keys is None:
        return [()]
    return [keys[at : at + KEYS_PER_REQUEST] for at in range(0, len(keys), KEYS_PER_REQUEST)]

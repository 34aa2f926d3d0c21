"""Where people open things, as both APIs link to them."""

from __future__ import annotations

import base64
from urllib.parse import quote, quote_plus, urlencode

from tests.confluence.content import Attachment, Content, Space


def tiny(content: Content) -> str:
    """Return the short address of a page: its number, little-endian, in Base64."""
    raw = content.number.to_bytes(8, "little").rstrip(b"\0")
    coded = base64.b64encode(raw).decode().rstrip("=").rstrip("A")
    return "/x/" + coded.replace("/", "-").replace("+", "_")


def cloud_page(content: Content, space: Space) -> str:
    """Return where Cloud shows something, relative to the base; not ASCII is left out there."""
    if content.kind == "folder":
        return f"/spaces/{space.key}/folder/{content.id}"
    if content.kind == "blogpost":
        day = f"{content.created:%Y/%m/%d}"
        return f"/spaces/{space.key}/blog/{day}/{content.id}{_slug(content.title)}"
    if content.id == space.home:
        return f"/spaces/{space.key}/overview"
    return f"/spaces/{space.key}/pages/{content.id}{_slug(content.title)}"


def data_center_page(content: Content, space: Space) -> str:
    """Return where Data Center shows something: by title where the title lets it."""
    if content.kind == "blogpost":
        return f"/display/{space.key}/{content.created:%Y/%m/%d}/{quote_plus(content.title)}"
    plain = content.title.isascii() and not set(content.title) & set('+?%&"/\\;:.')
    if plain:
        return f"/display/{space.key}/{quote_plus(content.title)}"
    return f"/pages/viewpage.action?pageId={content.id}"


def download(file: Attachment) -> str:
    """Return where a file is fetched, relative to the base."""
    asked = {
        "version": file.version,
        "modificationDate": int(file.updated.timestamp() * 1000),
        "cacheVersion": 1,
        "api": "v2",
    }
    return f"/download/attachments/{file.page}/{quote(file.name, safe='')}?{urlencode(asked)}"


def preview(file: Attachment) -> str:
    """Return where people look at a file."""
    number = file.id.removeprefix("att")
    shown = quote(f"/{file.page}/{number}/{file.name}", safe="")
    return f"/pages/viewpageattachments.action?pageId={file.page}&preview={shown}"


def _slug(title: str) -> str:
    words = quote_plus("".join(letter for letter in title if letter.isascii()).strip())
    return f"/{words}" if words else ""

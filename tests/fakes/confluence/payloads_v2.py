"""JSON of Cloud's newer API, in the shapes that were recorded of it, with links and dates."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

from tests.fakes.confluence.content import Attachment, Content, Space
from tests.fakes.confluence.requests import Call, Json, Piece, query


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


def in_utc(moment: datetime) -> str:
    """Return a date as Cloud writes it: ``2026-11-23T09:00:01.000Z``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def in_zone(moment: datetime, zone: tzinfo) -> str:
    """Return a date as Data Center writes it: ``2026-11-23T10:00:01.000+01:00``."""
    return moment.astimezone(zone).isoformat(timespec="milliseconds")


LABELS = 50
"""How many labels a page brings along; more are asked for on their own."""


def account(call: Call, handle: str) -> str:
    """Return what Cloud calls somebody; who left keeps their id."""
    person = call.site.people.get(handle)
    return person.account_id if person else f"712020:{handle}"


def space_json(call: Call, space: Space) -> Json:
    return {
        "id": space.id,
        "key": space.key,
        "name": space.name,
        "type": space.kind,
        "status": space.status,
        "authorId": account(call, "admin"),
        "createdAt": "2020-01-01T00:00:00.000Z",
        "homepageId": space.home,
        "currentActiveAlias": space.key,
        "description": None,
        "icon": None,
        "_links": {"webui": f"/spaces/{space.key}"},
    }


def content_json(call: Call, content: Content, body: str | None = None) -> Json:
    """Return a page or blog post; ``body`` is the format of its text, if it is wanted."""
    space = call.site.spaces[content.space]
    author = account(call, content.author)
    told: Json = {
        "id": content.id,
        "status": content.status,
        "title": content.title,
        "spaceId": space.id,
        "authorId": author,
        "createdAt": in_utc(content.created),
        "version": {
            "number": content.version,
            "message": content.message,
            "minorEdit": content.minor,
            "authorId": account(call, content.updated_by),
            "createdAt": in_utc(content.updated),
            "ncsStepVersion": None,
        },
        "body": {body: {"representation": body, "value": content.storage}} if body else {},
        "_links": {
            "webui": cloud_page(content, space),
            "editui": f"/pages/resumedraft.action?draftId={content.id}",
            "edituiv2": f"/spaces/{space.key}/pages/edit-v2/{content.id}",
            "tinyui": tiny(content),
        },
    }
    if content.kind == "page":
        told |= _place(call, content) | {"ownerId": author, "lastOwnerId": None, "subtype": ""}
    return told


def _place(call: Call, content: Content) -> Json:
    parent = call.site.contents.get(content.parent or "")
    return {
        "parentId": parent.id if parent else None,
        "parentType": parent.kind if parent else None,
        "position": content.position,
    }


def folder_json(call: Call, content: Content) -> Json:
    """Return a folder, whiteboard or database."""
    told = content_json(call, content)
    del told["body"]
    return {**told, **_place(call, content), "type": content.kind}


def child_json(call: Call, content: Content) -> Json:
    """Return a page as one of its parent's children."""
    return {
        "id": content.id,
        "status": content.status,
        "title": content.title,
        "spaceId": call.site.spaces[content.space].id,
        "childPosition": content.position,
    }


def label_json(call: Call, label: str) -> Json:
    return {"id": str(abs(hash_of(label))), "name": label, "prefix": "global"}


def hash_of(label: str) -> int:
    """Return a label's number, the same in every run."""
    return int.from_bytes(label.encode()[:6].ljust(6, b"\1"), "big")


def with_labels(call: Call, content: Content) -> Json:
    """Return what ``include-labels`` adds to a page."""
    return {
        "labels": {
            "results": [label_json(call, label) for label in content.labels[:LABELS]],
            "meta": {"hasMore": len(content.labels) > LABELS, "cursor": ""},
            "_links": {"self": f"{call.context}/api/v2/pages/{content.id}/labels"},
        }
    }


def attachment_json(call: Call, file: Attachment) -> Json:
    return {
        "id": file.id,
        "status": file.status,
        "title": file.name,
        "createdAt": in_utc(file.updated),
        "pageId": file.page,
        "mediaType": file.media_type,
        "mediaTypeDescription": "File",
        "comment": "",
        "fileId": f"file-{file.id}",
        "fileSize": file.size,
        "webuiLink": preview(file),
        "downloadLink": download(file),
        "version": {
            "number": file.version,
            "message": "",
            "minorEdit": False,
            "authorId": account(call, file.author),
            "createdAt": in_utc(file.updated),
        },
        "_links": {"webui": preview(file), "download": download(file)},
    }


def permissions_json(call: Call, space: Space) -> list[Json]:
    """Return a space's assignments, those to read it among others that a reader must skip.

    How those are told that cover people who are not signed in was not recorded: the reference
    knows user, group and role. The option ``anonymous_principal`` says it otherwise.
    """
    site = call.site
    principals = [("user", account(call, user)) for user in sorted(space.readers.users)]
    principals += [("group", site.groups[g].id) for g in sorted(space.readers.groups)]
    read = [_assigned({"type": kind, "id": number}, "read") for kind, number in principals]
    if space.readers.anonymous:
        role = {"type": "role", "id": "anonymous-users"}
        read.append(_assigned(call.options.get("anonymous_principal", role), "read"))
    writer = {"type": "user", "id": account(call, "nobody-who-reads")}
    others = [_assigned(writer, "create", "page"), _assigned(writer, "administer")]
    return [{"id": str(n), **each} for n, each in enumerate([*others, *read], start=1)]


def _assigned(principal: Json | None, key: str, target: str = "space") -> Json:
    return {"principal": principal, "operation": {"key": key, "targetType": target}}


def listing(call: Call, piece: Piece[Any], results: Sequence[Json]) -> Json:
    """Return a list with the link to what follows: from the host's root, context and all."""
    following: Json = {}
    if piece.cursor:
        following["next"] = f"{call.context}{call.path}?{query(call, cursor=piece.cursor)}"
    return {"results": list(results), "_links": {**following, "base": call.base}}


FORMATS: Collection[str] = ("storage", "atlas_doc_format")
SINGLE_FORMATS: Collection[str] = (
    *FORMATS,
    "view",
    "export_view",
    "anonymous_export_view",
    "styled_view",
    "editor",
)

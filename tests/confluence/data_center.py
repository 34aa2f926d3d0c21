"""Data Center's API of pages, blog posts and files: lists go by ``start`` and ``limit``."""

from __future__ import annotations

from tests.confluence.call import Answer, Call, Refusal, route
from tests.confluence.content import Attachment, Content
from tests.confluence.paging import by_cursor, by_start
from tests.confluence.restricting import restriction
from tests.confluence.searching import searched
from tests.confluence.shapes_v1 import attachment_json, content_json, expanded, label_json, listing

MOST = 500
MOST_EXPANDED = 200
MOST_WITH_BODY = 50
KINDS = ("page", "blogpost")


def content_list(call: Call) -> Answer:
    wanted = expanded(call)
    piece = by_start(call, _listed(call), call.limit(25, _most(wanted)))
    call.check(wanted, piece.items)
    return Answer(listing(call, piece, [content_json(call, c, wanted) for c in piece.items]))


def scan(call: Call) -> Answer:
    """All content by cursor, which does not shift (7.18 and later)."""
    if call.options.get("before_7_18"):
        raise Refusal(404, "null for uri: /rest/api/content/scan")
    wanted = expanded(call)
    piece = by_cursor(call, _listed(call), call.limit(25, _most(wanted)), lambda c: (c.number,))
    call.check(wanted, piece.items)
    told = [content_json(call, each, wanted) for each in piece.items]
    cursors = {"nextCursor": piece.cursor} if piece.cursor else {}
    return Answer({**listing(call, piece, told, cursor=True), **cursors})


def content_search(call: Call) -> Answer:
    wanted = expanded(call)
    piece = by_start(call, searched(call), call.limit(25, _most(wanted)))
    _check_drafts(call, wanted)
    call.check(wanted, piece.items)
    return Answer(listing(call, piece, [content_json(call, c, wanted) for c in piece.items]))


def content(call: Call) -> Answer:
    """One page; whatever is not current has to be asked for by its status."""
    wanted = expanded(call)
    found = call.content(call.names["id"])
    if call.sent.get("status", "current") not in {found.status, "any"}:
        raise Refusal(404, f"No content found with id: ContentId{{id={found.id}}}")
    call.check(wanted, [found])
    told = content_json(call, found, wanted)
    return Answer({**told, "_links": {**told["_links"], **call.where}})


def labels(call: Call) -> Answer:
    found = call.content(call.names["id"])
    piece = by_start(call, found.labels, call.limit(200, 200))
    return Answer(listing(call, piece, [label_json(label) for label in piece.items]))


def children(call: Call) -> Answer:
    wanted = expanded(call)
    found = [
        child
        for child in call.site.children(call.content(call.names["id"]).id)
        if child.kind == "page" and child.status == "current" and call.sees(child)
    ]
    piece = by_start(call, found, call.limit(25, _most(wanted)))
    return Answer(listing(call, piece, [content_json(call, c, wanted) for c in piece.items]))


def attachments(call: Call) -> Answer:
    wanted = expanded(call)
    files = [
        file
        for file in call.content(call.names["id"]).attachments.values()
        if call.sent.get("filename") in {None, file.name}
        and call.sent.get("mediaType") in {None, file.media_type}
    ]
    piece = by_start(call, files, call.limit(50, _most(wanted)))
    return Answer(listing(call, piece, [attachment_json(call, f, wanted) for f in piece.items]))


def download(call: Call) -> Answer:
    """Hand a file out right here; Data Center has no media host."""
    files = call.content(call.names["id"]).attachments.values()
    file: Attachment | None = next((f for f in files if f.name == call.names["name"]), None)
    if file is None:
        raise Refusal(404, "Page Not Found")
    return Answer(
        headers={"Content-Type": file.media_type, "Content-Disposition": "attachment"},
        file=(file.content, file.size),
    )


def _most(wanted: frozenset[str]) -> int:
    return MOST_WITH_BODY if "body" in wanted else MOST_EXPANDED if wanted else MOST


def _listed(call: Call) -> list[Content]:
    kind, status = call.sent.get("type", "page"), call.sent.get("status", "current")
    key, title = call.sent.get("spaceKey"), call.sent.get("title")
    if kind not in KINDS:
        raise Refusal(400, f"type must be of {KINDS}, not {kind!r}")
    if key is not None:
        call.space(call.site.spaces.get(key))
    asked = ("content", kind, status, key, title, call.handle, frozenset(call.blind))
    return call.site.keeping(
        asked,
        lambda: sorted(
            (
                content
                for content in call.site.contents.values()
                if content.kind == kind
                and status in {content.status, "any"}
                and key in {None, content.space}
                and title in {None, content.title}
                and call.sees(content)
            ),
            key=lambda content: content.number,
        ),
    )


def _check_drafts(call: Call, wanted: frozenset[str]) -> None:
    """Fail as Confluence does where somebody else's draft is about (CONFCLOUD-77618)."""
    if not any(name.startswith("ancestors.restrictions") for name in wanted):
        return
    if any(c.status == "draft" and not call.sees(c) for c in call.site.contents.values()):
        raise Refusal(404, "No content found")


PIECES = "start limit expand"
OF_CONTENT = "type spaceKey title status expand limit"
ROUTES = (
    route("content", "/rest/api/content", content_list, f"{OF_CONTENT} start orderby postingDay"),
    route("scan", "/rest/api/content/scan", scan, f"{OF_CONTENT} cursor"),
    route("content-search", "/rest/api/content/search", content_search, f"{PIECES} cql cqlcontext"),
    route("page", "/rest/api/content/{id}", content, "expand status version"),
    route(
        "restriction", "/rest/api/content/{id}/restriction/byOperation/read", restriction, PIECES
    ),
    route("labels", "/rest/api/content/{id}/label", labels, "prefix start limit"),
    route("children", "/rest/api/content/{id}/child/page", children, PIECES),
    route(
        "attachments",
        "/rest/api/content/{id}/child/attachment",
        attachments,
        f"{PIECES} filename mediaType",
    ),
    route(
        "download",
        "/download/attachments/{id}/{name}",
        download,
        "version modificationDate cacheVersion api download",
    ),
)

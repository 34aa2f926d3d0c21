"""Cloud's newer API: spaces, pages, blog posts, and what hangs on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.confluence.call import Answer, Call, Refusal, route
from tests.confluence.content import Content, Space
from tests.confluence.paging import Key, by_cursor
from tests.confluence.shapes_v2 import (
    FORMATS,
    SINGLE_FORMATS,
    attachment_json,
    child_json,
    content_json,
    folder_json,
    label_json,
    listing,
    permissions_json,
    space_json,
    with_labels,
)

MOST = 250
STATUSES = {"current", "archived", "deleted", "trashed"}
SORTS: dict[str, Callable[[Content], float]] = {
    "id": lambda content: content.number,
    "modified-date": lambda content: content.updated.timestamp(),
    "created-date": lambda content: content.created.timestamp(),
}


def spaces(call: Call) -> Answer:
    keys, ids = call.listed("keys"), call.listed("ids")
    status, kind = call.sent.get("status"), call.sent.get("type")
    found = [
        space
        for space in sorted(call.site.spaces.values(), key=_space_key)
        if call.views(space)
        and (not keys or space.key in keys)
        and (not ids or space.id in ids)
        and status in {None, space.status}
        and kind in {None, space.kind}
    ]
    piece = by_cursor(call, found, call.limit(25, MOST, strict=True), _space_key)
    return Answer(listing(call, piece, [space_json(call, each) for each in piece.items]))


def space(call: Call) -> Answer:
    told = space_json(call, _space(call))
    return Answer({**told, "_links": {**told["_links"], "base": call.base}})


def space_permissions(call: Call) -> Answer:
    found = permissions_json(call, _space(call))
    piece = by_cursor(call, found, call.limit(25, MOST, strict=True), lambda e: (int(e["id"]),))
    return Answer(listing(call, piece, piece.items))


def space_pages(call: Call) -> Answer:
    depth = call.sent.get("depth", "all")
    if depth not in {"all", "root"}:
        raise Refusal(400, f"depth must be all or root, not {depth!r}")
    found = _listed(call, "page", (_space(call),))
    return _contents(call, [c for c in found if depth == "all" or c.parent is None])


def space_blogposts(call: Call) -> Answer:
    return _contents(call, _listed(call, "blogpost", (_space(call),)))


def pages(call: Call) -> Answer:
    return _contents(call, _listed(call, "page", _asked_spaces(call)))


def blogposts(call: Call) -> Answer:
    return _contents(call, _listed(call, "blogpost", _asked_spaces(call)))


def page(call: Call) -> Answer:
    """One page. Without ``status`` an archived or trashed one is told too, with its status."""
    kind = call.path.split("/")[3].removesuffix("s")
    content = call.content(call.names["id"], kind)
    wanted = call.listed("status") or ["current", "archived", "trashed"]
    if call.sent.get("get-draft") == "true":
        wanted.append("draft")
    if content.status not in wanted:
        raise Refusal(404, "Not Found")
    body = call.sent.get("body-format")
    if body is not None and body not in SINGLE_FORMATS:
        raise Refusal(400, f"body-format must be one of {SINGLE_FORMATS}, not {body!r}")
    told = content_json(call, content, body)
    if call.sent.get("include-labels") == "true":
        told |= with_labels(call, content)
    told["_links"]["base"] = call.base
    return Answer(told)


def folder(call: Call) -> Answer:
    kind = call.path.split("/")[3].removesuffix("s")
    return Answer(folder_json(call, call.content(call.names["id"], kind)))


def ancestors(call: Call) -> Answer:
    """What a page hangs under, outermost first; the limit keeps those nearest to it."""
    content = call.content(call.names["id"])
    above = call.site.ancestors(content.id)[-call.limit(25, MOST, strict=True) :]
    told = [{"id": each.id, "type": each.kind} for each in above]
    return Answer({"results": told, "_links": {"base": call.base}})


def labels(call: Call) -> Answer:
    content = call.content(call.names["id"])
    piece = by_cursor(call, sorted(content.labels), call.limit(25, MOST, strict=True))
    return Answer(listing(call, piece, [label_json(call, label) for label in piece.items]))


def attachments(call: Call) -> Answer:
    content = call.content(call.names["id"])
    found = [
        file
        for file in content.attachments.values()
        if call.sent.get("filename") in {None, file.name}
        and call.sent.get("mediaType") in {None, file.media_type}
    ]
    limit = call.limit(50, MOST, strict=True)
    piece = by_cursor(call, found, limit, lambda file: (int(file.id.removeprefix("att")),))
    return Answer(listing(call, piece, [attachment_json(call, file) for file in piece.items]))


def children(call: Call) -> Answer:
    content = call.content(call.names["id"])
    found = [c for c in call.site.children(content.id) if c.status == "current" and call.sees(c)]
    limit = call.limit(25, MOST, strict=True)
    piece = by_cursor(call, found, limit, lambda child: (child.position,))
    return Answer(listing(call, piece, [child_json(call, child) for child in piece.items]))


def _space_key(each: Space) -> Key:
    return (int(each.id),)


def _space(call: Call) -> Space:
    asked = call.names["id"]
    return call.space(next((s for s in call.site.spaces.values() if s.id == asked), None))


def _asked_spaces(call: Call) -> Iterable[Space]:
    wanted = call.listed("space-id")
    return [s for s in call.site.spaces.values() if not wanted or s.id in wanted]


def _listed(call: Call, kind: str, among: Iterable[Space]) -> list[Content]:
    """Return what a list holds, in its order; archived things too, unless it says otherwise."""
    statuses = call.listed("status") or ["current", "archived"]
    if not STATUSES.issuperset(statuses):
        raise Refusal(400, f"status must be of {sorted(STATUSES)}, not {statuses}")
    sort = call.sent.get("sort", "id")
    if sort.removeprefix("-") not in SORTS:
        raise Refusal(400, f"sort must be of {sorted(SORTS)}, not {sort!r}")
    keys = tuple(sorted(space.key for space in among))
    asked = ("listed", kind, keys, tuple(statuses), sort, call.handle, frozenset(call.blind))
    found = call.site.keeping(asked, lambda: _in_order(call, kind, set(keys), statuses))
    ids, title = call.listed("id"), call.sent.get("title")
    if not ids and title is None:
        return found
    return [c for c in found if (not ids or c.id in ids) and title in {None, c.title}]


def _in_order(call: Call, kind: str, keys: set[str], statuses: list[str]) -> list[Content]:
    found = [
        content
        for content in call.site.contents.values()
        if content.kind == kind
        and content.space in keys
        and content.status in statuses
        and call.sees(content)
    ]
    return sorted(found, key=_order(call))


def _order(call: Call) -> Callable[[Content], Key]:
    sort = call.sent.get("sort", "id")
    sign, value = (-1 if sort.startswith("-") else 1), SORTS[sort.removeprefix("-")]
    return lambda content: (sign * value(content), sign * content.number)


def _contents(call: Call, found: list[Content]) -> Answer:
    body = call.sent.get("body-format")
    if body is not None and body not in FORMATS:
        raise Refusal(400, f"body-format of a list must be one of {FORMATS}, not {body!r}")
    piece = by_cursor(call, found, call.limit(25, MOST, strict=True), _order(call))
    return Answer(listing(call, piece, [content_json(call, each, body) for each in piece.items]))


PIECES = "cursor limit"
OF_A_LIST = f"{PIECES} sort status title body-format"
OF_ONE = "body-format get-draft status version include-labels include-properties include-version"
ROUTES = (
    route("spaces", "/api/v2/spaces", spaces, f"{PIECES} ids keys type status sort labels"),
    route("space", "/api/v2/spaces/{id}", space, "description-format include-icon"),
    route("space-permissions", "/api/v2/spaces/{id}/permissions", space_permissions, PIECES),
    route("space-pages", "/api/v2/spaces/{id}/pages", space_pages, f"{OF_A_LIST} depth"),
    route("space-blogposts", "/api/v2/spaces/{id}/blogposts", space_blogposts, OF_A_LIST),
    route("pages", "/api/v2/pages", pages, f"{OF_A_LIST} id space-id subtype"),
    route("blogposts", "/api/v2/blogposts", blogposts, f"{OF_A_LIST} id space-id"),
    route("page", "/api/v2/pages/{id}", page, OF_ONE),
    route("blogpost", "/api/v2/blogposts/{id}", page, OF_ONE),
    *(
        route(kind, f"/api/v2/{kind}s/{{id}}", folder)
        for kind in ("folder", "whiteboard", "database")
    ),
    *(
        route("ancestors", f"/api/v2/{kind}/{{id}}/ancestors", ancestors, "limit")
        for kind in ("pages", "folders", "whiteboards", "databases")
    ),
    *(
        route(kind, f"/api/v2/{where}/{{id}}/{kind}", effect, f"{PIECES} {params}")
        for where in ("pages", "blogposts")
        for kind, effect, params in (
            ("labels", labels, "sort prefix"),
            ("attachments", attachments, "sort status filename mediaType"),
        )
    ),
    route("children", "/api/v2/pages/{id}/children", children, f"{PIECES} sort"),
)

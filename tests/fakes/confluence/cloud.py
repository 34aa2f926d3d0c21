"""Routes of Cloud's two APIs: the older one as far as it still exists, and the newer one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import quote

from tests.fakes.confluence.content import Content, Person, Space
from tests.fakes.confluence.payloads_v1 import content_json as v1_content_json
from tests.fakes.confluence.payloads_v1 import expanded, group_json, person_json, restriction
from tests.fakes.confluence.payloads_v1 import listing as v1_listing
from tests.fakes.confluence.payloads_v2 import (
    FORMATS,
    SINGLE_FORMATS,
    attachment_json,
    child_json,
    folder_json,
    in_utc,
    label_json,
    permissions_json,
    space_json,
    with_labels,
)
from tests.fakes.confluence.payloads_v2 import content_json as v2_content_json
from tests.fakes.confluence.payloads_v2 import listing as v2_listing
from tests.fakes.confluence.requests import (
    Answer,
    Call,
    Json,
    Key,
    Refusal,
    by_cursor,
    by_start,
    route,
)
from tests.fakes.confluence.search import found_people, searched

MOST_V1 = 1000
MOST_EXPANDED = 200
MOST_WITH_BODY = 50


def content_search(call: Call) -> Answer:
    wanted = expanded(call)
    most = MOST_WITH_BODY if "body" in wanted else MOST_EXPANDED if wanted else MOST_V1
    piece = by_cursor(call, searched(call), call.limit(25, most))
    call.check(wanted, piece.items)
    told = [v1_content_json(call, each, wanted) for each in piece.items]
    return Answer(v1_listing(call, piece, told, cursor=True))


def search(call: Call) -> Answer:
    piece = by_cursor(call, searched(call), call.limit(25, MOST_V1))
    told = [_hit(call, each) for each in piece.items]
    return Answer(v1_listing(call, piece, told, cursor=True) | {"totalSize": len(searched(call))})


def content(call: Call) -> Answer:
    """One page the old way: gone for OAuth since April 2026, on its way out for the rest."""
    if call.oauth:
        raise Refusal(410, "This deprecated endpoint has been removed.")
    found = call.content(call.names["id"])
    if found.status != call.sent.get("status", "current"):
        raise Refusal(404, "No content found")
    told = v1_content_json(call, found, expanded(call))
    return Answer({**told, "_links": {**told["_links"], **call.where}})


def permission_check(call: Call) -> Answer:
    found = call.content(call.names["id"])
    subject = call.body.get("subject", {})
    if call.body.get("operation") != "read" or subject.get("type") != "user":
        raise Refusal(400, "operation must be read and subject a user", unexpected=True)
    person = _account(call, str(subject.get("identifier")))
    allowed = call.site.oracle.permits(person.handle, found)
    return Answer({"hasPermission": allowed, "errors": []})


def download(call: Call) -> Answer:
    """Send to the media host, which is elsewhere and has no business with the token."""
    page = call.content(call.names["id"])
    file = next(
        (
            each
            for each in page.attachments.values()
            if call.names.get("name") == each.name or call.names.get("file") == each.id
        ),
        None,
    )
    if file is None:
        raise Refusal(404, "No attachment found")
    ticket = f"{call.media}/file/{file.id}/binary?token=once-{file.id}&name={quote(file.name)}"
    return Answer(status=302, headers={"Location": ticket})


def user(call: Call) -> Answer:
    return Answer(person_json(call, _account(call, call.sent.get("accountId", ""))))


def current_user(call: Call) -> Answer:
    if call.person is None:
        return Answer({"type": "anonymous", "displayName": "Anonymous"})
    shown = person_json(call, call.person)
    return Answer({**shown, "email": call.person.email})


def memberof(call: Call) -> Answer:
    person = _account(call, call.sent.get("accountId", ""))
    piece = by_start(call, call.site.groups_of(person.handle), call.limit(200, 200))
    return Answer(v1_listing(call, piece, [group_json(call, each) for each in piece.items]))


def search_user(call: Call) -> Answer:
    found = found_people(call)
    piece = by_start(call, found, call.limit(25, MOST_V1))
    told = [_person_hit(call, each) for each in piece.items]
    return Answer(v1_listing(call, piece, told) | {"totalSize": len(found)})


def group_by_name(call: Call) -> Answer:
    group = call.site.groups.get(call.sent.get("name", ""))
    if group is None or call.person is None:
        raise Refusal(404, "No group found")
    return Answer(group_json(call, group))


def group_members(call: Call) -> Answer:
    for group in call.site.groups.values():
        if group.id == call.names["id"] and call.person is not None:
            members = [call.site.people[handle] for handle in sorted(group.members)]
            piece = by_start(call, members, call.limit(200, 200))
            return Answer(
                v1_listing(call, piece, [person_json(call, each) for each in piece.items])
            )
    raise Refusal(404, "No group found")


def _account(call: Call, account: str) -> Person:
    for person in call.site.people.values():
        if person.account_id == account and call.person is not None:
            return person
    raise Refusal(404, f"No user found with account id {account!r}")


def _hit(call: Call, each: Content) -> Json:
    space = call.site.spaces[each.space]
    told = v1_content_json(call, each, frozenset())
    return {
        "content": told,
        "title": each.title,
        "excerpt": "",
        "url": told["_links"]["webui"],
        "resultGlobalContainer": {"title": space.name, "displayUrl": f"/spaces/{space.key}"},
        "entityType": "content",
        "lastModified": in_utc(each.updated),
        "friendlyLastModified": "just now",
    }


def _person_hit(call: Call, person: Person) -> Json:
    return {
        "user": person_json(call, person),
        "title": person.name,
        "excerpt": "",
        "url": f"/people/{person.account_id}",
        "entityType": "user",
    }


CQL = "cql cqlcontext expand limit cursor start next prev"
SUBJECT = "expand start limit"
V1_ROUTES = (
    route("content-search", "/rest/api/content/search", content_search, CQL),
    route("search", "/rest/api/search", search, f"{CQL} excerpt"),
    route("content", "/rest/api/content/{id}", content, "expand status version"),
    route(
        "restriction",
        "/rest/api/content/{id}/restriction/byOperation/read",
        restriction,
        SUBJECT,
    ),
    route(
        "permission-check",
        "/rest/api/content/{id}/permission/check",
        permission_check,
        method="POST",
    ),
    route(
        "download",
        "/rest/api/content/{id}/child/attachment/{file}/download",
        download,
        "version status",
    ),
    route(
        "download",
        "/download/attachments/{id}/{name}",
        download,
        "version modificationDate cacheVersion api download",
    ),
    route("user", "/rest/api/user", user, "accountId expand"),
    route("current-user", "/rest/api/user/current", current_user, "expand"),
    route("memberof", "/rest/api/user/memberof", memberof, "accountId start limit"),
    route("search-user", "/rest/api/search/user", search_user, "cql start limit expand"),
    route("group-by-name", "/rest/api/group/by-name", group_by_name, "name"),
    route(
        "group-members",
        "/rest/api/group/{id}/membersByGroupId",
        group_members,
        "start limit expand shouldReturnTotalSize",
    ),
)


MOST_V2 = 250
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
    piece = by_cursor(call, found, call.limit(25, MOST_V2, strict=True), _space_key)
    return Answer(v2_listing(call, piece, [space_json(call, each) for each in piece.items]))


def space(call: Call) -> Answer:
    told = space_json(call, _space(call))
    return Answer({**told, "_links": {**told["_links"], "base": call.base}})


def space_permissions(call: Call) -> Answer:
    found = permissions_json(call, _space(call))
    piece = by_cursor(call, found, call.limit(25, MOST_V2, strict=True), lambda e: (int(e["id"]),))
    return Answer(v2_listing(call, piece, piece.items))


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
    told = v2_content_json(call, content, body)
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
    above = call.site.ancestors(content.id)[-call.limit(25, MOST_V2, strict=True) :]
    told = [{"id": each.id, "type": each.kind} for each in above]
    return Answer({"results": told, "_links": {"base": call.base}})


def labels(call: Call) -> Answer:
    content = call.content(call.names["id"])
    piece = by_cursor(call, sorted(content.labels), call.limit(25, MOST_V2, strict=True))
    return Answer(v2_listing(call, piece, [label_json(call, label) for label in piece.items]))


def attachments(call: Call) -> Answer:
    content = call.content(call.names["id"])
    found = [
        file
        for file in content.attachments.values()
        if call.sent.get("filename") in {None, file.name}
        and call.sent.get("mediaType") in {None, file.media_type}
    ]
    limit = call.limit(50, MOST_V2, strict=True)
    piece = by_cursor(call, found, limit, lambda file: (int(file.id.removeprefix("att")),))
    return Answer(v2_listing(call, piece, [attachment_json(call, file) for file in piece.items]))


def children(call: Call) -> Answer:
    content = call.content(call.names["id"])
    found = [c for c in call.site.children(content.id) if c.status == "current" and call.sees(c)]
    limit = call.limit(25, MOST_V2, strict=True)
    piece = by_cursor(call, found, limit, lambda child: (child.position,))
    return Answer(v2_listing(call, piece, [child_json(call, child) for child in piece.items]))


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
    piece = by_cursor(call, found, call.limit(25, MOST_V2, strict=True), _order(call))
    return Answer(
        v2_listing(call, piece, [v2_content_json(call, each, body) for each in piece.items])
    )


PIECES = "cursor limit"
OF_A_LIST = f"{PIECES} sort status title body-format"
OF_ONE = "body-format get-draft status version include-labels include-properties include-version"
V2_ROUTES = (
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

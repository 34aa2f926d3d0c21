"""Cloud's older API, as far as it is still there: search, restrictions, people, files."""

from __future__ import annotations

from urllib.parse import quote

from tests.confluence.call import Answer, Call, Json, Refusal, route
from tests.confluence.content import Content
from tests.confluence.dates import in_utc
from tests.confluence.paging import by_cursor, by_start
from tests.confluence.people import Person
from tests.confluence.restricting import restriction
from tests.confluence.searching import found_people, searched
from tests.confluence.shapes_people import group_json, person_json
from tests.confluence.shapes_v1 import content_json, expanded, listing

MOST = 1000
MOST_EXPANDED = 200
MOST_WITH_BODY = 50


def content_search(call: Call) -> Answer:
    wanted = expanded(call)
    most = MOST_WITH_BODY if "body" in wanted else MOST_EXPANDED if wanted else MOST
    piece = by_cursor(call, searched(call), call.limit(25, most))
    call.check(wanted, piece.items)
    told = [content_json(call, each, wanted) for each in piece.items]
    return Answer(listing(call, piece, told, cursor=True))


def search(call: Call) -> Answer:
    piece = by_cursor(call, searched(call), call.limit(25, MOST))
    told = [_hit(call, each) for each in piece.items]
    return Answer(listing(call, piece, told, cursor=True) | {"totalSize": len(searched(call))})


def content(call: Call) -> Answer:
    """One page the old way: gone for OAuth since April 2026, on its way out for the rest."""
    if call.oauth:
        raise Refusal(410, "This deprecated endpoint has been removed.")
    found = call.content(call.names["id"])
    if found.status != call.sent.get("status", "current"):
        raise Refusal(404, "No content found")
    told = content_json(call, found, expanded(call))
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
    return Answer(listing(call, piece, [group_json(call, each) for each in piece.items]))


def search_user(call: Call) -> Answer:
    found = found_people(call)
    piece = by_start(call, found, call.limit(25, MOST))
    told = [_person_hit(call, each) for each in piece.items]
    return Answer(listing(call, piece, told) | {"totalSize": len(found)})


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
            return Answer(listing(call, piece, [person_json(call, each) for each in piece.items]))
    raise Refusal(404, "No group found")


def _account(call: Call, account: str) -> Person:
    for person in call.site.people.values():
        if person.account_id == account and call.person is not None:
            return person
    raise Refusal(404, f"No user found with account id {account!r}")


def _hit(call: Call, each: Content) -> Json:
    space = call.site.spaces[each.space]
    told = content_json(call, each, frozenset())
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
ROUTES = (
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

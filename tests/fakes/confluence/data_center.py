"""Routes of Data Center's API: content and files, spaces, people and groups."""

from __future__ import annotations

from tests.fakes.confluence.content import Attachment, Content, Group, Person, Space
from tests.fakes.confluence.payloads_v1 import (
    attachment_json,
    content_json,
    expanded,
    group_json,
    label_json,
    listing,
    person_json,
    restriction,
    space_json,
)
from tests.fakes.confluence.requests import Answer, Call, Json, Refusal, by_cursor, by_start, route
from tests.fakes.confluence.search import found_people, searched

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
CONTENT_ROUTES = (
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


def spaces(call: Call) -> Answer:
    keys = call.listed("spaceKey")
    found = [
        space
        for _, space in sorted(call.site.spaces.items())
        if call.views(space)
        and (not keys or space.key in keys)
        and call.sent.get("type") in {None, space.kind}
        and call.sent.get("status") in {None, space.status}
    ]
    _check_permissions_expansion(call)
    piece = by_start(call, found, call.limit(25, MOST))
    return Answer(listing(call, piece, [space_json(call, each) for each in piece.items]))


def space(call: Call) -> Answer:
    _check_permissions_expansion(call)
    told = space_json(call, _space(call))
    return Answer({**told, "_links": {**told["_links"], **call.where}})


def space_permissions(call: Call) -> Answer:
    """Who may do what in a space (9.1 and later): a bare list, people by key, groups by name."""
    found = _space(call)
    if call.options.get("old"):
        raise Refusal(404, f"null for uri: {call.base}{call.path}")
    people = call.site.people
    subjects: list[Json] = [
        {"type": "user", "userKey": people[user].user_key}
        for user in sorted(found.readers.users)
        if user in people
    ]
    subjects += [{"type": "group", "name": name} for name in sorted(found.readers.groups)]
    if found.readers.anonymous:
        subjects.append({"type": "anonymous"})
    writer: Json = {"type": "group", "name": "confluence-writers"}
    other = [_granted(found, writer, "create", "page"), _granted(found, writer, "administer")]
    return Answer([*other, *(_granted(found, each, "read") for each in subjects)])


def search(call: Call) -> Answer:
    """Find people, which is all that this older search is wanted for."""
    piece = by_start(call, found_people(call), call.limit(25, MOST))
    told = [
        {"user": person_json(call, p), "title": p.name, "entityType": "user"} for p in piece.items
    ]
    return Answer(listing(call, piece, told))


def user(call: Call) -> Answer:
    return Answer(person_json(call, _person(call)))


def current_user(call: Call) -> Answer:
    if call.person is None:
        return Answer({"type": "anonymous", "displayName": "Anonymous"})
    return Answer(person_json(call, call.person))


def memberof(call: Call) -> Answer:
    groups = call.site.groups_of(_person(call).handle)
    return _groups(call, groups)


def server_information(call: Call) -> Answer:
    """What is installed (9.1 and later); its shape is the documentation's."""
    if call.options.get("old"):
        raise Refusal(404, f"null for uri: {call.base}{call.path}")
    told: Json = {"baseUrl": call.base, "version": "9.2.3", "buildNumber": 9111}
    return Answer({**told, "marketplaceBuildNumber": 9111, "buildDate": "2025-04-01"})


def groups(call: Call) -> Answer:
    return _groups(call, [group for _, group in sorted(call.site.groups.items())])


def group(call: Call) -> Answer:
    return Answer(group_json(call, _group(call)))


def group_members(call: Call) -> Answer:
    members = [call.site.people[handle] for handle in sorted(_group(call).members)]
    piece = by_start(call, members, call.limit(200, 200))
    return Answer(listing(call, piece, [person_json(call, each) for each in piece.items]))


def _groups(call: Call, found: list[Group]) -> Answer:
    piece = by_start(call, found, call.limit(200, 200))
    return Answer(listing(call, piece, [group_json(call, each) for each in piece.items]))


def _check_permissions_expansion(call: Call) -> None:
    """Fail as Confluence does for who is no admin (CONFSERVER-99908)."""
    if "permissions" in call.listed("expand") and not (call.person and call.person.admin):
        raise Refusal(500, "java.lang.NullPointerException")


def _granted(space: Space, subject: Json, key: str, target: str = "space") -> Json:
    return {
        "operation": {"targetType": target, "operationKey": key},
        "subject": subject,
        "spaceKey": space.key,
        "spaceId": int(space.id),
    }


def _space(call: Call) -> Space:
    return call.space(call.site.spaces.get(call.names["key"]))


def _person(call: Call) -> Person:
    if call.person is None:
        raise Refusal(403, "Anonymous users may not view people")
    key, name = call.sent.get("key"), call.sent.get("username")
    for person in call.site.people.values():
        if key == person.user_key or (key is None and name == person.handle):
            return person
    raise Refusal(404, f"No user found with key {key!r} or username {name!r}")


def _group(call: Call) -> Group:
    found = call.site.groups.get(call.names["name"])
    if found is None or call.person is None:
        raise Refusal(404, f"No group found with name: {call.names['name']}")
    return found


WHO = "key username expand"
PEOPLE_ROUTES = (
    route("search-user", "/rest/api/search", search, f"{PIECES} cql excerpt"),
    route("spaces", "/rest/api/space", spaces, f"{PIECES} spaceKey type status label favourite"),
    route("space", "/rest/api/space/{key}", space, "expand"),
    route("space-permissions", "/rest/api/space/{key}/permissions", space_permissions),
    route("user", "/rest/api/user", user, WHO),
    route("current-user", "/rest/api/user/current", current_user, "expand"),
    route("server-information", "/rest/api/server-information", server_information),
    route("memberof", "/rest/api/user/memberof", memberof, f"{WHO} start limit"),
    route("groups", "/rest/api/group", groups, PIECES),
    route("group", "/rest/api/group/{name}", group, "expand"),
    route("group-members", "/rest/api/group/{name}/member", group_members, PIECES),
)

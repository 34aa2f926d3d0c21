"""Data Center's API of spaces, people and groups."""

from __future__ import annotations

from tests.confluence.call import Answer, Call, Json, Refusal, route
from tests.confluence.content import Space
from tests.confluence.paging import by_start
from tests.confluence.people import Group, Person
from tests.confluence.searching import found_people
from tests.confluence.shapes_people import group_json, person_json
from tests.confluence.shapes_v1 import listing, space_json

MOST = 500


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
    if call.options.get("permissions_for_admins") and not (call.person and call.person.admin):
        raise Refusal(403, "User is not permitted to view the permissions of the space")
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


PIECES = "start limit expand"
WHO = "key username expand"
ROUTES = (
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

"""Routes that write pages and restrictions, with the refusals of each edition."""

from __future__ import annotations

from tests.fakes.confluence.content import Content, Named, Space
from tests.fakes.confluence.payloads_v1 import content_json as v1_content_json
from tests.fakes.confluence.payloads_v1 import expanded
from tests.fakes.confluence.payloads_v2 import content_json as v2_content_json
from tests.fakes.confluence.requests import Answer, Call, Json, Refusal, route


def create_v2(call: Call) -> Answer:
    """Create a page; a ``private`` one is its author's alone."""
    wanted = call.body["spaceId"]
    space = next((each for each in call.site.spaces.values() if each.id == wanted), None)
    made = _created(call, call.space(space), call.body["parentId"])
    if call.sent.get("private") == "true":
        call.site.restrict(made.id, users=[made.author])
    return Answer(v2_content_json(call, made, "storage"))


def create_v1(call: Call) -> Answer:
    space = call.space(call.site.spaces.get(call.body["space"]["key"]))
    (parent,) = call.body["ancestors"]
    return Answer(v1_content_json(call, _created(call, space, parent["id"]), expanded(call)))


def update_v2(call: Call) -> Answer:
    if call.body["id"] != call.names["id"]:
        raise Refusal(400, "The id in the path and in the body are not the same")
    return Answer(v2_content_json(call, _updated(call), "storage"))


def update_v1(call: Call) -> Answer:
    return Answer(v1_content_json(call, _updated(call), frozenset({"version"})))


def restrict_v1(call: Call) -> Answer:
    """Replace the restrictions of a page; Cloud takes no empty list."""
    page = _writable(call, call.names["id"])
    (read,) = [each for each in _listed(call) if each["operation"] == "read"]
    subjects = read["restrictions"]
    if call.edition == "cloud" and not all(subjects.values()):
        raise Refusal(400, "At least one user or group must be specified")
    readers = Named({_person(call, each) for each in subjects.get("user", ())})
    readers.groups = {_group(call, each) for each in subjects.get("group", ())}
    if not readers.empty and not call.site.oracle.may_view(readers, call.handle):
        raise Refusal(400, "You can't take your own right to view the page")
    if not call.options.get("deaf"):
        call.site.restrict(page.id, users=readers.users, groups=readers.groups)
    return Answer({"results": []})


def unrestrict_v1(call: Call) -> Answer:
    call.site.unrestrict(_writable(call, call.names["id"]).id)
    return Answer(status=204)


def operations(call: Call) -> Answer:
    """Tell what the caller may do in a space."""
    wanted = call.names["id"]
    call.space(next((each for each in call.site.spaces.values() if each.id == wanted), None))
    told = [{"operation": "read", "targetType": "space"}]
    if not call.options.get("read_only"):
        told.append({"operation": "create", "targetType": "page"})
    return Answer({"operations": told})


def _created(call: Call, space: Space, parent: str) -> Content:
    _check_right(call)
    above, title = call.content(parent), call.body["title"]
    if call.site.titled(space.key, title) is not None:
        raise Refusal(400, f"A page already exists with the same TITLE in this space: {title}")
    handle = call.handle
    assert handle is not None, "nobody may write without signing in"
    return call.site.create(space.key, title, _storage(call), parent=above.id, by=handle)


def _updated(call: Call) -> Content:
    page = _writable(call, call.names["id"])
    version = call.body["version"]
    if version["number"] != page.version + 1:
        raise Refusal(409, f"Version must be incremented on update. Current: {page.version}")
    title = call.body["title"]
    if call.site.titled(page.space, title) not in (None, page):
        raise Refusal(400, f"A page already exists with the same TITLE in this space: {title}")
    handle = call.handle
    assert handle is not None, "nobody may write without signing in"
    written = call.site.edit(page.id, _storage(call), title=title, by=handle)
    written.message = version["message"]
    return written


def _storage(call: Call) -> str:
    body = call.body["body"]
    told = body["storage"] if call.edition == "data-center" else body
    assert told["representation"] == "storage"
    storage: str = told["value"]
    return storage


def _writable(call: Call, number: str) -> Content:
    page = call.content(number)
    _check_right(call)
    return page


def _check_right(call: Call) -> None:
    if call.person is None or call.options.get("read_only"):
        raise Refusal(403, "You do not have permission to do this")


def _listed(call: Call) -> list[Json]:
    body: object = call.body
    if not isinstance(body, list):
        raise Refusal(400, "a list of restrictions is due", unexpected=True)
    return body


def _person(call: Call, subject: Json) -> str:
    name = "accountId" if call.edition == "cloud" else "userKey"
    for person in call.site.people.values():
        found = person.account_id if call.edition == "cloud" else person.user_key
        if subject == {"type": "known", name: found}:
            return person.handle
    raise Refusal(400, f"No user {subject}")


def _group(call: Call, subject: Json) -> str:
    for group in call.site.groups.values():
        named = {"id": group.id} if call.edition == "cloud" else {"name": group.name}
        if subject == {"type": "group", **named}:
            return group.name
    raise Refusal(400, f"No group {subject}")


CLOUD_ROUTES = (
    route("create", "/api/v2/pages", create_v2, "private embedded root-level", "POST"),
    route("update", "/api/v2/pages/{id}", update_v2, method="PUT"),
    route("restrict", "/rest/api/content/{id}/restriction", restrict_v1, "expand", "PUT"),
    route("unrestrict", "/rest/api/content/{id}/restriction", unrestrict_v1, method="DELETE"),
    route("operations", "/api/v2/spaces/{id}/operations", operations),
)
DATA_CENTER_ROUTES = (
    route("create", "/rest/api/content", create_v1, "status expand", "POST"),
    route("update", "/rest/api/content/{id}", update_v1, "status expand", "PUT"),
    route("restrict", "/rest/experimental/content/{id}/restriction", restrict_v1, method="PUT"),
    route(
        "unrestrict",
        "/rest/experimental/content/{id}/restriction",
        unrestrict_v1,
        method="DELETE",
    ),
)

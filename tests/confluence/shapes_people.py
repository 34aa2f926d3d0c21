"""JSON of the older API about people, groups, and whom a restriction names."""

from __future__ import annotations

from tests.confluence.call import Call, Json
from tests.confluence.content import Content, Named
from tests.confluence.people import Group, Person

SUBJECTS = 200
"""How many people, and how many groups, a restriction names at once."""


def person_json(call: Call, person: Person, *, emails: bool = True) -> Json:
    """Return somebody; Cloud tells an address only where the person lets it."""
    if call.edition == "data-center":
        return {
            "type": "known",
            "username": person.handle,
            "userKey": person.user_key,
            "profilePicture": {"path": f"{call.context}/images/icons/profilepics/default.svg"},
            "displayName": person.name,
            "_links": {"self": f"{call.base}/rest/api/user?key={person.user_key}"},
            "_expandable": {"status": ""},
        }
    return {
        "type": "known",
        "accountId": person.account_id,
        "accountType": "atlassian",
        "email": person.email if person.email_shown and emails else "",
        "publicName": person.name,
        "displayName": person.name,
        "isExternalCollaborator": False,
        "_expandable": {"operations": "", "personalSpace": ""},
        "_links": {"self": f"{call.base}/rest/api/user?accountId={person.account_id}"},
    }


def group_json(call: Call, group: Group) -> Json:
    told: Json = {"type": "group", "name": group.name}
    if call.edition == "cloud":
        told["id"] = group.id
    told["_links"] = {"self": f"{call.base}/rest/api/group/{group.name}"}
    return told


def restriction_json(call: Call, content: Content, wanted: frozenset[str], start: int = 0) -> Json:
    """Return who alone may read a page, at most so many of each kind from ``start`` on."""
    subjects: Json = {}
    hidden = {kind: "" for kind in ("user", "group") if kind not in wanted}
    if "user" in wanted:
        subjects["user"] = _some(call, _people_of(call, content.readers), start)
    if "group" in wanted:
        subjects["group"] = _some(call, _groups_of(call, content.readers), start)
    path = f"/rest/api/content/{content.id}"
    return {
        "operation": "read",
        "restrictions": {**subjects, **({"_expandable": hidden} if hidden else {})},
        "_expandable": {"content": path},
        "_links": {"self": f"{call.base}{path}/restriction/byOperation/read"},
    }


def _people_of(call: Call, named: Named) -> list[Json]:
    people = call.site.people
    return [person_json(call, people[user]) for user in sorted(named.users) if user in people]


def _groups_of(call: Call, named: Named) -> list[Json]:
    groups = call.site.groups
    return [group_json(call, groups[name]) for name in sorted(named.groups) if name in groups]


def _some(call: Call, subjects: list[Json], start: int) -> Json:
    limit = call.limit(SUBJECTS, SUBJECTS) if "restriction" in call.path else SUBJECTS
    part = subjects[start : start + limit]
    return {"results": part, "start": start, "limit": limit, "size": len(part)}


def somebody(call: Call, handle: str) -> Json:
    person = call.site.people.get(handle)
    return person_json(call, person) if person else {"type": "unknown", "displayName": "Unknown"}

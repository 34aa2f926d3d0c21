"""JSON of the older API, which is Data Center's, in the shapes that were recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tests.fakes.confluence import payloads_v2
from tests.fakes.confluence.content import Attachment, Content, Group, Named, Person, Space
from tests.fakes.confluence.payloads_v2 import hash_of, in_utc, in_zone
from tests.fakes.confluence.requests import Answer, Call, Json, Piece, Refusal, query

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


PREFIX = "restrictions."


def restriction(call: Call) -> Answer:
    """Tell a page's own restriction; empty lists mean that there is none."""
    found = call.content(call.names["id"])
    wanted = call.listed("expand")
    inner = frozenset(name.removeprefix(PREFIX) for name in wanted if name.startswith(PREFIX))
    if not inner <= {"user", "group"}:
        raise Refusal(400, f"nothing of {sorted(inner)} to expand", unexpected=True)
    call.check(frozenset(wanted), [found])
    start = call.sent.get("start", "0")
    if not start.isdecimal():
        raise Refusal(400, f"start must be a number, not {start!r}")
    return Answer(restriction_json(call, found, inner, int(start)))


LABELS = 200
RESTRICTED = "restrictions.read.restrictions"
EXPANSIONS = frozenset(
    {
        "ancestors",
        "ancestors.restrictions.read.restrictions.group",
        "ancestors.restrictions.read.restrictions.user",
        "body",
        "body.storage",
        "body.view",
        "container",
        "extensions.position",
        "history",
        "history.lastUpdated",
        "metadata",
        "metadata.labels",
        "restrictions",
        "restrictions.read",
        RESTRICTED,
        f"{RESTRICTED}.group",
        f"{RESTRICTED}.user",
        "space",
        "version",
    }
)
FOR_ADMINS = frozenset({"space.permissions", "permissions"})


def expanded(call: Call) -> frozenset[str]:
    """Return what is to be told, each with all that it is in; unknown words are refused."""
    wanted: set[str] = set()
    for name in call.listed("expand"):
        if name in FOR_ADMINS and call.edition == "data-center":
            raise Refusal(500, "java.lang.NullPointerException")  # CONFSERVER-99908
        if name not in EXPANSIONS:
            raise Refusal(400, f"nothing is called {name!r} to expand", unexpected=True)
        parts = name.split(".")
        wanted |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return frozenset(wanted)


def when(call: Call, moment: datetime) -> str:
    return in_utc(moment) if call.edition == "cloud" else in_zone(moment, call.site.zone)


def label_json(label: str) -> Json:
    return {"prefix": "global", "name": label, "id": str(hash_of(label)), "label": label}


def space_json(call: Call, space: Space) -> Json:
    return {
        "id": int(space.id),
        "key": space.key,
        "name": space.name,
        "type": space.kind,
        "status": space.status,
        "_links": {
            "webui": f"/display/{space.key}",
            "self": f"{call.base}/rest/api/space/{space.key}",
        },
        "_expandable": {"homepage": f"/rest/api/content/{space.home}" if space.home else ""},
    }


def content_json(call: Call, content: Content, wanted: frozenset[str]) -> Json:
    """Return a page, blog post, folder or file with what is wanted of it, the rest as paths."""
    if content.kind == "attachment":
        return attachment_json(call, content.attachments[content.id], wanted)
    path = f"/rest/api/content/{content.id}"
    space = call.site.spaces[content.space]
    page_link = payloads_v2.cloud_page if call.edition == "cloud" else payloads_v2.data_center_page
    told: Json = {
        "id": content.id,
        "type": content.kind,
        "status": content.status,
        "title": content.title,
        "extensions": {"position": content.position},
        "_links": {
            "webui": page_link(content, space),
            "editui": f"/pages/resumedraft.action?draftId={content.id}",
            "edituiv2": f"/spaces/{space.key}/pages/edit-v2/{content.id}",
            "tinyui": payloads_v2.tiny(content),
            "self": f"{call.base}{path}",
        },
        "_expandable": {
            name: value
            for name, value in {
                "container": f"/rest/api/space/{content.space}",
                "metadata": "",
                "restrictions": f"{path}/restriction/byOperation",
                "history": f"{path}/history",
                "body": "",
                "version": "",
                "space": f"/rest/api/space/{content.space}",
                "ancestors": "",
                "children": f"{path}/child",
            }.items()
            if name not in wanted
        },
    }
    return told | _expansions(call, content, wanted)


def _expansions(call: Call, content: Content, wanted: frozenset[str]) -> Json:
    """Return what is wanted, each made only then."""
    made: dict[str, Callable[[], Any]] = {
        "version": lambda: _version(call, content),
        "space": lambda: space_json(call, call.site.spaces[content.space]),
        "container": lambda: space_json(call, call.site.spaces[content.space]),
        "ancestors": lambda: _ancestors(call, content, wanted),
        "body": lambda: _body(content, wanted),
        "metadata": lambda: _metadata(content, wanted),
        "history": lambda: _history(call, content),
        "restrictions": lambda: _restrictions(call, content, wanted),
    }
    return {name: make() for name, make in made.items() if name in wanted}


def _ancestors(call: Call, content: Content, wanted: frozenset[str]) -> list[Json]:
    """Return the pages above; folders and such are left out, as the older API does."""
    prefix = "ancestors."
    inner = frozenset(name.removeprefix(prefix) for name in wanted if name.startswith(prefix))
    above = [each for each in call.site.ancestors(content.id) if each.kind == "page"]
    return [content_json(call, each, inner) for each in above]


def _version(call: Call, content: Content) -> Json:
    return {
        "by": somebody(call, content.updated_by),
        "when": when(call, content.updated),
        "friendlyWhen": "just now",
        "message": content.message,
        "number": content.version,
        "minorEdit": content.minor,
    }


def _body(content: Content, wanted: frozenset[str]) -> Json:
    formats = [name for name in ("storage", "view") if f"body.{name}" in wanted]
    return {
        each: {
            "value": content.storage,
            "representation": each,
            "embeddedContent": [],
            "_expandable": {"content": f"/rest/api/content/{content.id}"},
        }
        for each in formats
    }


def _metadata(content: Content, wanted: frozenset[str]) -> Json:
    if "metadata.labels" not in wanted:
        return {"_expandable": {"labels": ""}}
    told = [label_json(label) for label in content.labels[:LABELS]]
    return {"labels": {"results": told, "start": 0, "limit": LABELS, "size": len(told)}}


def _history(call: Call, content: Content) -> Json:
    return {
        "latest": True,
        "createdBy": somebody(call, content.author),
        "createdDate": when(call, content.created),
        "lastUpdated": _version(call, content),
    }


def _restrictions(call: Call, content: Content, wanted: frozenset[str]) -> Json:
    if "restrictions.read" not in wanted:
        return {"_expandable": {"read": "", "update": ""}}
    prefix = "restrictions.read.restrictions."
    inner = frozenset(name.removeprefix(prefix) for name in wanted if name.startswith(prefix))
    return {"read": restriction_json(call, content, inner), "_expandable": {"update": ""}}


def attachment_json(call: Call, file: Attachment, wanted: frozenset[str]) -> Json:
    told: Json = {
        "id": file.id,
        "type": "attachment",
        "status": file.status,
        "title": file.name,
        "metadata": {"mediaType": file.media_type},
        "extensions": {
            "mediaType": file.media_type,
            "fileSize": file.size,
            "comment": "",
            "mediaTypeDescription": "File",
            "fileId": f"file-{file.id}",
            "collectionName": f"contentId-{file.page}",
        },
        "_expandable": {"container": f"/rest/api/content/{file.page}"},
        "_links": {
            "webui": payloads_v2.preview(file),
            "self": f"{call.base}/rest/api/content/{file.id}",
            "download": payloads_v2.download(file),
        },
    }
    page = call.site.contents[file.page]
    if "container" in wanted:
        told["container"] = content_json(call, page, frozenset())
        del told["_expandable"]["container"]
    if "space" in wanted:
        told["space"] = space_json(call, call.site.spaces[page.space])
    if "version" in wanted:
        told["version"] = {
            "by": somebody(call, file.author),
            "when": when(call, file.updated),
            "number": file.version,
            "minorEdit": False,
        }
    return told


def listing(
    call: Call, piece: Piece[Any], results: Sequence[Json], *, cursor: bool = False
) -> Json:
    """Return a list. Its link to what follows leaves out the context: the base has it."""
    here = f"{call.base}{call.path}?{query(call)}"
    following: Json = {}
    if piece.cursor:
        place = {"cursor": piece.cursor} if cursor else {"start": piece.cursor}
        following["next"] = f"{call.path}?{query(call, **place, limit=piece.limit)}"
    return {
        "results": list(results),
        "start": piece.start,
        "limit": piece.limit,
        "size": len(results),
        "_links": {**following, "base": call.base, "context": call.context, "self": here},
    }

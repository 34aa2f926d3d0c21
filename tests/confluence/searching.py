"""What a search finds: current things that the caller may see, as the search index knows them."""

from __future__ import annotations

import re
from datetime import timedelta

from tests.confluence.call import Call, Refusal
from tests.confluence.content import Attachment, Content
from tests.confluence.cql import parse
from tests.confluence.people import Person

BY_NAME = re.compile(
    r"^\s*(?:type\s*=\s*user\s+and\s+)?user(?:\.fullname)?\s*~\s*[\"']([^\"']+)[\"']\s*$"
)

BY_ID = re.compile(r"^id in \((\d+(?:,\d+)*)\)$")


def searched(call: Call) -> list[Content]:
    """Return what the call's query finds.

    What was changed within the option ``search_lag`` (seconds) is not in the search index yet.
    """
    text = call.sent.get("cql", "")
    query = parse(text, call.site, call.site.zone)
    lag = timedelta(seconds=call.options.get("search_lag", 0))
    known = call.site.now - lag
    asked = ("searched", text, call.handle, frozenset(call.blind), known)
    return call.site.keeping(
        asked,
        lambda: query.of(
            [c for c in _findable(call) if call.sees(c) and (not lag or c.updated <= known)]
        ),
    )


def _findable(call: Call) -> list[Content]:
    """Return current pages and blog posts, and their files as things of their own.

    Of a query for nothing but ids only those: a large site is asked that often.
    """
    only = BY_ID.match(call.sent.get("cql", ""))
    if only:
        wanted = (call.site.contents.get(number) for number in only[1].split(","))
        return [content for content in wanted if content and call.site.is_current(content)]
    found = call.site.current()
    files = [as_content(page, file) for page in found for file in page.attachments.values()]
    return [*found, *files]


def as_content(page: Content, file: Attachment) -> Content:
    """Return a file as search finds it: a thing that hangs on its page."""
    return Content(
        id=file.id,
        kind="attachment",
        space=page.space,
        title=file.name,
        storage="",
        parent=page.id,
        author=file.author,
        created=file.updated,
        updated=file.updated,
        updated_by=file.author,
        version=file.version,
        attachments={file.id: file},
    )


def found_people(call: Call) -> list[Person]:
    """Return who has a name, or an address that is shown, with these words in it."""
    if call.person is None:
        raise Refusal(403, "Anonymous users may not search for people")
    found = BY_NAME.match(call.sent.get("cql", ""))
    if found is None:
        raise Refusal(400, f"Could not parse cql : {call.sent.get('cql')}")
    words = found.group(1).lower().split()

    def matches(person: Person) -> bool:
        email = person.email if person.email_shown else ""
        return all(word in f"{person.name} {email}".lower() for word in words)

    return [person for person in call.site.people.values() if matches(person)]

"""What a search finds: current things that the caller may see, as the search index knows them."""

from __future__ import annotations

import re
from datetime import timedelta

from tests.confluence.call import Call, Refusal
from tests.confluence.content import Content
from tests.confluence.cql import parse
from tests.confluence.people import Person

BY_NAME = re.compile(r"^\s*user(?:\.fullname)?\s*~\s*[\"']([^\"']+)[\"']\s*$")
FOUND = ("page", "blogpost")


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
            [
                content
                for content in call.site.current()
                if content.kind in FOUND
                and call.sees(content)
                and (not lag or content.updated <= known)
            ]
        ),
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

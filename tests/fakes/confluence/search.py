"""The search of the local Confluence: the part of CQL that is supported, and what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from tests.fakes.confluence.content import Attachment, Content, Person
from tests.fakes.confluence.requests import Call, Refusal
from tests.fakes.confluence.site import Site

Test = Callable[[Content], bool]
TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>>=|<=|!=|!~|[=<>~(),])|(?P<word>[^\s()=<>!~,"']+))""",
    re.VERBOSE,
)
MACRO = re.compile(r'<ac:(?:structured-)?macro [^>]*?ac:name="([^"]+)"')
DATES = ("%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%d", "%Y/%m/%d")
KEYWORDS = {"and", "or", "not", "in", "order", "by", "asc", "desc"}


@dataclass(frozen=True)
class Query:
    """What is looked for, and the order it is wanted in."""

    test: Test
    field: str = ""
    falling: bool = False

    def of(self, contents: Sequence[Content]) -> list[Content]:
        found = [content for content in contents if self.test(content)]
        if self.field in {"lastmodified", "created"}:
            by = "updated" if self.field == "lastmodified" else "created"
            found.sort(key=lambda c: (getattr(c, by), c.number), reverse=self.falling)
        elif self.field:
            by_title = self.field == "title"
            found.sort(key=lambda c: c.title if by_title else c.number, reverse=self.falling)
        return found


def parse(text: str, site: Site, zone: tzinfo) -> Query:
    """Return what a query means. Raises Refusal (400) as Confluence answers one it can't read."""
    return _Parser(_tokens(text), site, zone).query()


def _tokens(text: str) -> list[str]:
    tokens, at, text = [], 0, text.rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise Refusal(400, f"Could not parse cql : {text}")
        tokens.append(found.group().strip())
        at = found.end()
    return tokens


@dataclass
class _Parser:
    tokens: list[str]
    site: Site
    zone: tzinfo
    at: int = 0

    def query(self) -> Query:
        test = self._either()
        field, falling = "", False
        if self._takes("order"):
            self._due("by")
            field = self._next().lower()
            if field not in {"lastmodified", "created", "title", "id"}:
                raise Refusal(400, f"Could not sort by {field}")
            falling = self._takes("desc")
            if not falling:
                self._takes("asc")
        if self.at < len(self.tokens):
            raise Refusal(400, f"Could not parse cql at {self.tokens[self.at]!r}")
        return Query(test, field, falling)

    def _either(self) -> Test:
        parts = [self._all()]
        while self._takes("or"):
            parts.append(self._all())
        return lambda content: any(part(content) for part in parts)

    def _all(self) -> Test:
        parts = [self._one()]
        while self._takes("and"):
            parts.append(self._one())
        return lambda content: all(part(content) for part in parts)

    def _one(self) -> Test:
        if self._takes("not"):
            inner = self._one()
            return lambda content: not inner(content)
        if self._takes("("):
            inner = self._either()
            self._due(")")
            return inner
        return self._clause()

    def _clause(self) -> Test:
        field = self._next().lower()
        negated = self._takes("not")
        sign = "in" if self._takes("in") else self._next()
        values = self._values() if sign == "in" else [self._value()]
        if sign in {"!=", "!~"}:
            negated, sign = True, sign[1:]
        test = self._test(field, sign, values)
        return (lambda content: not test(content)) if negated else test

    def _test(self, field: str, sign: str, values: list[str]) -> Test:
        if field in {"lastmodified", "created"}:
            return self._dated(field, sign, values[0])
        if sign == "~" and field in {"title", "text"}:
            return _worded(field, values[0])
        facts = self._facts(field)
        if facts is None or sign not in {"=", "in"}:
            raise Refusal(400, f"Could not parse cql : {field} {sign} {values}")
        wanted = set(values)
        return lambda content: not wanted.isdisjoint(facts(content))

    def _facts(self, field: str) -> Callable[[Content], Sequence[str]] | None:
        """Return what a field holds of a page; None for a field that there is not."""
        known: dict[str, Callable[[Content], Sequence[str]]] = {
            "space": lambda c: (c.space,),
            "space.key": lambda c: (c.space,),
            "type": lambda c: (c.kind,),
            "id": lambda c: (c.id,),
            "content": lambda c: (c.id,),
            "title": lambda c: (c.title,),
            "label": lambda c: c.labels,
            "parent": lambda c: (c.parent or "",),
            "ancestor": self._above,
            "macro": lambda c: MACRO.findall(c.storage),
        }
        return known.get(field)

    def _above(self, content: Content) -> list[str]:
        """Return what something hangs under; a file hangs on its page."""
        if content.parent is None:
            return []
        return [content.parent, *(each.id for each in self.site.ancestors(content.parent))]

    def _dated(self, field: str, sign: str, value: str) -> Test:
        """Compare with a minute's beginning: a query can't say seconds."""
        moment = self._date(value)
        name = "updated" if field == "lastmodified" else "created"
        signs: dict[str, Callable[[datetime], bool]] = {
            ">=": lambda when: when >= moment,
            ">": lambda when: when > moment,
            "<=": lambda when: when <= moment,
            "<": lambda when: when < moment,
            "=": lambda when: when == moment,
        }
        if sign not in signs:
            raise Refusal(400, f"Could not parse cql : {field} {sign}")
        compare = signs[sign]
        return lambda content: compare(getattr(content, name))

    def _date(self, value: str) -> datetime:
        for shape in DATES:
            try:
                return datetime.strptime(value, shape).replace(tzinfo=self.zone)
            except ValueError:
                continue
        raise Refusal(400, f"Could not parse cql : date {value!r}")

    def _values(self) -> list[str]:
        self._due("(")
        values = [self._value()]
        while self._takes(","):
            values.append(self._value())
        self._due(")")
        return values

    def _value(self) -> str:
        value = self._next()
        if value[:1] in {'"', "'"}:
            return re.sub(r"\\(.)", r"\1", value[1:-1])
        if value.lower() in KEYWORDS or not re.match(r"[\w.~:@/-]", value):
            raise Refusal(400, f"Could not parse cql at {value!r}")
        return value

    def _next(self) -> str:
        if self.at >= len(self.tokens):
            raise Refusal(400, "Could not parse cql : it ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _takes(self, word: str) -> bool:
        there = self.at < len(self.tokens) and self.tokens[self.at].lower() == word
        self.at += there
        return there

    def _due(self, word: str) -> None:
        if not self._takes(word):
            raise Refusal(400, f"Could not parse cql : {word!r} is due")


def _worded(field: str, value: str) -> Test:
    words = value.lower().split()

    def has(content: Content) -> bool:
        text = content.title if field == "title" else f"{content.title} {content.storage}"
        return all(word in text.lower() for word in words)

    return has


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

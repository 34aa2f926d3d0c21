"""A request to the local Confluence, its answer or refusal, and lists in pages."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypedDict, TypeVar
from urllib.parse import urlencode

from tests.fakes.confluence.content import Content, Person, Space
from tests.fakes.confluence.site import Site

Json = dict[str, Any]
Edition = Literal["cloud", "data-center"]
Blindness = Literal[403, 404, "empty"]
"""How a space answers that a token lost sight of."""


class Options(TypedDict, total=False):
    """Oddities of a server.

    ``shifting``: cursors are places in the list, which shift. ``search_lag``: seconds until
    search finds what was changed. ``near_limit``: answers say that the rate is nearly used up.
    ``anonymous_principal``: how Cloud names those not signed in; None tells no principal.
    ``old``: a Data Center before 9.1, without permissions of spaces; ``before_7_18``: without
    scan. ``read_only``: tokens may not write. ``deaf``: restrictions are taken and not kept.
    """

    read_only: bool
    deaf: bool
    shifting: bool
    search_lag: float
    near_limit: bool
    anonymous_principal: Json | None
    old: bool
    before_7_18: bool


def all_well(wanted: frozenset[str], contents: Sequence[Content]) -> None:
    """Find no expansion broken."""


class Refusal(Exception):
    """What is answered instead; ``unexpected``: no Confluence knows what was asked."""

    def __init__(self, status: int, message: str, *, unexpected: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.unexpected = unexpected


@dataclass(frozen=True)
class Answer:
    """What is answered: JSON, or a ``file`` of so many bytes, streamed over and over."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    file: tuple[bytes, int] | None = None


@dataclass(frozen=True)
class Call:
    """A request. ``base`` is the site's address with its context, ``path`` is without it.

    ``person`` is None for somebody not signed in. ``names`` are what the path names. ``sent``
    has each parameter once, several values of it joined by a comma. ``blind`` are spaces that the
    caller sees nothing of, and what is answered about them. ``oauth``: asked by the gateway.

    """

    site: Site
    person: Person | None
    edition: Edition
    base: str
    context: str
    path: str
    names: Mapping[str, str]
    sent: Mapping[str, str]
    body: Json
    media: str = ""
    oauth: bool = False
    blind: Mapping[str, Blindness] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    check: Callable[[frozenset[str], Sequence[Content]], None] = all_well
    """Refuses expansions that are broken."""

    @property
    def where(self) -> Json:
        """Links that say where the site is."""
        return {"base": self.base, "context": self.context}

    @property
    def handle(self) -> str | None:
        return self.person.handle if self.person else None

    def sees(self, content: Content) -> bool:
        """Say whether the caller may see a thing; drafts are their author's alone."""
        if content.space in self.blind:
            return False
        if content.status == "draft" and content.author != self.handle:
            return False
        shown = content.parent if content.kind == "attachment" else content.id
        return shown in self.site.keeping(("seen", self.handle), self._seen)

    def _seen(self) -> frozenset[str]:
        permits = self.site.oracle.permits
        return frozenset(c.id for c in self.site.contents.values() if permits(self.handle, c))

    def views(self, space: Space) -> bool:
        """Say whether the caller may view a space, and is not blind to all of it."""
        if self.blind.get(space.key, "empty") != "empty":
            return False
        return self.site.oracle.may_view(space.readers, self.handle)

    def content(self, number: str, *kinds: str) -> Content:
        """Return a thing that the caller may see, or refuse as if there were none."""
        found = self.site.contents.get(number)
        if found is None or (kinds and found.kind not in kinds):
            raise Refusal(404, f"No content found with id: ContentId{{id={number}}}")
        if self.blind.get(found.space) == 403:
            raise Refusal(403, "Current user not permitted to use Confluence")
        if not self.sees(found):
            raise Refusal(404, f"No content found with id: ContentId{{id={number}}}")
        return found

    def space(self, space: Space | None) -> Space:
        """Return a space that the caller may view."""
        if space is None:
            raise Refusal(404, "No space found")
        if not self.views(space):
            how = self.blind.get(space.key, "empty")
            raise Refusal(
                404 if how == "empty" else how, "No space found, or no permission to view it"
            )
        return space

    def listed(self, name: str) -> list[str]:
        """Return the values of a parameter that takes several."""
        return [part for part in self.sent.get(name, "").split(",") if part]

    def limit(self, default: int, most: int, *, strict: bool = False) -> int:
        """Return how many are asked for; more than ``most`` is refused, or quietly less."""
        given = self.sent.get("limit", str(default))
        if not given.isdecimal() or (strict and not 1 <= int(given) <= most):
            raise Refusal(400, f"limit must be between 1 and {most}, not {given!r}")
        return min(int(given), most)


@dataclass(frozen=True)
class Route:
    """A door: what it is called in ``count`` and faults, and which parameters it knows."""

    kind: str
    pattern: re.Pattern[str]
    effect: Callable[[Call], Answer]
    params: frozenset[str]
    method: str = "GET"


def route(
    kind: str, path: str, effect: Callable[[Call], Answer], params: str = "", method: str = "GET"
) -> Route:
    """Return a route; ``{name}`` in a path is one segment of it."""
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)
    return Route(kind, re.compile(f"^{pattern}$"), effect, frozenset(params.split()), method)


T = TypeVar("T")
Key = tuple[float, ...]


@dataclass(frozen=True)
class Piece(Generic[T]):
    """Some of a list, and the cursor behind which it goes on; None at its end."""

    items: Sequence[T]
    cursor: str | None
    start: int
    limit: int


def by_cursor(
    call: Call, items: Sequence[T], limit: int, key: Callable[[T], Key] | None = None
) -> Piece[T]:
    """Return the piece that the call's cursor asks for.

    With a ``key``, by which ``items`` are in order, the cursor stands behind the last one given,
    so that nothing shifts. Without one, or when the option ``shifting`` is on, it is a place in
    the list: what comes or goes before it makes one miss or repeat an entry.
    """
    given = _read(call.sent.get("cursor"))
    if key is None or call.options.get("shifting"):
        start = int(given[0]) if given else 0
        after: Key = (start + limit,)
    else:
        start = bisect_right(items, tuple(given), key=key) if given else 0
        after = key(items[min(start + limit, len(items)) - 1]) if items else ()
    more = start + limit < len(items)
    return Piece(items[start : start + limit], _written(after) if more else None, start, limit)


def by_start(call: Call, items: Sequence[T], limit: int) -> Piece[T]:
    """Return the piece from ``start`` on, as the older API has it."""
    given = call.sent.get("start", "0")
    if not given.isdecimal():
        raise Refusal(400, f"start must be a number, not {given!r}")
    start = int(given)
    more = start + limit < len(items)
    return Piece(items[start : start + limit], str(start + limit) if more else None, start, limit)


def query(call: Call, **changed: object) -> str:
    """Return the call's own parameters with some changed."""
    parameters = {**call.sent, **{name: str(value) for name, value in changed.items()}}
    return urlencode(parameters)


def _written(after: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(after).encode()).decode()


def _read(cursor: str | None) -> list[Any]:
    if cursor is None:
        return []
    try:
        read = json.loads(base64.urlsafe_b64decode(cursor))
    except ValueError as error:
        raise Refusal(400, f"invalid cursor {cursor!r}") from error
    if not isinstance(read, list):
        raise Refusal(400, f"invalid cursor {cursor!r}")
    return read

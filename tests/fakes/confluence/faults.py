"""Faults of the local Confluence that a test turns on: statuses, delays, broken answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.fakes.confluence.content import Content
from tests.fakes.confluence.requests import Blindness, Call, Refusal
from tests.fakes.confluence.site import Site

ANY = "*"
"""The kind that stands for every request."""
LOGIN = "<!DOCTYPE html><html><head><title>Log in</title></head><body>Log in</body></html>"


@dataclass(frozen=True)
class Fault:
    """What happens to one request.

    ``status`` is answered, 0 cuts the connection, None answers as usual. ``page`` is HTML that
    comes instead of JSON. ``kept`` is how many bytes of the usual answer arrive before the
    connection breaks; with ``short`` it does not break, so that the JSON ends too early.
    ``seconds`` pass first. ``headers`` are added.
    """

    status: int | None = None
    page: str = ""
    kept: int | None = None
    short: bool = False
    seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def instead(self) -> bool:
        """Whether the request never gets to the site."""
        return self.status is not None or bool(self.page)


def too_many(retry_after: str = "") -> Fault:
    """Refuse as beyond the rate; ``retry_after`` is seconds or a date, and may be missing."""
    given = {"Retry-After": retry_after} if retry_after else {}
    limits = {
        "X-RateLimit-Limit": "100",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "2026-11-23T10:00Z",
    }
    return Fault(status=429, headers={**limits, **given})


def unavailable(status: int = 503) -> Fault:
    return Fault(status=status)


def login_page(status: int = 200) -> Fault:
    """Answer with the page to log in at, as proxies and lapsed sessions do."""
    return Fault(status=status, page=LOGIN)


def slow(seconds: float) -> Fault:
    return Fault(seconds=seconds)


def cut(kept: int | None = None) -> Fault:
    """Break the connection: at once, or in the midst of the body."""
    return Fault(status=0) if kept is None else Fault(kept=kept)


def truncated(kept: int) -> Fault:
    """End the JSON early, as if that were all."""
    return Fault(kept=kept, short=True)


@dataclass
class _Blind:
    space: str | None
    how: Blindness
    after: int


@dataclass
class _Hook:
    kind: str
    number: int
    effect: Callable[[], object]


@dataclass
class Faults:
    """All that is going to go wrong, and what happens meanwhile."""

    _next: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    _always: dict[str, Fault] = field(default_factory=dict)
    _blind: list[_Blind] = field(default_factory=list)
    _hooks: list[_Hook] = field(default_factory=list)
    _broken: dict[str, set[str] | None] = field(default_factory=dict)

    def fail(self, kind: str, *faults: Fault) -> None:
        """Let the next requests of a kind go wrong, one fault each."""
        self._next[kind].extend(faults)

    def fail_always(self, kind: str, fault: Fault) -> None:
        self._always[kind] = fault

    def go_blind(self, space: str | None = None, *, how: Blindness = 404, after: int = 0) -> None:
        """Show nothing of a space, or of all, to anybody after so many more requests.

        403 and 404: it is not listed, and that is answered about it and what is in it. "empty":
        it is there, its lists are empty, and what is in it answers 404.
        """
        self._blind.append(_Blind(space, how, after))

    def break_expansion(self, name: str, *pages: str) -> None:
        """Answer 500 to whoever expands this, or only where one of these pages is concerned."""
        self._broken[name] = set(pages) or None

    def on(self, kind: str, number: int, effect: Callable[[], object]) -> None:
        """Do something just before the ``number``-th request of a kind from now is answered."""
        self._hooks.append(_Hook(kind, number, effect))

    def clear(self) -> None:
        """Let all be well again."""
        for kept in (self._next, self._always, self._blind, self._hooks, self._broken):
            kept.clear()

    def met(self, kind: str) -> Fault:
        """Return what happens to a request, which is counted; a fault of nothing is none."""
        self._meanwhile(kind)
        for blind in self._blind:
            blind.after -= 1
        for name in (kind, ANY):
            if self._next[name]:
                return self._next[name].popleft()
        return self._always.get(kind) or self._always.get(ANY) or Fault()

    def _meanwhile(self, kind: str) -> None:
        for hook in list(self._hooks):
            if hook.kind in {kind, ANY}:
                hook.number -= 1
                if hook.number == 0:
                    self._hooks.remove(hook)
                    hook.effect()

    def seen(self, call: Call, site: Site) -> Call:
        """Return a call as far as it sees: blind to what it is blind to by now."""
        blind: dict[str, Blindness] = {}
        for each in self._blind:
            if each.after < 0:
                blind |= dict.fromkeys([each.space] if each.space else site.spaces, each.how)
        return replace(call, blind=blind, check=self.check)

    def check(self, wanted: frozenset[str], contents: Sequence[Content]) -> None:
        """Refuse expansions that are broken."""
        for name, pages in self._broken.items():
            if name in wanted and (pages is None or pages & {c.id for c in contents}):
                raise Refusal(500, "java.lang.NullPointerException")

"""Hold what was shown against the company's rule, and remember what must not have been."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.fakes.spans import Spans
from tests.sweeps.permissions.application import Served
from tests.sweeps.permissions.browsing import Shown
from tests.sweeps.permissions.company import ADMIN, EVERYBODY, Reader, pages_in, places_in
from tests.sweeps.permissions.plans import Plan
from tests.sweeps.permissions.tried import Tried

_AROUND = 60


@dataclass
class Findings:
    """``leaks`` in words; ``tried`` is added to."""

    served: Served
    spans: Spans
    tried: Tried
    leaks: list[str] = field(default_factory=list)
    happened: str = ""

    def look(self, reader: Reader, shown: Iterable[Shown]) -> None:
        """Check what somebody was shown, and what the model was sent for it."""
        company = self.served.company
        allowed = company.readable(reader)
        closed = allowed - company.readable(EVERYBODY)
        for each in (*shown, Shown("prompt", self.served.new_prompts())):
            if reader.person == ADMIN and _is_list_of_documents(each.where):
                continue
            self._check(str(reader.person), each, allowed)
            if pages_in(each.text) & allowed:
                self.tried.readers.add(reader.person)
            self.tried.places |= places_in(each.text, closed)
            if each.status == HTTPStatus.OK:
                self.tried.views.add(_kind(each.where))

    def look_at_exports(self) -> None:
        """Check what is posted and written for people in general, or for nobody."""
        everybodys = self.served.company.readable(EVERYBODY)
        self._check("tickets", Shown("webhook", self.served.new_events()), everybodys)
        for name, text in (("log", str(self.served.log.lines)), ("spans", self.spans.written())):
            self._check("operators", Shown(name, text), frozenset())

    def look_at_prompts(self, readers: Iterable[Reader]) -> None:
        """Check what the model was sent by work that nobody waits for."""
        allowed = frozenset[int]().union(*map(self.served.company.readable, readers))
        self._check("jobs", Shown("prompt", self.served.new_prompts()), allowed)

    def done(self, plan: Plan) -> None:
        """Count a plan's cases, and check that nothing leaked, and nothing was saved unasked."""
        given = self.served.saved_answers_given
        self.tried.cases += plan.cases
        self.tried.saving += plan.cases if plan.saves_answers else 0
        self.tried.saved += given
        assert not self.leaks, "\n".join(self.leaks)
        assert plan.saves_answers or not given

    def _check(self, who: str, each: Shown, allowed: frozenset[int]) -> None:
        for number in sorted(pages_in(each.text) - pages_in(each.before) - allowed):
            at = each.text.lower().index(f"z{number:03d}")
            around = each.text[max(0, at - _AROUND) : at + _AROUND]
            self.leaks.append(f"{who} at {each.where} after {self.happened!r}: …{around}…")


def _kind(where: str) -> str:
    """Return the first part of an address, of the board's the first two."""
    parts = where.partition("?")[0].split("/")
    return "/".join(parts[: 3 if parts[1:2] == ["board"] else 2])


def _is_list_of_documents(where: str) -> bool:
    """Tell whether a view lists what is indexed, whoever may read it, to admins alone."""
    return where.startswith(("/board/documents", "/api/v1/documents", "/api/v2/documents"))

"""The list of cases as its page shows it; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.adapters.board import paging, words
from bot.domain.cases import Case, CaseQuery, State
from bot.domain.record_search import CaseCounts
from bot.escalations.lifecycle import OWNED, SETTLED, WAITING, display_name


@dataclass(frozen=True, slots=True)
class Tab:
    """Some of the cases: those in ``states`` (none: in any), or those that one has ``own``."""

    name: str
    label: str
    states: frozenset[State] = frozenset()
    own: bool = False


TABS = (
    Tab("waiting", "Waiting", WAITING),
    Tab("mine", "Mine", OWNED, own=True),
    Tab("claimed", "Claimed", frozenset({"claimed"})),
    Tab("answered", "Answered", frozenset({"answered"})),
    Tab("settled", "Settled", SETTLED),
    Tab("all", "All"),
)

_EMPTY: Mapping[str, str] = {
    "waiting": "Nobody waits. When a question goes to people, it appears here.",
    "mine": "You have no question. Claim one of those that wait.",
    "claimed": "Nobody is working on a question.",
    "answered": "No answer waits for its asker to say whether it helped.",
    "settled": "Nothing is settled yet.",
    "all": "No question has gone to people yet.",
}


@dataclass(frozen=True, slots=True)
class TabView:
    """A tab with how many cases it has."""

    name: str
    label: str
    href: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case in the list; ``late`` when it waits longer than until people are reminded."""

    id: str
    question: str
    who: str
    place: str
    reason: str
    state: State
    label: str
    age: str
    late: bool
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """The list with its tabs; ``empty`` is what is said where it has no line."""

    tabs: tuple[TabView, ...]
    lines: tuple[CaseLine, ...]
    empty: str = ""
    first: str = ""
    more: str = ""


def tab_of(name: str) -> Tab:
    """Return the tab of that name, else the first."""
    return next((tab for tab in TABS if tab.name == name), TABS[0])


def queue_query(tab: Tab, looked_for: str, person_id: str) -> CaseQuery:
    """Return which cases a tab lists: what waits, oldest first; what is over, newest first."""
    return CaseQuery(
        states=tab.states,
        owner_id=person_id if tab.own else "",
        words=looked_for,
        newest_first=tab.name in {"settled", "all"},
    )


def tab_views(path: str, chosen: Tab, counts: CaseCounts, looked_for: str) -> tuple[TabView, ...]:
    """Return the tabs with their counts; the words that are looked for stay."""
    return tuple(
        TabView(
            name=tab.name,
            label=tab.label,
            href=paging.link(path, {"state": tab.name, "words": looked_for}),
            count=counts.own if tab.own else counts.among(tab.states),
            chosen=tab is chosen,
        )
        for tab in TABS
    )


def case_lines(cases: Sequence[Case], now: datetime, patience: timedelta) -> tuple[CaseLine, ...]:
    """Return the lines of a list."""
    return tuple(_line(case, now, patience) for case in cases)


def empty(tab: Tab, looked_for: str) -> str:
    """Say why a list has no line."""
    return "None of these questions has all of these words." if looked_for else _EMPTY[tab.name]


def state_words(case: Case, now: datetime) -> str:
    """Say how a case stands: how long it waits, or who has or had it."""
    state = case.standing.state
    if state in WAITING:
        return f"{words.STATES[state]}, {words.age(now - case.opened_at)}"
    if not case.standing.owner_id:
        return words.STATES[state]
    return f"{words.STATES[state]} by {display_name(case.standing.owner_name)}"


def since(case: Case, now: datetime) -> str:
    """Say when a case came to stand as it does; nothing for one that waits."""
    waits = case.standing.state in WAITING
    return "" if waits else f"{words.age(now - case.changed_at)} ago"


def is_late(case: Case, now: datetime, patience: timedelta) -> bool:
    """Tell whether a case waits longer than until people are reminded."""
    waits = case.standing.state in WAITING
    return waits and bool(patience) and now - case.opened_at > patience


def _line(case: Case, now: datetime, patience: timedelta) -> CaseLine:
    return CaseLine(
        id=case.interaction_id,
        question=words.one_line(case.question),
        who=words.asker(case),
        place=words.place(case.channel, private=case.private),
        reason=words.REASONS[case.reason],
        state=case.standing.state,
        label=state_words(case, now),
        age=since(case, now),
        late=is_late(case, now, patience),
        opened_at=case.opened_at,
    )

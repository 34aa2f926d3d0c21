"""The card that people are asked by, as a message: pure. What people and pages wrote is dead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.adapters.teams.cases.case_forms import buttons
from bot.adapters.teams.cases.plain import dead, lines, paragraphs, plain, uncoded
from bot.adapters.teams.showing.elements import card, text_block, with_card
from bot.adapters.teams.showing.sizes import ROOM, size
from bot.adapters.teams.wire.body import Json, kind_of
from bot.adapters.teams.wire.reference import read_reference
from bot.adapters.teams.wire.text import teams_label, without_functions
from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.answering.reply_text import MISSING_INTRO
from bot.chat.response_view import ESCALATION_REASONS, SourceLine, offered_pages, web_url
from bot.domain.cases import THREAD_NOT_READ, CaseStep
from bot.domain.text.formatting import freshness
from bot.domain.text.markdown import clip, split
from bot.domain.text.source_links import public_link
from bot.domain.types import Message, Source
from bot.escalations.case_view import (
    STEP_LABELS,
    CaseView,
    acts_in,
    buttons_for_people,
    pages_heading,
    state_since,
    status_text,
)
from bot.escalations.lifecycle import display_name

_QUESTION_LIMIT = 2_000
_QUESTION_BYTES = 7_000
_MOST_LINES = 20
_MOST_PAGES = 5
_MOST_STEPS = 3
_LINE_LENGTH = 250
_BOLD: dict[str, object] = {"weight": "Bolder"}
_SUBTLE: dict[str, object] = {"isSubtle": True}
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_OPENING = "A question for a person"


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a question can be opened: its thread, and the board; "" where it can't.

    ``public_url`` is what the addresses of our own pages begin with.
    """

    thread: str = ""
    board: str = ""
    public_url: str | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """What only the one who pressed sees: why it was not done, and what they had written."""

    remark: str = ""
    words: str = ""


def card_message(message: Message, view: CaseView, ways: Ways, *, now: datetime) -> Json:
    """Return the card of a case as a message."""
    summary = f"{_OPENING} from {dead(_who(message, view))}"
    shown = case_card(message, view, ways, now=now)
    return with_card({"type": "message", "summary": summary}, shown)


def case_card(
    message: Message, view: CaseView, ways: Ways, *, now: datetime, aside: Aside | None = None
) -> Json:
    """Return the card of a case as it stands, with what can be done.

    What was found and said before is left out where it is too much for Teams.
    """
    first = [*_aside(aside), *_question(message, view, ways)]
    last = [_state(view), *map(_step, acts_in(view.steps)[-_MOST_STEPS:])]
    below = buttons(view.case)
    room = ROOM - size(card([*first, *last], below))
    found = [*_missing(view.finding), *_pages(view.finding, ways, now), *_before(view.before)]
    return card([*first, *_fitting(found, room), *last], below)


def _fitting(parts: Sequence[Json], room: int) -> Iterator[Json]:
    left = room
    for part in parts:
        left -= size(part)
        if left < 0:
            return
        yield part


def _aside(aside: Aside | None) -> list[Json]:
    if aside is None or not aside.remark:
        return []
    kept = split(aside.words, _QUESTION_BYTES, size)[0]
    yours = [plain("You wrote:", **_SUBTLE), *paragraphs(kept, most=_MOST_LINES)] if kept else []
    return [_box("warning", [plain(aside.remark, **_BOLD), *yours])]


def _question(message: Message, view: CaseView, ways: Ways) -> list[Json]:
    case = view.case
    asked = split(uncoded(case.question[:_QUESTION_LIMIT]), _QUESTION_BYTES, size)[0]
    from_whom = f" from {_who(message, view)}: {ESCALATION_REASONS[case.reason]}"
    opening = lines((_OPENING, _BOLD), (from_whom, {}))
    shown = paragraphs(asked, most=_MOST_LINES) or [plain("(no words)", **_SUBTLE)]
    unread = f" \u00b7 {THREAD_NOT_READ}" if buttons_for_people(case.standing.state) else ""
    return [opening, _box("emphasis", shown), text_block(f"{_where(message, ways)}{unread}")]


def _who(message: Message, view: CaseView) -> str:
    return f"{display_name(view.case.asker_name or message.author.name)}{view.case.asker_mark}"


def _where(message: Message, ways: Ways) -> str:
    asked = "Asked in a personal chat" if message.private else _shared(message)
    thread = web_url(ways.thread) if ways.thread else None
    board = web_url(ways.board) if ways.board else None
    opened = f"[Open the thread]({thread})" if thread else asked
    return f"{opened} \u00b7 [Open on the board]({board})" if board else opened


def _shared(message: Message) -> str:
    chat = kind_of(read_reference(message.reply_to)) == "groupChat"
    return "Asked in a group chat" if chat else "Asked in a channel"


def _missing(finding: SearchFinding | None) -> list[Json]:
    """Return what the answer that was given says that the pages lack."""
    if finding is None or not finding.missing:
        return []
    said = clip(uncoded(finding.missing), _LINE_LENGTH)
    return [lines((MISSING_INTRO, _BOLD), (f" {said}", {}))]


def _pages(finding: SearchFinding | None, ways: Ways, now: datetime) -> list[Json]:
    """Return what was found and everyone may read."""
    if finding is None:
        return []
    found = finding.suggestions[:_MOST_PAGES]
    shown = [
        _page(each, way, ways, now) for each, way in zip(offered_pages(found), found, strict=True)
    ]
    if finding.hidden:
        pages = "page was" if finding.hidden == 1 else "pages were"
        hidden = f"{finding.hidden} more {pages} found that not everyone may read."
        shown.append(plain(hidden, **_SUBTLE))
    return [_heading(pages_heading(finding)), *shown] if shown else []


def _page(page: SourceLine, source: Source, ways: Ways, now: datetime) -> Json:
    url = web_url(public_link(source.url, ways.public_url))
    label = without_functions(teams_label(page.label))
    name = text_block(f"[{label}]({url})") if url else plain(page.label)
    about = ", ".join(part for part in (page.space, freshness(page, now)) if part)
    return _together([name, plain(about, **_SUBTLE)] if about else [name])


def _before(exchanges: Sequence[EarlierExchange]) -> list[Json]:
    return [_heading("Said so far"), *map(_exchange, exchanges)] if exchanges else []


def _exchange(exchange: EarlierExchange) -> Json:
    answer = clip(uncoded(_QUOTED.sub("", exchange.answer)), _LINE_LENGTH) or "no answer"
    if exchange.withheld:
        answer = "an answer from pages that not everyone may read"
    said = plain(f"\u2022 {clip(uncoded(exchange.question), _LINE_LENGTH)}")
    return _together([said, plain(f"\u2192 {answer}", **_SUBTLE)])


def _state(view: CaseView) -> Json:
    return _dated(plain(status_text(view), **_BOLD), state_since(view.case))


def _step(step: CaseStep) -> Json:
    """Return what somebody did, with their words."""
    name = display_name(step.actor.name if step.actor else "")
    words = f": {clip(uncoded(step.text), _LINE_LENGTH)}" if step.text else ""
    return _dated(plain(f"{name} {STEP_LABELS[step.step]}{words}", **_SUBTLE), step.at)


def _dated(words: Json, at: datetime) -> Json:
    """Return a line with when it was, which Teams says in each reader's own time."""
    utc = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    time = text_block(f"{{{{DATE({utc}, SHORT)}}}} {{{{TIME({utc})}}}}", isSubtle=True)
    columns = [_column("stretch", words), _column("auto", time)]
    return {"type": "ColumnSet", "columns": columns, "spacing": "Small"}


def _column(width: str, shown: Json) -> Json:
    return {"type": "Column", "width": width, "items": [shown]}


def _heading(words: str) -> Json:
    return text_block(words, weight="Bolder", separator=True)


def _box(style: str, items: Sequence[Json]) -> Json:
    return {"type": "Container", "style": style, "items": list(items)}


def _together(items: Sequence[Json]) -> Json:
    return {"type": "Container", "spacing": "Small", "items": list(items)}

"""Shared parts of the board's pages: sections, error page, filters, day spans and paging."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar, get_args
from urllib.parse import urlencode

import aiohttp_jinja2
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import REASONS, Reason, Vote
from bot.domain.messages import Intent, Person
from bot.domain.outcomes import AnswerType
from bot.domain.record_search import Cursor, FeedbackQuery, QuestionQuery, encode_cursor
from bot.domain.texts import tr
from bot.domain.texts.dates import days_text
from bot.domain.users import ROLES, Role
from bot.web.auth.demo import display_names
from bot.web.auth.identity import require_role, role_of
from bot.web.board.labels import PARTLY, REFUSED_KIND
from bot.web.pages import accepts_html, add_pages, wants_fragment
from bot.web.problems import Problem, document_problem, problem
from ingestion.errors import DocumentRefused

_TITLES = {
    403: tr("You don't have access"),
    404: tr("Not found"),
    409: tr("That isn't possible right now"),
    422: tr("Please check what you entered"),
    503: tr("Temporarily unavailable"),
}
_OTHER_TITLE = tr("Something went wrong")

log = structlog.get_logger(__name__)


@web.middleware
async def error_page_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Show browsers an error page for errors on the board; other clients get the problem JSON."""
    if not _is_page_view(request):
        return await handler(request)
    try:
        return await handler(request)
    except Problem as refused:
        return _error_page(request, refused)
    except StoreUnavailable as error:
        log.error("request.unavailable", path=request.path, why=str(error))  # noqa: TRY400 - the text names cause and cure
        return _error_page(request, problem(503))
    except DocumentRefused as refused:
        return _error_page(request, document_problem(refused))
    except web.HTTPClientError as refused:
        own = refused.text if refused.text != f"{refused.status}: {refused.reason}" else ""
        return _error_page(request, problem(refused.status, own or ""))


def _is_page_view(request: web.Request) -> bool:
    on_board = request.path == "/board" or request.path.startswith("/board/")
    return on_board and accepts_html(request) and not wants_fragment(request)


def _error_page(request: web.Request, trouble: Problem) -> web.Response:
    details = trouble.details
    title = _TITLES.get(details.status, _OTHER_TITLE)
    context = {"title": title, "told": trouble.told}
    response = aiohttp_jinja2.render_template("board/trouble.html", request, context)
    response.set_status(details.status)
    response.headers.update(trouble.headers)
    return response


HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the board, with the minimum role that may open it."""

    name: str
    path: str
    role: Role = "expert"


SECTIONS = (
    Section(tr("Overview"), "/board"),
    Section(tr("Insights"), "/board/insights"),
    Section(tr("Escalations"), "/board/escalations"),
    Section(tr("Questions"), "/board/questions"),
    Section(tr("Gaps"), "/board/gaps"),
    Section(tr("Answers"), "/board/answers"),
    Section(tr("Feedback"), "/board/feedback"),
    Section(tr("Labels"), "/board/labels"),
    Section(tr("Corrections"), "/board/corrections"),
    Section(tr("Documents"), "/board/documents"),
    Section(tr("Usage"), "/board/usage"),
    Section(tr("System status"), "/board/parts"),
    Section(tr("Personal data"), "/board/personal-data", "admin"),
    Section(tr("Settings"), "/board/settings", "admin"),
)


def mount_layout(app: web.Application) -> None:
    """Add the board's templates and static files; call it once, before its sections."""
    add_pages(app, HERE)
    app.middlewares.append(error_page_middleware)


def render_page(
    request: web.Request, template: str, context: Mapping[str, object], *, role: Role = "expert"
) -> web.Response:
    """Render a template of the board for callers with a role. Raises Problem (403)."""
    require_role(request, role)
    mine = ROLES.index(role_of(request))
    sections = [each for each in SECTIONS if ROLES.index(each.role) <= mine]
    return aiohttp_jinja2.render_template(
        template,
        request,
        {
            "sections": sections,
            "here": _section_of(request.path),
            "names": display_names(request),
            **context,
        },
    )


def _section_of(path: str) -> str:
    """Return the path of a page's section: the longest one that is its prefix."""
    begun = [each.path for each in SECTIONS if f"{path}/".startswith(f"{each.path}/")]
    return max(begun, key=len, default="")


PAGE_SIZE = 25
"""Entries per page."""


def list_link(path: str, fields: Mapping[str, str], **changes: str) -> str:
    """Return the address of a list with its filters; empty filters are omitted."""
    kept = {name: value for name, value in {**fields, **changes}.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def paging(
    path: str, fields: Mapping[str, str], after: object, place: Cursor | None
) -> dict[str, str]:
    """Return the links to the first page, unless this is it, and to the next one."""
    return {
        "first": list_link(path, fields) if after is not None else "",
        "more": list_link(path, fields, after=encode_cursor(place)) if place else "",
    }


SPANS = (7, 30, 90)


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a page, with its link."""

    name: str
    href: str
    chosen: bool


def days_asked_for(request: web.Request, default: int = SPANS[0]) -> int:
    """Return the number of days of the query string; the default for an invalid value."""
    asked = request.query.get("days", "")
    return next((days for days in SPANS if str(days) == asked), default)


def span_choices(chosen: int, path: str, more: str = "") -> Sequence[Choice]:
    """Return the options of day spans; ``more`` is appended to each link's query."""
    return [Choice(days_text(days), f"{path}?days={days}{more}", days == chosen) for days in SPANS]


_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


def csv_response(
    name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> web.Response:
    """Return a CSV file; a text that a spreadsheet would run as a formula is made plain."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(columns)
    for row in rows:
        table.writerow([_csv_value(each) for each in row])
    return web.Response(
        # Excel recognises UTF-8 by its byte order mark only.
        body=written.getvalue().encode("utf-8-sig"),
        content_type="text/csv",
        charset="utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _csv_value(value: object) -> object:
    """Prefix a text that a spreadsheet would run as a formula (CSV injection)."""
    risky = isinstance(value, str) and value.startswith(_FORMULA_PREFIXES)
    return f"'{value}" if risky else value


def audit_name(person: Person) -> str:
    """Return a person's name for the audit log."""
    return person.name or person.email or person.id


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


MAX_FIELD_LENGTH = 200
"""The maximum length of a field, in characters."""

_VOTES: tuple[Vote | Literal["none"], ...] = ("up", "down", "none")
_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
_ONE_DAY = timedelta(days=1)

Option = TypeVar("Option")


@dataclass
class FilterForm:
    """Reads the fields of a filter form; ``troubles`` collects messages about invalid ones."""

    given: Mapping[str, str]
    troubles: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.given.get(name, "").strip()[:MAX_FIELD_LENGTH]

    def among(self, name: str, options: tuple[Option, ...]) -> Option | None:
        """Return the chosen option; None for no choice or an unknown one."""
        chosen = self.text(name)
        return next((option for option in options if option == chosen), None)

    def day(self, name: str, label: str) -> datetime | None:
        """Return the start of a day in UTC; None if empty or invalid."""

        def read(text: str) -> datetime:
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)

        return self._read(name, read, lambda given: _no_day(label, given))

    def share(self, name: str, label: str) -> float | None:
        """Return a percentage as a share of 1; None if empty or invalid."""

        def read(text: str) -> float:
            percent = float(text.removesuffix("%"))
            if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
                raise ValueError(text)
            return percent / 100

        return self._read(name, read, lambda given: _no_percentage(label, given))

    def _read(
        self, name: str, read: Callable[[str], Option], wrong: Callable[[str], str]
    ) -> Option | None:
        text = self.text(name)
        if not text:
            return None
        try:
            return read(text)
        except (ValueError, OverflowError):
            self.troubles.append(wrong(text[:40]))
            return None


def _no_day(label: str, given: str) -> str:
    return tr(
        "{label}: \u201c{given}\u201d is not a date. Enter it like 2026-11-22.",
        label=label,
        given=given,
    )


def _no_percentage(label: str, given: str) -> str:
    return tr(
        "{label}: \u201c{given}\u201d is not a percentage. Enter a number from 0 to 100.",
        label=label,
        given=given,
    )


def question_query(fields: FilterForm) -> QuestionQuery:
    """Return the question query of a filter form; both days are inclusive."""
    until = fields.day("until", tr("Last day"))
    kind = fields.among("kind", (*_TYPES, REFUSED_KIND))
    return QuestionQuery(
        words=fields.text("words"),
        answer_type="GENERIC" if kind == REFUSED_KIND else fields.among("kind", _TYPES),
        level=fields.among("kind", PARTLY),
        refused=kind == REFUSED_KIND if kind in {"GENERIC", REFUSED_KIND} else None,
        intent=next((each for each in Intent if each.value == fields.text("intent")), None),
        platform=fields.text("platform"),
        person_id=fields.text("person"),
        vote=fields.among("vote", _VOTES),
        since=fields.day("since", tr("First day")),
        until=None if until is None else _next_day(until),
        least=fields.share("least", tr("Minimum confidence")),
        most=fields.share("most", tr("Maximum confidence")),
    )


def feedback_query(fields: FilterForm) -> FeedbackQuery:
    """Return the feedback query of a filter form."""
    reasons: tuple[Reason, ...] = REASONS
    votes: tuple[Vote, ...] = get_args(Vote)
    return FeedbackQuery(
        vote=fields.among("vote", votes),
        reason=fields.among("reason", reasons),
        commented=fields.text("commented") == "1",
    )


def _next_day(day: datetime) -> datetime:
    """Return the next day; date.max stays as it is."""
    return day if day.date() == date.max else day + _ONE_DAY

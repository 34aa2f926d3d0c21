"""The pages where people work: what waits for them, what was asked, what was said of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from aiohttp import web

from bot.adapters.board.case import CasePage, FindsOrigin, Works
from bot.adapters.board.changed import ChangedPage
from bot.adapters.board.escalations import Escalations
from bot.adapters.board.feedback import FeedbackPage
from bot.adapters.board.ports import Record
from bot.adapters.board.questions import Questions
from bot.answering.visibility import ReadablePassages
from bot.domain.record_search import Searches
from bot.escalations.ports import Cases
from bot.escalations.quote_check import HoldsPages


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def mount_work(
    app: web.Application,
    *,
    tenant: str,
    works: Works,
    cases: Cases,
    searches: Searches,
    record: Record,
    readable: ReadablePassages,
    index: HoldsPages,
    origins: FindsOrigin,
    patience: timedelta,
    clock: Callable[[], datetime] = now,
) -> None:
    """Add the pages, after the frame.

    Args:
        app: what they are added to.
        tenant: whose record.
        works: acts on cases and shows them.
        cases: the cases themselves.
        searches: finds questions, judgements and counts.
        record: what was asked and what hangs on it.
        readable: what may be read of what was found.
        index: where pages are, to look whether they still say what was quoted.
        origins: where a question can be opened on its platform.
        patience: how long a case may wait before its age is shown as too long; zero: for ever.
        clock: the time.
    """
    Escalations(
        tenant=tenant, cases=cases, searches=searches, patience=patience, clock=clock
    ).mount(app)
    CasePage(
        tenant=tenant, works=works, cases=cases, origins=origins, patience=patience, clock=clock
    ).mount(app)
    ChangedPage(tenant=tenant, searches=searches, record=record, index=index, clock=clock).mount(
        app
    )
    Questions(
        tenant=tenant, searches=searches, record=record, cases=cases, readable=readable
    ).mount(app)
    FeedbackPage(tenant=tenant, searches=searches, clock=clock).mount(app)

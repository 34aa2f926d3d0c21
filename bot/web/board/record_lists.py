"""Board lists over the records: questions, stale answers, and feedback.

The list of stale answers names no pages, because not all its readers may know of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import structlog
from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.answering.permitted_views import CitedQuote, QuoteCheck, QuoteState
from bot.answering.visibility import ReadablePassages, visibility_in
from bot.domain.handoff import person_request_below
from bot.domain.interactions import Interaction, Reply
from bot.domain.messages import InteractionId
from bot.domain.record_search import (
    AskedQuestion,
    Cursor,
    FeedbackCounts,
    QuestionQuery,
    decode_cursor,
)
from bot.domain.texts import tr
from bot.escalations.ports import Cases
from bot.store.interactions import StoredInteractions
from bot.store.search import StoredSearches
from bot.web.auth.identity import principals_of, require_role, role_of
from bot.web.board import labels, layout
from bot.web.board.layout import (
    FilterForm,
    feedback_query,
    question_query,
    render_page,
    span_choices,
)
from bot.web.board.question_view import record_view
from bot.web.problems import problem
from rag.errors import RagError
from rag.ports import SearchIndex

QUESTIONS_PATH = "/board/questions"
EARLIER_EXCHANGES = 5
"""Number of earlier exchanges shown with a question."""

_QUESTION_FIELDS = (
    "words",
    "kind",
    "intent",
    "platform",
    "person",
    "vote",
    "since",
    "until",
    "least",
    "most",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsPage:
    """Handlers of the search and of one question's record."""

    tenant: str
    searches: StoredSearches
    record: StoredInteractions
    cases: Cases
    readable: ReadablePassages

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(QUESTIONS_PATH, self.search)
        app.router.add_get(f"{QUESTIONS_PATH}/{{id}}", self.one)

    async def search(self, request: web.Request) -> web.Response:
        """List questions, newest first, filtered by the form's fields."""
        require_role(request, "expert")
        fields = FilterForm(request.query)
        query = question_query(fields)
        after = decode_cursor(request.query.get("after", ""), parts=1, numbered=True)
        found = await self.searches.questions(
            self.tenant, query, limit=layout.PAGE_SIZE, after=after
        )
        kept = {name: fields.text(name) for name in _QUESTION_FIELDS}
        context: Mapping[str, object] = {
            "found": found,
            "fields": kept,
            "troubles": fields.troubles,
            "narrowed": any(kept.values()),
            **layout.paging(QUESTIONS_PATH, kept, after, found.next),
            "intents": [(each.value, name) for each, name in labels.INTENTS.items()],
            "words": labels,
        }
        return render_page(request, "board/questions.html", context)

    async def one(self, request: web.Request) -> web.Response:
        """Show one question's record, without the pages that its reader may not read."""
        require_role(request, "expert")
        asked = await self._asked(request.match_info["id"])
        below = person_request_below(asked.message)
        case = await self.cases.get(self.tenant, asked.id)
        case = case or await self.cases.get(self.tenant, below)
        thread = asked.message.thread
        earlier = await self.record.in_thread(thread, EARLIER_EXCHANGES, asked.number)
        reader = Reader(await principals_of(request, self.tenant))
        seen = await visibility_in(self.readable, self.tenant, (asked, *earlier), reader)
        view = record_view(
            asked,
            seen,
            earlier=earlier,
            feedback=await self.record.feedback(asked.id),
            scored=role_of(request) == "admin",
        )
        context = {"record": view, "case": case, "words": labels}
        return render_page(request, "board/question.html", context)

    async def _asked(self, given: str) -> Interaction:
        found = await self.record.get(InteractionId(given))
        if found is None or found.message.thread.tenant != self.tenant:
            raise problem(404, tr("This question does not exist or is no longer stored."))
        return found


STALE_ANSWERS_PATH = "/board/questions/changed"
MAX_CHECKED = 500
"""Maximum number of answers checked for one view."""

_BATCH = 50
_DEFAULT_DAYS = 30
_INDEX_UNAVAILABLE = tr("The index is unavailable right now, so changes can't be detected.")
_Staleness = Literal["changed", "restricted", "gone"]
_STALENESS_TEXTS: Mapping[_Staleness, str] = {
    "gone": tr("The page no longer exists"),
    "restricted": tr("Not everyone can read the page any more"),
    "changed": tr("The page no longer says what was quoted"),
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StaleAnswer:
    """A question whose quoted sources have changed; ``why`` lists the reasons in words."""

    asked: AskedQuestion
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _CheckedAnswers:
    changed: Sequence[StaleAnswer]
    looked_at: int
    next: Cursor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleAnswersPage:
    """Handlers of the list; it names no pages, because not all its readers may know of them.

    Args:
        tenant: The tenant whose answers are checked.
        searches: Finds answers.
        record: Returns the answers.
        index: Holds the pages.
        clock: Returns the current time.
        most: Maximum number of answers checked for one view.
    """

    tenant: str
    searches: StoredSearches
    record: StoredInteractions
    index: SearchIndex
    clock: Callable[[], datetime]
    most: int = MAX_CHECKED

    def mount(self, app: web.Application) -> None:
        """Add the route. Call it before those of single questions, which would match it."""
        app.router.add_get(STALE_ANSWERS_PATH, self.page)

    async def page(self, request: web.Request) -> web.Response:
        """List stale answers of the chosen days, newest first."""
        require_role(request, "expert")
        days = layout.days_asked_for(request, _DEFAULT_DAYS)
        after = decode_cursor(request.query.get("after", ""), parts=1, numbered=True)
        check = QuoteCheck(self.index, self.tenant, await principals_of(request, self.tenant))
        trouble, found = "", _CheckedAnswers((), 0, None)
        try:
            found = await self._check_answers(check, self.clock() - timedelta(days=days), after)
        except RagError as error:
            log.warning("board.index_unavailable", why=str(error))
            trouble = _INDEX_UNAVAILABLE
        kept = {"days": str(days)}
        context: Mapping[str, object] = {
            "found": found,
            "trouble": trouble,
            "spans": span_choices(days, STALE_ANSWERS_PATH),
            **layout.paging(STALE_ANSWERS_PATH, kept, after, found.next),
            "words": labels,
        }
        return render_page(request, "board/changed.html", context)

    async def _check_answers(
        self, check: QuoteCheck, since: datetime, after: Cursor | None
    ) -> _CheckedAnswers:
        """Check answers until a page is full, or up to the maximum for one view."""
        changed: list[StaleAnswer] = []
        looked_at, place = 0, after
        query = QuestionQuery(answer_type="RAG", since=since)
        while True:
            limit = min(_BATCH, self.most - looked_at)
            listed = await self.searches.questions(self.tenant, query, limit=limit, after=place)
            changed += await self._changed(check, listed.items)
            looked_at, place = looked_at + len(listed.items), listed.next
            # An empty batch ends the view, too: the search has spent its own limit without a hit.
            spent = looked_at >= self.most or not listed.items
            if place is None or spent or len(changed) >= layout.PAGE_SIZE:
                return _CheckedAnswers(changed, looked_at, place)

    async def _changed(
        self, check: QuoteCheck, asked: Sequence[AskedQuestion]
    ) -> Sequence[StaleAnswer]:
        quoted = {each: _quotes_of(await self.record.get(each.id)) for each in asked}
        fates = await check.fates({one for every in quoted.values() for one in every})
        told = {
            each: _staleness_texts([fates[one] for one in every]) for each, every in quoted.items()
        }
        return [StaleAnswer(each, why) for each, why in told.items() if why]


def _quotes_of(asked: Interaction | None) -> Sequence[CitedQuote]:
    """Return the quotes that an answer cites."""
    if asked is None or asked.outcome is None or not isinstance(asked.outcome.response, Reply):
        return ()
    public = not asked.message.private
    return [
        CitedQuote(each.space, each.page_id, each.chunk_id, each.quote, public)
        for each in asked.outcome.response.sources
    ]


def _staleness_texts(fates: Sequence[QuoteState]) -> tuple[str, ...]:
    return tuple(why for bad, why in _STALENESS_TEXTS.items() if bad in fates)


FEEDBACK_PATH = "/board/feedback"
FEEDBACK_SPAN = timedelta(days=30)
"""The span of the feedback counts."""

_FEEDBACK_FIELDS = ("vote", "reason", "commented")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackPage:
    """Handler of the feedback list."""

    tenant: str
    searches: StoredSearches
    clock: Callable[[], datetime]

    def mount(self, app: web.Application) -> None:
        """Add the route."""
        app.router.add_get(FEEDBACK_PATH, self.show)

    async def show(self, request: web.Request) -> web.Response:
        """List feedback, filtered by the query string, with the counts of the last days."""
        require_role(request, "expert")
        fields = FilterForm(request.query)
        after = decode_cursor(request.query.get("after", ""), parts=2)
        found = await self.searches.feedback(
            self.tenant, feedback_query(fields), limit=layout.PAGE_SIZE, after=after
        )
        counts = await self.searches.feedback_counts(self.tenant, self.clock() - FEEDBACK_SPAN)
        kept = {name: fields.text(name) for name in _FEEDBACK_FIELDS}
        context = {
            "found": found,
            "counts": counts,
            "reasons": by_reason(counts),
            "days": FEEDBACK_SPAN.days,
            "fields": kept,
            "narrowed": any(kept.values()),
            **layout.paging(FEEDBACK_PATH, kept, after, found.next),
            "words": labels,
        }
        return render_page(request, "board/feedback.html", context)


def by_reason(counts: FeedbackCounts) -> tuple[tuple[str, str, int], ...]:
    """Return reasons with label and count, the most frequent first."""
    given = sorted(counts.reasons.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        (reason, labels.judged(reason) if reason else tr("No reason given"), count)
        for reason, count in given
    )

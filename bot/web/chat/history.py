"""A person's own conversations: list by day in their time zone, search, delete."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import groupby
from typing import Literal
from urllib.parse import urlencode

import aiohttp_jinja2
from aiohttp import web

from bot.domain.markdown import clip
from bot.domain.messages import Thread
from bot.domain.outcomes import question_text
from bot.domain.ports import Inbox
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.domain.texts import changed, tr, trn
from bot.domain.texts.dates import day_and_month, short_day_of_year
from bot.store.interactions import StoredThreads
from bot.web.chat.exchanges import Exchanges, valid_uuid
from bot.web.pages import wants_fragment

DayName = Literal["Today", "Yesterday", "Earlier"]

# The farthest time zone is UTC+14.
_FARTHEST_MINUTES = 14 * 60

_DAY_LABELS: Mapping[DayName, str] = {
    "Today": tr("Today"),
    "Yesterday": tr("Yesterday"),
    "Earlier": tr("Earlier"),
}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A line of the list: a conversation, or a found question.

    ``when`` is a time of day, or a date for earlier days; ``here`` marks the open conversation.
    """

    href: str
    title: str
    at: datetime
    when: str = ""
    here: bool = False
    delete: str = ""


@dataclass(frozen=True, slots=True)
class HistoryDay:
    """The entries of a day; ``begins`` is False if the day continues from the previous page."""

    name: DayName
    entries: tuple[HistoryEntry, ...]
    begins: bool = True


def browser_timezone(minutes_east: str | None) -> timezone:
    """Return the browser's time zone, given in minutes east of Greenwich; UTC if invalid."""
    try:
        minutes = int(minutes_east or 0)
    except ValueError:
        minutes = 0
    within = minutes if abs(minutes) <= _FARTHEST_MINUTES else 0
    return timezone(timedelta(minutes=within))


def day_of(moment: datetime, now: datetime) -> DayName:
    """Return the day of a time in the zone of ``now``; future times are today."""
    past = (now.date() - moment.astimezone(now.tzinfo).date()).days
    if past <= 0:
        return "Today"
    return "Yesterday" if past == 1 else "Earlier"


def by_day(
    entries: Sequence[HistoryEntry], now: datetime, *, after: datetime | None = None
) -> tuple[HistoryDay, ...]:
    """Group entries, newest first, by day; ``after`` is the previous page's last time."""
    seen = None if after is None else day_of(after, now)
    return tuple(
        HistoryDay(
            name, tuple(_with_local_time(each, name, now) for each in group), begins=name != seen
        )
        for name, group in groupby(entries, key=lambda each: day_of(each.at, now))
    )


def _with_local_time(entry: HistoryEntry, day: DayName, now: datetime) -> HistoryEntry:
    local = entry.at.astimezone(now.tzinfo)
    if day != "Earlier":
        when: str = f"{local:%H:%M}"
    elif local.year == now.year:
        when = day_and_month(local)
    else:
        when = short_day_of_year(local)
    return HistoryEntry(entry.href, entry.title, local, when, entry.here, entry.delete)


PAGE_SIZE = 30
"""Lines per page."""

_MAX_TITLE = 90
_CONTEXT_BEFORE = 30


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """The parameters of a list: search words, the open conversation, and the position.

    ``after`` is the id of the previous page's last line, and ``seen`` its time.
    """

    query: str = ""
    open: str = ""
    after: str | None = None
    seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of the list; ``more`` is the address of the next one, empty at the end.

    ``told`` is the number of found questions in words, empty without a search.
    """

    asked: HistoryQuery
    days: tuple[HistoryDay, ...]
    more: str
    told: str


def history_page(
    found: Sequence[ThreadSummary] | Sequence[FoundQuestion], asked: HistoryQuery, now: datetime
) -> HistoryPage:
    """Return a page of the results; ``found`` has an extra item if there are more."""
    entries = [_entry(each, asked) for each in found[:PAGE_SIZE]]
    more = len(found) > PAGE_SIZE
    return HistoryPage(
        asked=asked,
        days=by_day(entries, now, after=asked.seen),
        more=_next_address(asked, found[PAGE_SIZE - 1].id, entries[-1].at) if more else "",
        told=_result_text(len(found), more=more) if asked.query and asked.after is None else "",
    )


def _entry(found: ThreadSummary | FoundQuestion, asked: HistoryQuery) -> HistoryEntry:
    if isinstance(found, FoundQuestion):
        href = f"/c/{found.thread}#x-{found.id}"
        return HistoryEntry(href, _found(found, asked.query), found.asked_at)
    here = found.id == asked.open
    title = clip(question_text(found.question), _MAX_TITLE) or "\u2026"
    delete = f"/conversations/{found.id}/delete" if here else ""
    return HistoryEntry(f"/c/{found.id}", title, found.last_at, here=here, delete=delete)


def _found(found: FoundQuestion, query: str) -> str:
    return changed(question_text(found.question), partial(_excerpt, query=query))


def _excerpt(question: str, query: str) -> str:
    """Return the start of a question, or its part around the first search word."""
    text = " ".join(question.split())
    found = re.search(re.escape(query.split(maxsplit=1)[0]), text, re.IGNORECASE)
    if found is None or found.end() < _MAX_TITLE:
        return clip(text, _MAX_TITLE)
    return f"\u2026{clip(text[found.start() - _CONTEXT_BEFORE :], _MAX_TITLE - 1)}"


def _next_address(asked: HistoryQuery, last: str, seen: datetime) -> str:
    query = {"q": asked.query} if asked.query else {}
    return "/history?" + urlencode(
        {**query, "open": asked.open, "after": last, "seen": seen.isoformat()}
    )


def _result_text(count: int, *, more: bool) -> str:
    if more:
        return tr("More than {count} questions found, newest first", count=PAGE_SIZE)
    if not count:
        return tr("No questions found")
    return trn("{n} question found", "{n} questions found", count)


CONVERSATION_COOKIE = "frontdesk_conversation"
"""Cookie with the id of the open conversation."""

TIMEZONE_COOKIE, COLLAPSED_COOKIE = "frontdesk_east", "frontdesk_folded"
"""Cookies set by the page: minutes east of Greenwich, and whether the list is collapsed."""

_MAX_SEARCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRoutes:
    """Handlers of the conversation list; without JavaScript it is a page of its own."""

    threads: StoredThreads
    inbox: Inbox
    exchanges: Exchanges

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/history", self.show)
        app.router.add_get("/conversations/{conversation}/delete", self.confirm)
        app.router.add_post("/conversations/{conversation}/delete", self.delete)

    async def show(self, request: web.Request) -> web.Response:
        """Return the list or the search results, as a fragment or a page."""
        context = await self.beside(request, _history_query(request))
        piece = wants_fragment(request)
        template = "web/threads.html" if piece else "web/history.html"
        return aiohttp_jinja2.render_template(template, request, {**context, "piece": piece})

    async def beside(self, request: web.Request, asked: HistoryQuery) -> dict[str, object]:
        """Return the values of the list's templates."""
        east = request.cookies.get(TIMEZONE_COOKIE, "")
        now = datetime.now(UTC).astimezone(browser_timezone(east))
        return {
            "history": await self._listing(request, asked, now),
            "day_labels": _DAY_LABELS,
            "east": east,
            "folded": request.cookies.get(COLLAPSED_COOKIE) == "yes",
        }

    async def confirm(self, request: web.Request) -> web.Response:
        """Show the confirmation before deleting a conversation."""
        thread = self._thread(request, request.match_info["conversation"])
        count = len(await self.threads.questions(thread))
        context = {"conversation": thread.id, "count": count}
        return aiohttp_jinja2.render_template("web/delete.html", request, context)

    async def delete(self, request: web.Request) -> web.Response:
        """Withdraw every question of a conversation, then open a new one."""
        thread = self._thread(request, request.match_info["conversation"])
        for interaction_id in await self.threads.questions(thread):
            await self.inbox.cancel(interaction_id)
        response = web.HTTPSeeOther("/")
        remember_conversation(response, str(uuid.uuid4()))
        raise response

    async def _listing(
        self, request: web.Request, asked: HistoryQuery, now: datetime
    ) -> HistoryPage:
        place = self._thread(request, asked.open)
        if asked.query:
            words, after = asked.query, asked.after
            found = await self.threads.matching(place, words, PAGE_SIZE + 1, after)
            return history_page(await self.exchanges.redacted(request, found), asked, now)
        newest = await self.threads.newest(place, PAGE_SIZE + 1, asked.after)
        return history_page(await self.exchanges.redacted(request, newest), asked, now)

    def _thread(self, request: web.Request, conversation: str) -> Thread:
        return self.exchanges.thread(request, valid_uuid(conversation))


def remember_conversation(response: web.StreamResponse, conversation: str) -> None:
    """Set the cookie of the open conversation."""
    response.set_cookie(
        CONVERSATION_COOKIE, conversation, httponly=True, samesite="Strict", max_age=30 * 86400
    )


def _history_query(request: web.Request) -> HistoryQuery:
    given = request.query
    return HistoryQuery(
        query=" ".join(given.get("q", "")[:_MAX_SEARCH].split()),
        open=given.get("open", ""),
        after=given.get("after"),
        seen=_moment(given.get("seen", "")),
    )


def _moment(given: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None

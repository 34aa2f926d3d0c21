"""The weekly digest: what it says to whom, and when it is due.

A channel reads what all its members may read; a person what they may read. Words of questions are
shown by the one rule (bot.learning.question_words). bot.learning.digest_job sends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Protocol, runtime_checkable

from bot.answering.asker_identity import EVERYONE_PRINCIPALS, Reader
from bot.domain.messages import Person, Platform
from bot.domain.ports import Directory
from bot.domain.record_reports import EVERYTHING, Scope, Span
from bot.domain.texts import ENGLISH, Language, Text, join_texts, tr, trn
from bot.domain.texts.dates import long_date, spoken_date
from bot.learning.corrected_pages import ShownCorrections
from bot.learning.gap_views import NearPage, ShownGap
from bot.learning.gaps import GapQuery
from bot.learning.insights import CitedPage
from bot.learning.question_words import Viewer, person_key
from rag.types import EVERYONE, Principal

EMAIL = "email"
MOST_GAPS, MOST_PAGES = 5, 5
_CLOSED_SEEN, _MOST_CORRECTED = 50, 200
_WEEK, _QUARTER = timedelta(days=7), timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who gets the digest where: ``target`` is ``platform:address``, or ``email:address``.

    ``person_id`` and ``email`` are of the person who reads it, "" for a channel. ``owner``: it has
    only the pages whose last editor has this name; "" for all. ``failure`` is why the last one
    could not be sent, "" if it could.
    """

    target: str
    created_by: str
    created_at: datetime
    person_id: str = ""
    email: str = ""
    owner: str = ""
    off: bool = False
    tried_week: str = ""
    sent_week: str = ""
    failure: str = ""

    @property
    def platform(self) -> Platform:
        return self.target.partition(":")[0]

    @property
    def address(self) -> str:
        return self.target.partition(":")[2]

    @property
    def reader(self) -> Person | None:
        """The person who reads it; None for a channel."""
        if not (self.person_id or self.email):
            return None
        return Person(self.person_id or self.email, email=self.email or None)


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest in plain text: a subject, and sections of a heading and lines."""

    subject: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    ending: str

    @property
    def empty(self) -> bool:
        return not self.sections

    def text(self) -> str:
        """Return all of it."""
        parts = ["\n".join((heading, *lines)) for heading, lines in self.sections]
        return "\n\n".join((self.subject, *parts, self.ending))


@dataclass(frozen=True, slots=True)
class Sending:
    """A digest on its way; ``key`` is the same at every attempt.

    ``since`` is before the first attempt. ``again``: an earlier attempt may have succeeded.
    """

    key: str
    digest: Digest
    since: datetime
    again: bool


@runtime_checkable
class SendsDigests(Protocol):
    """Optional capability of a channel, and of mail: send a digest to an address."""

    @property
    def platform(self) -> Platform: ...

    async def send_digest(self, address: str, sending: Sending) -> None:
        """Send it once, in plain text; look for an earlier attempt's first where that is possible.

        Raises DeliveryFailed, DeliveryRefused where people from outside read along.
        """
        ...


class DigestRecord(Protocol):
    """The record of digests. Raises StoreUnavailable."""

    async def subscribe(self, tenant: str, wanted: Subscription, *, actor: str) -> None:
        """Send digests there from the next one on, with an audit entry."""
        ...

    async def unsubscribe(self, tenant: str, target: str, *, actor: str) -> bool:
        """Send none there, with an audit entry; return whether any were sent there."""
        ...

    async def one(self, tenant: str, target: str) -> Subscription | None: ...

    async def listed(self, tenant: str) -> Sequence[Subscription]: ...

    async def tried(self, tenant: str, target: str, week: str) -> None: ...

    async def ended(self, tenant: str, target: str, week: str, failure: str = "") -> None: ...

    async def failed(self, tenant: str, target: str, failure: str) -> None: ...

    async def open_since(self, tenant: str) -> Sequence[datetime]:
        """Return when the unsettled cases were opened, oldest first."""
        ...

    async def answers_live_since(self, tenant: str, since: datetime) -> int:
        """Return how many reviewed answers are used since a time."""
        ...


class ListsGaps(Protocol):
    """The gaps as a viewer may see them. Raises StoreUnavailable."""

    async def listed(
        self, query: GapQuery, viewer: Viewer, *, limit: int, offset: int = 0
    ) -> GapsFound: ...


class GapsFound(Protocol):
    """A part of the list of gaps."""

    @property
    def gaps(self) -> tuple[ShownGap, ...]: ...


class FindsStalePages(Protocol):
    """Old pages that answer much. Raises StoreUnavailable, RagError."""

    async def stale(
        self, span: Span, readers: frozenset[Principal], scope: Scope = EVERYTHING
    ) -> Sequence[CitedPage]: ...


class FindsCorrectedPages(Protocol):
    """Pages because of which answers were corrected. Raises StoreUnavailable."""

    async def listed(
        self, reader: Reader, limit: int, offset: int = 0, since: datetime | None = None
    ) -> Sequence[ShownCorrections]: ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """When digests are due: an hour of a weekday (Monday is 0) of a zone."""

    weekday: int
    hour: int
    zone: tzinfo

    def last(self, now: datetime) -> tuple[str, datetime]:
        """Return the ISO week and the time of the digest that was due last."""
        day = now.astimezone(self.zone).date()
        day -= timedelta(days=(day.weekday() - self.weekday) % 7)
        due = datetime.combine(day, time(self.hour), self.zone).astimezone(UTC)
        if due > now:
            day -= _WEEK
            due = datetime.combine(day, time(self.hour), self.zone).astimezone(UTC)
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}", due

    def next(self, now: datetime) -> datetime:
        """Return when the next digest is due, in the zone."""
        _, due = self.last(now)
        day = due.astimezone(self.zone).date() + _WEEK
        return datetime.combine(day, time(self.hour), self.zone)


class DigestWriter:
    """Writes digests of one tenant in a language.

    ``public_url`` is where the board is, None if not known.
    """

    def __init__(
        self,
        tenant: str,
        record: DigestRecord,
        gaps: ListsGaps,
        pages: FindsStalePages,
        corrected: FindsCorrectedPages,
        directory: Directory,
        *,
        public_url: str | None,
        language: Language = ENGLISH,
    ) -> None:
        self._tenant = tenant
        self._language = language
        self._record = record
        self._gaps = gaps
        self._pages = pages
        self._corrected = corrected
        self._directory = directory
        self._public_url = public_url

    async def write(self, wanted: Subscription, until: datetime) -> Digest:
        """Return the digest of the week before a time. Raises StoreUnavailable, RagError."""
        viewer, since = await self._viewer(wanted), until - _WEEK
        open_ = GapQuery(Span(since, until), frozenset({"new", "taken"}))
        found = (await self._gaps.listed(open_, viewer, limit=MOST_GAPS)).gaps
        month = Span(until - timedelta(days=30), until)
        stale = await self._pages.stale(month, viewer.reader.principals)
        day = spoken_date(until)
        told = await self._corrected.listed(viewer.reader, _MOST_CORRECTED, since=since)
        corrected = list(_corrected_lines(told, wanted.owner))
        if wanted.owner:
            own = (
                (tr("Your pages to update:"), list(_page_lines(found, stale, wanted.owner))),
                (tr("Answers corrected because your pages changed:"), corrected),
            )
            subject = tr("Frontdesk, your pages: week to {day}", day=day)
            return _digest(subject, own, _OWNERS_ENDING, self._language)
        waiting = await self._record.open_since(self._tenant)
        sections = (
            (tr("Questions the wiki doesn't answer:"), list(map(self._gap_line, found))),
            (tr("Pages to update:"), list(_page_lines(found, stale))),
            (tr("Answers corrected because their pages changed:"), corrected),
            (tr("Open cases:"), list(self._case_lines(waiting, until))),
            (tr("What got better:"), await self._improved(viewer, since, until)),
        )
        subject = tr("Frontdesk: week to {day}", day=day)
        ending = _ENDING.get(wanted.platform, _USUAL_ENDING)
        return _digest(subject, sections, ending, self._language)

    async def _improved(self, viewer: Viewer, since: datetime, until: datetime) -> list[Text]:
        over = GapQuery(Span(until - _QUARTER, until), frozenset({"closed"}), recent_first=True)
        closed = (await self._gaps.listed(over, viewer, limit=_CLOSED_SEEN)).gaps
        live = await self._record.answers_live_since(self._tenant, since)
        return list(_improved(closed, since, live))

    async def _viewer(self, wanted: Subscription) -> Viewer:
        person = wanted.reader
        if person is None:
            return Viewer(frozenset(), Reader(EVERYONE_PRINCIPALS))
        principals = await self._directory.principals(self._tenant, person) | {EVERYONE}
        return Viewer(frozenset({person.id, person_key(person)}), Reader(principals))

    def _gap_line(self, gap: ShownGap) -> Text:
        asked = trn("{n} question", "{n} questions", gap.summary.questions)
        people = trn("{n} person", "{n} people", gap.summary.people)
        line = tr(
            "\u2022 {name}: {questions} from {people}",
            name=_name(gap),
            questions=asked,
            people=people,
        )
        return self._with_link(line, f"/board/gaps/{gap.summary.id}")

    def _case_lines(self, opened: Sequence[datetime], now: datetime) -> Iterator[Text]:
        if not opened:
            return
        ages = [now - at for at in opened]
        old = sum(age > _WEEK for age in ages)
        fresh = sum(age <= timedelta(days=1) for age in ages)
        line = tr(
            "\u2022 {total} in all: {fresh} from the last 24 hours, {week} up to a week old, "
            "{old} older",
            total=len(ages),
            fresh=fresh,
            week=len(ages) - fresh - old,
            old=old,
        )
        yield self._with_link(line, "/board/escalations")

    def _with_link(self, line: Text, path: str) -> Text:
        return join_texts(" ", (line, f"{self._public_url}{path}")) if self._public_url else line


_ENDING: Mapping[Platform, Text] = {
    "slack": tr("To stop these messages here: /frontdesk digest off"),
    EMAIL: tr("To stop these mails: on the board, under Insights, Weekly digest."),
}
_OWNERS_ENDING = tr("To stop these messages: in Frontdesk\u2019s web chat, under /me.")
_USUAL_ENDING = tr("To stop these messages here: write \u201cdigest off\u201d to me.")


def _digest(
    subject: Text, sections: Sequence[tuple[Text, Sequence[Text]]], ending: Text, language: Language
) -> Digest:
    kept = tuple(
        (language.text(heading), tuple(map(language.text, lines)))
        for heading, lines in sections
        if lines
    )
    return Digest(language.text(subject), kept, language.text(ending))


def _name(gap: ShownGap) -> Text:
    if gap.name:
        return tr("\u201c{name}\u201d", name=gap.name)
    if gap.pages:
        return tr("question not shown, close to \u201c{title}\u201d", title=gap.pages[0].title)
    return tr("question not shown")


def _page_lines(
    gaps: Sequence[ShownGap], stale: Sequence[CitedPage], owner: str = ""
) -> Iterator[Text]:
    """Yield pages near what is lacking, then old ones that answer much, each with its owner."""
    pages = [each for gap in gaps for each in gap.pages[:1]]
    near = {each.url: each for each in pages if not owner or each.owner == owner}
    stale = [each for each in stale if not owner or each.page.owner == owner]
    for page in list(near.values())[:MOST_PAGES]:
        yield tr("\u2022 {page}: close to an unanswered question", page=_page(page))
    for cited in [each for each in stale if each.page.url not in near][:MOST_PAGES]:
        name, answers = _page(cited.page), trn("{n} answer", "{n} answers", cited.answers)
        if changed := cited.page.updated_at:
            yield tr(
                "\u2022 {page}: unchanged since {day}, cited by {answers}",
                page=name,
                day=long_date(changed),
                answers=answers,
            )
        else:
            yield tr("\u2022 {page}: cited by {answers}", page=name, answers=answers)


def _corrected_lines(found: Sequence[ShownCorrections], owner: str = "") -> Iterator[Text]:
    """Yield the pages because of which answers were corrected, and how many askers were told."""
    shown = [(each.page, each.counts) for each in found]
    named = [(page, of) for page, of in shown if page and (not owner or page.owner == owner)]
    for page, of in [each for each in named if each[1].told + each[1].noted][:MOST_PAGES]:
        answers = [trn("{n} answer edited", "{n} answers edited", of.told)] if of.told else []
        noted = trn("{n} asker notified privately", "{n} askers notified privately", of.noted)
        notes = [noted] if of.noted else []
        done = join_texts(", ", answers + notes)
        yield tr("\u2022 {page}: {done}", page=_page(page), done=done)


def _page(page: NearPage) -> Text:
    if page.owner:
        return tr(
            "{title} ({space}, last edited by {owner})",
            title=page.title,
            space=page.space,
            owner=page.owner,
        )
    return tr("{title} ({space})", title=page.title, space=page.space)


def _improved(closed: Sequence[ShownGap], since: datetime, live: int) -> Iterator[Text]:
    lately = [each for each in closed if each.summary.state_at >= since]
    named = [tr("\u201c{name}\u201d", name=each.name) for each in lately if each.name]
    if lately:
        count = trn(
            "\u2022 {n} gap in the wiki closed", "\u2022 {n} gaps in the wiki closed", len(lately)
        )
        names = join_texts(", ", named[:MOST_GAPS])
        yield join_texts(": ", (count, names)) if named else count
    if live:
        yield trn(
            "\u2022 {n} answer by your experts now in use",
            "\u2022 {n} answers by your experts now in use",
            live,
        )

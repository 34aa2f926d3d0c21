"""Values and rules of answers that people wrote: their states, readers and who may do what.

A reviewed answer comes from a case, a standard answer is written beforehand; both are shown to
askers only while they are live. Pure, but for the port of the record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, get_args

from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from bot.domain.texts import tr
from bot.learning.question_words import Viewer
from rag.types import EVERYONE, Principal, Readers, may_read, minimal_readers

AnswerKind = Literal["reviewed", "standard"]
"""reviewed: an expert's words in a case. standard: written beforehand, given before all pages."""

AnswerState = Literal["draft", "in_review", "live", "rejected", "expired", "withdrawn"]
AnswerAct = Literal["save", "submit", "approve", "reject", "withdraw"]

KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
ANSWER_STATES: tuple[AnswerState, ...] = get_args(AnswerState)
ANSWER_ACTS: tuple[AnswerAct, ...] = get_args(AnswerAct)

LONGEST_QUESTION = 300
LONGEST_TEXT = 8_000
MOST_VARIANTS = 10

COMPLAINTS = 2
"""Different people whose thumbs down bring a live answer back to review."""

_PAGE_ENDING = ".md"
_PAGE_NAME = re.compile(r"([0-9a-f]{32})\.md")
_FROM: Mapping[AnswerAct, frozenset[AnswerState]] = {
    "save": frozenset({"draft", "in_review", "live", "expired"}),
    "submit": frozenset({"draft", "expired", "withdrawn"}),
    "approve": frozenset({"draft", "in_review", "expired"}),
    "reject": frozenset({"draft", "in_review"}),
    "withdraw": frozenset({"live", "expired"}),
}
_TO: Mapping[AnswerAct, AnswerState] = {
    "submit": "in_review",
    "approve": "live",
    "reject": "rejected",
    "withdraw": "withdrawn",
}
CHANGED_MEANWHILE = tr(
    "Somebody has changed this answer in the meantime. Check its current state and try again."
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A thumb down on a reply that cites a live answer."""

    interaction_id: InteractionId
    person: str


@dataclass(frozen=True, slots=True)
class AnswerText:
    """What an expert writes and chooses of an answer.

    ``chosen``: one of these principals may read it, within what its case allows. ``spaces``: a
    standard answer is given only where one of these is searched; None: everywhere. ``valid_until``
    is the date on which it has to be looked at again.
    """

    question: str
    text: str
    variants: tuple[str, ...] = ()
    chosen: frozenset[Principal] = frozenset()
    spaces: frozenset[str] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedAnswer:
    """An answer by a person, with its state.

    ``readers`` are those who may really read it. ``owner`` is the expert's id on all platforms.
    ``case`` is the interaction that it answers, None for a standard answer, or once that is
    deleted. ``written_by`` is whose words it has last. ``version`` counts changes. ``live_at`` is
    since when it is given, None if it is not. ``url`` is the page that it was published as, "" if
    it was not.
    """

    id: str
    kind: AnswerKind
    state: AnswerState
    content: AnswerText
    readers: Readers
    owner: str
    owner_name: str
    created_at: datetime
    changed_at: datetime
    changed_by: str = ""
    written_by: str = ""
    case: InteractionId | None = None
    version: int = 0
    live_at: datetime | None = None
    complaints: tuple[Complaint, ...] = ()
    url: str = ""

    def is_given(self, now: datetime) -> bool:
        """Return whether askers are answered with it at a time."""
        begun = self.content.valid_from is None or self.content.valid_from <= now
        return self.state == "live" and begun and not self.is_over(now)

    def is_over(self, now: datetime) -> bool:
        """Return whether its date to be looked at again has come."""
        until = self.content.valid_until
        return until is not None and until <= now


@dataclass(frozen=True, slots=True)
class ReadersBound:
    """Who may be chosen as readers of an answer: never more than the case was for.

    ``offered`` are the principals to choose from. ``pages`` are the readers of each page that was
    found for the question: whoever reads the answer must be one of each. ``unknown`` is why they
    can't be told; then nobody may read it.
    """

    offered: frozenset[Principal]
    pages: tuple[Readers, ...] = ()
    unknown: str = ""

    def within(self, chosen: frozenset[Principal]) -> Readers:
        """Return the readers that a choice amounts to; () for nobody, also if it is too wide."""
        if self.unknown or not chosen or not chosen <= self.offered or not all(self.pages):
            return ()
        return readers_of([(chosen,), *self.pages])


def document_name(answer_id: str) -> str:
    """Return the name of an answer's page in the index."""
    return f"{answer_id}{_PAGE_ENDING}"


def answer_id_of(page_id: str) -> str:
    """Return the id of the answer that a page is of; "" for another name."""
    found = _PAGE_NAME.fullmatch(page_id)
    return found[1] if found else ""


def readers_of(each: Iterable[Readers]) -> Readers:
    """Return the readers who are among all of the given ones."""
    narrow = [names for readers in each for names in readers if EVERYONE not in names]
    return tuple(minimal_readers(narrow)) or (frozenset({EVERYONE}),)


class ReviewedAnswers(Protocol):
    """The answers in the record. Raises StoreUnavailable."""

    async def add(self, tenant: str, answer: ReviewedAnswer) -> ReviewedAnswer:
        """Keep a new answer; return it, or the one that its case has already.

        Raises InteractionUnknown if the question of its case was withdrawn.
        """
        ...

    async def get(self, tenant: str, answer_id: str) -> ReviewedAnswer | None: ...

    async def of_case(self, tenant: str, case: InteractionId) -> ReviewedAnswer | None: ...

    async def find(
        self, tenant: str, states: Collection[AnswerState], *, limit: int, offset: int = 0
    ) -> Sequence[ReviewedAnswer]:
        """Return answers in some states, the one changed last first."""
        ...

    async def change(self, tenant: str, answer: ReviewedAnswer, *, act: str, detail: str) -> bool:
        """Store an answer in place of the version before it, with an audit entry.

        Return False, and change nothing, if that is not the stored version any more. The actor is
        ``answer.changed_by``.
        """
        ...

    async def complain(self, tenant: str, answer: ReviewedAnswer, complaint: Complaint) -> bool:
        """Note a complaint about this version of a live answer; False if it changed meanwhile."""
        ...

    async def complained(
        self, tenant: str, since: datetime, limit: int
    ) -> Sequence[tuple[Complaint, datetime]]:
        """Return thumbs down since a time, oldest first."""
        ...

    async def experts(self, tenant: str) -> frozenset[str]:
        """Return the ids of all who acted on a case as an expert."""
        ...

    async def askers(self, tenant: str, question: str) -> int:
        """Return how many people asked a question of a gap in these words."""
        ...


def allowed_acts(answer: ReviewedAnswer, actor: str, *, by_second: bool) -> frozenset[AnswerAct]:
    """Return the acts that an expert may do now; ``by_second``: nobody approves their own words."""
    acts = {act for act, states in _FROM.items() if answer.state in states}
    if by_second and actor in {answer.owner, answer.written_by}:
        acts.discard("approve")
    return frozenset(acts)


def after_act(
    answer: ReviewedAnswer,
    act: AnswerAct,
    written: AnswerText,
    readers: Readers,
    *,
    actor: str,
    at: datetime,
    by_second: bool,
) -> ReviewedAnswer:
    """Return the answer after an act. Raises ActRefused, worded for the expert.

    A live answer stays live when it is saved, unless a second person has to look at it.
    """
    if act not in allowed_acts(answer, actor, by_second=by_second):
        raise ActRefused(_why_not(answer, act))
    if act in {"reject", "withdraw"}:
        written, readers = answer.content, answer.readers
    elif act == "approve" and by_second and written != answer.content:
        raise ActRefused(tr("You changed the text. Save it and have somebody else approve it."))
    if act in {"submit", "approve"} or (act == "save" and answer.state == "live"):
        check_complete(written, readers, at)
    state = _TO.get(act, answer.state)
    if act == "save" and answer.state == "live" and by_second:
        state = "in_review"
    live = state == "live"
    return replace(
        answer,
        state=state,
        content=written,
        readers=readers,
        changed_at=at,
        changed_by=actor,
        written_by=answer.written_by if written == answer.content else actor,
        version=answer.version + 1,
        live_at=(answer.live_at or at) if live else None,
        complaints=answer.complaints if live and answer.live_at else (),
    )


def moved(
    answer: ReviewedAnswer, state: AnswerState, *, actor: str, at: datetime
) -> ReviewedAnswer:
    """Return a live answer after it expired, or was sent back to review."""
    return replace(
        answer,
        state=state,
        changed_at=at,
        changed_by=actor,
        version=answer.version + 1,
        live_at=None,
    )


def checked_text(written: AnswerText) -> AnswerText:
    """Return what was written without needless spaces and repetitions. Raises ActRefused."""
    question = " ".join(written.question.split())
    variants = dict.fromkeys(" ".join(each.split()) for each in written.variants)
    kept = tuple(each for each in variants if each and each.casefold() != question.casefold())
    text = written.text.replace("\r\n", "\n").strip()
    if any(len(each) > LONGEST_QUESTION for each in (question, *kept)):
        raise ActRefused(
            tr("The question is too long. The maximum is {most} characters.", most=LONGEST_QUESTION)
        )
    if len(kept) > MOST_VARIANTS:
        raise ActRefused(
            tr(
                "There are too many alternative wordings. The maximum is {most}.",
                most=MOST_VARIANTS,
            )
        )
    if len(text) > LONGEST_TEXT:
        raise ActRefused(
            tr(
                "The answer has {count} characters; the maximum is {most}. Shorten it, or write a "
                "wiki page instead.",
                count=len(text),
                most=LONGEST_TEXT,
            )
        )
    return replace(written, question=question, variants=kept, text=text)


def check_complete(written: AnswerText, readers: Readers, at: datetime) -> None:
    """Raise ActRefused if something is missing without which nobody could be answered with it."""
    if not written.question:
        raise ActRefused(tr("Enter the question."))
    if not written.text:
        raise ActRefused(tr("Enter the answer."))
    if not readers:
        raise ActRefused(
            tr("Choose who may read it. Only people who could read the case can be chosen.")
        )
    if written.valid_until is None or written.valid_until <= at:
        raise ActRefused(tr("Choose a review date in the future."))
    if written.valid_from is not None and written.valid_from >= written.valid_until:
        raise ActRefused(tr("The review date must be after the start date."))


def is_shown_to(answer: ReviewedAnswer, viewer: Viewer, workers: frozenset[str]) -> bool:
    """Return whether an expert may see an answer: its readers, its owner, who worked on its case.

    While nobody is chosen to read it, nobody but the latter two see it.
    """
    own = bool(viewer.ids & (workers | {answer.owner}))
    return own or may_read(answer.readers, viewer.reader.principals)


def _why_not(answer: ReviewedAnswer, act: AnswerAct) -> str:
    if act == "approve" and answer.state in _FROM[act]:
        return tr("Somebody else has to approve what you wrote.")
    return tr("That can't be done with this answer in its current state.")

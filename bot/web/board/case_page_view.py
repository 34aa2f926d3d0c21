"""Build what the page of one escalation shows: state, history, finding and allowed acts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import get_args

from markupsafe import Markup

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.domain.cases import Act, Actor, Case, CaseStep, State
from bot.domain.errors import ActRefused
from bot.domain.interactions import Source
from bot.domain.markdown import clip
from bot.domain.outcomes import question_text
from bot.domain.texts import join_texts, tr
from bot.escalations.case_view import CaseView, case_form, is_keepable, is_shared, step_label
from bot.escalations.history import own_reply, standing_replies
from bot.escalations.lifecycle import (
    CONSENTS,
    OWNED,
    SETTLED,
    after,
    display_name,
    is_change,
)
from bot.escalations.showing_more import request_in
from bot.web.board import labels
from bot.web.board.escalations import is_late, state_label, time_in_state
from bot.web.board.responses import PageView, quoted_page
from bot.web.pages.safe_html import answer_html, plain_html

PAGE_ACTS: tuple[Act, ...] = tuple(
    each for each in get_args(Act) if each not in {"amend", "retract"} | CONSENTS
)
"""The acts of the page on the case itself; a correction names the reply that it is about.

Whether an asker shows more of their conversation is said where they asked.
"""

_SHORT_REPLY = 40
_SOMEBODY = Actor("somebody", "", "expert")


@dataclass(frozen=True, slots=True)
class StepView:
    """An entry of the history; ``who`` is empty where nobody did it."""

    who: str
    asker: bool
    did: str
    words: Markup
    at: datetime


@dataclass(frozen=True, slots=True)
class OwnReply:
    """A standing reply of the reader: its number in the history, its words, and their beginning."""

    number: int
    words: str
    short: str


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """An earlier question of the conversation; ``answer`` is empty for none or a withheld one."""

    id: str
    question: str
    answer: Markup
    withheld: bool
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class FindingView:
    """The search result and why it was not enough, in words."""

    id: str
    reasons: tuple[str, ...]
    pages: tuple[PageView, ...]
    passages: tuple[str, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class CasePageView:
    """A case with the reader's allowed acts; ``others`` names another owner.

    ``keepable``: an expert answered it, so that the answer can be kept for others. ``shared``: a
    reply goes to others, too, which ``reply_hint`` says.
    """

    id: str
    version: int
    question: str
    state: State
    label: str
    age: str
    late: bool
    who: str
    asker_id: str
    place: str
    private: bool
    reason: str
    opened_at: datetime
    mine: bool
    others: str
    acts: frozenset[Act]
    steps: tuple[StepView, ...]
    before: tuple[ExchangeView, ...]
    finding: FindingView | None
    keepable: bool
    colleagues: tuple[Actor, ...] = ()
    own_replies: tuple[OwnReply, ...] = ()
    more_asked: bool = False
    shared: bool = False
    reply_hint: str = ""


def case_page_view(
    view: CaseView,
    actor: Actor,
    now: datetime,
    patience: timedelta,
    experts: Sequence[Actor] = (),
) -> CasePageView:
    """Return the view of a case for an expert; ``experts`` are those it may be given to."""
    case = view.case
    status = case.status
    owned = status.state in OWNED
    mine = owned and actor.has(status.owner_id)
    return CasePageView(
        id=case.interaction_id,
        version=case.version,
        question=question_text(case.question),
        state=status.state,
        label=tr("Assigned to you") if mine else state_label(case, now),
        age=time_in_state(case, now),
        late=is_late(case, now, patience),
        who=labels.asker(case),
        asker_id=case.asker_id,
        place=labels.place(case.channel, private=case.private),
        private=case.private,
        reason=labels.REASONS[case.reason],
        opened_at=case.opened_at,
        mine=mine,
        others=display_name(status.owner_name) if owned and not mine else "",
        acts=allowed_acts(case, actor) - _impossible(view),
        colleagues=tuple(each for each in experts if not actor.has(each.id)),
        steps=tuple(_step(step, case) for step in view.steps),
        before=exchange_views(view.before),
        finding=_finding(case, view.finding) if view.finding else None,
        keepable=is_keepable(view),
        own_replies=_own_replies(view.steps, actor),
        shared=is_shared(case),
        reply_hint=case_form("reply", case).hint,
        more_asked=mine and (asked := request_in(view.steps)) is not None and not asked.allowed,
    )


def exchange_views(exchanges: Sequence[EarlierExchange]) -> tuple[ExchangeView, ...]:
    """Return earlier exchanges as the page shows them."""
    return tuple(map(_exchange, exchanges))


def _impossible(view: CaseView) -> frozenset[Act]:
    """Return the acts on a request to see more that its state does not allow."""
    request = request_in(view.steps)
    if request is None:
        return frozenset({"see_more"}) if view.more else frozenset({"see_more", "ask_more"})
    return frozenset({"ask_more"}) if request.allowed else frozenset({"ask_more", "see_more"})


def allowed_acts(case: Case, actor: Actor) -> frozenset[Act]:
    """Return the acts that are allowed and would change the case.

    The owner's reopen is the same as release, and is left out.
    """
    acts = {act for act in PAGE_ACTS if _would_change(case, act, actor)}
    if actor.has(case.status.owner_id) and case.status.state not in SETTLED:
        acts.discard("reopen")
    return frozenset(acts)


def _own_replies(steps: Sequence[CaseStep], actor: Actor) -> tuple[OwnReply, ...]:
    """Return the reader's replies that can be corrected here.

    What was written in the asker's own thread is corrected there: the asker has read it there.
    """
    return tuple(
        OwnReply(each.number, each.text, clip(each.text, _SHORT_REPLY))
        for each in standing_replies(steps)
        if each.text and not each.detail.in_thread and own_reply(steps, each.number, actor)
    )


def _would_change(case: Case, act: Act, actor: Actor) -> bool:
    is_asker = actor.has(case.asker_id)
    try:
        then = after(case.status, act, actor, is_asker=is_asker, to=_SOMEBODY)
    except ActRefused:
        return False
    return is_change(act, case.status, then)


def _step(step: CaseStep, case: Case) -> StepView:
    return StepView(
        who=_step_actor(step, case),
        asker=step.actor is not None and step.actor.role == "asker",
        did=step_label(step),
        words=plain_html(step.text) if step.text else Markup(),
        at=step.at,
    )


def _step_actor(step: CaseStep, case: Case) -> str:
    if step.step == "ping" or step.actor is None:
        return ""
    if step.actor.id == case.asker_id:
        return labels.who(step.actor.name or case.asker_name, step.actor.id)
    return display_name(step.actor.name)


def _exchange(exchange: EarlierExchange) -> ExchangeView:
    return ExchangeView(
        id=exchange.interaction_id,
        question=question_text(exchange.question),
        answer=answer_html(exchange.answer, exchange.interaction_id, 0)
        if exchange.answer
        else Markup(),
        withheld=exchange.withheld,
        asked_at=exchange.asked_at,
    )


def _finding(case: Case, finding: SearchFinding) -> FindingView:
    suggested = {source.chunk_id for source in finding.suggestions}
    others = (each for each in finding.passages if each.chunk_id not in suggested)
    named = (
        f"{each.title}: {each.section}" if each.section not in {"", each.title} else each.title
        for each in others
    )
    return FindingView(
        id=finding.interaction_id,
        reasons=_reasons(case, finding),
        pages=tuple(quoted_page(_with_ellipsis(each)) for each in finding.suggestions),
        passages=tuple(dict.fromkeys(named)),
        hidden=finding.hidden,
    )


def _reasons(case: Case, finding: SearchFinding) -> tuple[str, ...]:
    """Return why a person is asked, as sentences."""
    why: list[str] = [_REASON_TEXTS[case.reason]]
    if case.reason in _MAYBE_NOT_SEARCHED and not _was_searched(finding):
        why = [join_texts(" ", (why[0], _NOT_SEARCHED))]
    elsewhere = finding.interaction_id != case.interaction_id
    if elsewhere and finding.question not in case.question:
        why.append(
            tr(
                "Before that, the question was: \u201c{question}\u201d",
                question=labels.one_line(finding.question),
            )
        )
    if finding.confidence is not None and finding.threshold is not None:
        why.append(_confidence_text(finding, finding.confidence, finding.threshold))
    if finding.missing:
        why.append(tr("The wiki doesn't say: {missing}", missing=finding.missing))
    return tuple(why)


def _confidence_text(finding: SearchFinding, confidence: float, threshold: float) -> str:
    told = {"confidence": f"{confidence:.0%}", "threshold": f"{threshold:.0%}"}
    if confidence >= threshold:
        return tr("Confidence {confidence}, above the threshold of {threshold}.", **told)
    if finding.gate == "unsure":
        return tr(
            "Confidence {confidence}, below the threshold of {threshold}. It was shown as a guess.",
            **told,
        )
    return tr("Confidence {confidence}, below the threshold of {threshold}.", **told)


def _with_ellipsis(source: Source) -> Source:
    """Return the source with an ellipsis after a quote that ends within a sentence."""
    within = source.quote[-1:].isalnum() or source.quote.endswith(",")
    return replace(source, quote=f"{source.quote}\u2026") if within else source


def _was_searched(finding: SearchFinding) -> bool:
    return bool(finding.gate or finding.suggestions or finding.passages or finding.hidden)


_NOT_SEARCHED = tr("Nothing was searched.")
_MAYBE_NOT_SEARCHED = frozenset({"asked_for_human", "unavailable", "waited"})
"""The reasons for which there may have been no search."""

_REASON_TEXTS = {
    "asked_for_human": tr("The asker wants to talk to a person."),
    "low_confidence": tr("Pages were found, but it is not clear that they answer the question."),
    "nothing_found": tr("No page matches the question."),
    "unsupported": tr("An answer was drafted, but the pages don't support it, so it was dropped."),
    "unavailable": tr("A technical problem occurred when it was asked."),
    "waited": tr("Too many people were asking, and it waited too long for its turn."),
    "undelivered": tr("There was an answer, but it could not be delivered, so nobody saw it."),
}

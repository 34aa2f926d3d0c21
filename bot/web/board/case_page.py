"""The page of one escalation: its state, history, finding and acts such as claim and reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import get_args

import aiohttp_jinja2
import structlog
from aiohttp import web
from markupsafe import Markup

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.answering.reply_text import MISSING_INTRO
from bot.domain.cases import Act, Actor, Case, CaseStep, State, actor_of
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.interactions import Source
from bot.domain.messages import InteractionId, Person
from bot.escalations.case_view import CaseView, is_keepable, step_label
from bot.escalations.casework import LONGEST_REPLY, Casework, QuestionLinks
from bot.escalations.lifecycle import OWNED, SETTLED, after, display_name, is_change
from bot.escalations.ports import Cases
from bot.web.auth.identity import principals_of, require_role
from bot.web.board import labels
from bot.web.board.escalations import PATH, is_late, state_label, time_in_state
from bot.web.board.layout import render_page
from bot.web.board.responses import PageView, quoted_page
from bot.web.pages import redirect_unless_fragment, wants_fragment
from bot.web.pages.safe_html import answer_html, plain_html
from rag.errors import RagError
from rag.types import Principal

ACTS: tuple[Act, ...] = get_args(Act)


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that was typed and not sent."""

    reply: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """An entry of the history; ``who`` is empty where nobody did it."""

    who: str
    asker: bool
    did: str
    words: Markup
    at: datetime


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

    ``keepable``: an expert answered it, so that the answer can be kept for others.
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


def case_page_view(
    view: CaseView, actor: Actor, now: datetime, patience: timedelta
) -> CasePageView:
    """Return the view of a case for an expert."""
    case = view.case
    status = case.status
    owned = status.state in OWNED
    mine = owned and actor.has(status.owner_id)
    return CasePageView(
        id=case.interaction_id,
        version=case.version,
        question=case.question,
        state=status.state,
        label="You have it" if mine else state_label(case, now),
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
        acts=allowed_acts(case, actor),
        steps=tuple(_step(step, case) for step in view.steps),
        before=tuple(map(_exchange, view.before)),
        finding=_finding(case, view.finding) if view.finding else None,
        keepable=is_keepable(view),
    )


def allowed_acts(case: Case, actor: Actor) -> frozenset[Act]:
    """Return the acts that are allowed and would change the case.

    The owner's reopen is the same as release, and is left out.
    """
    acts = {act for act in ACTS if _would_change(case, act, actor)}
    if actor.has(case.status.owner_id) and case.status.state not in SETTLED:
        acts.discard("reopen")
    return frozenset(acts)


def _would_change(case: Case, act: Act, actor: Actor) -> bool:
    is_asker = actor.has(case.asker_id)
    try:
        then = after(case.status, act, actor, is_asker=is_asker)
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
        question=exchange.question,
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
    why = [_REASON_TEXTS[case.reason]]
    if case.reason in _MAYBE_NOT_SEARCHED and not _was_searched(finding):
        why = [f"{why[0]} {_NOT_SEARCHED}"]
    elsewhere = finding.interaction_id != case.interaction_id
    if elsewhere and finding.question not in case.question:
        why.append(
            f"Before that, the question was: \u201c{labels.one_line(finding.question)}\u201d"
        )
    if finding.confidence is not None and finding.threshold is not None:
        enough = "is" if finding.confidence >= finding.threshold else "is not"
        guess = " It was shown as a guess." if finding.gate == "unsure" else ""
        why.append(
            f"The chance of a right answer was put at {finding.confidence:.0%}. That {enough} "
            f"enough: answers are given from {finding.threshold:.0%} up.{guess}"
        )
    if finding.missing:
        why.append(f"{MISSING_INTRO} {finding.missing}")
    return tuple(why)


def _with_ellipsis(source: Source) -> Source:
    """Return the source with an ellipsis after a quote that ends within a sentence."""
    within = source.quote[-1:].isalnum() or source.quote.endswith(",")
    return replace(source, quote=f"{source.quote}\u2026") if within else source


def _was_searched(finding: SearchFinding) -> bool:
    return bool(finding.gate or finding.suggestions or finding.passages or finding.hidden)


_NOT_SEARCHED = "Nothing was looked up."
_MAYBE_NOT_SEARCHED = frozenset({"asked_for_human", "unavailable"})
"""The reasons for which there may have been no search."""

_REASON_TEXTS = {
    "asked_for_human": "The asker wants a person.",
    "low_confidence": "Pages were found, but not clearly the right ones.",
    "nothing_found": "No page comes close to the question.",
    "unsupported": "An answer was drafted, but the pages do not support it, so it was dropped.",
    "unavailable": "Something did not work when it was asked.",
    "undelivered": "There was an answer, but the platform did not take it; nobody saw it.",
}


ANONYMOUS_NAME = "The help desk"
"""The name shown for an expert without a name."""

REFRESH = "look"
"""The form value that reloads the case and keeps the typed text."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """Handlers of one case's page. See Escalations for the arguments."""

    tenant: str
    works: Casework
    cases: Cases
    origins: QuestionLinks
    patience: timedelta
    clock: Callable[[], datetime]

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(f"{PATH}/{{id}}", self.show)
        app.router.add_post(f"{PATH}/{{id}}", self.act)
        app.router.add_get(f"{PATH}/{{id}}/news", self.news)

    async def show(self, request: web.Request) -> web.Response:
        """Show a case."""
        person = require_role(request, "expert")
        return await self._page(request, person)

    async def act(self, request: web.Request) -> web.Response:
        """Apply an act and show the result; text that was typed but not sent is kept.

        A refused act shows its reason on the page (409), and nothing of the form is lost.
        """
        person = require_role(request, "expert")
        form = await request.post()
        given = str(form.get("act", ""))
        draft = Draft(reply=_form_text(form.get("reply")), reason=_form_text(form.get("reason")))
        if given == REFRESH:
            return await self._page(request, person, draft=draft)
        act = next((each for each in ACTS if each == given), None)
        if act is None:
            raise web.HTTPUnprocessableEntity(text=f"There is no act {given[:40]!r}.")
        try:
            await self._do(request, act, expert_actor(person), draft)
        except ActRefused as refused:
            return await self._page(request, person, draft=draft, trouble=str(refused))
        left = _unsent(draft, act)
        if left == Draft():
            redirect_unless_fragment(request, request.path)
        return await self._page(request, person, draft=left, done=act)

    async def news(self, request: web.Request) -> web.Response:
        """Return a notice if the case has changed since the page was rendered; else 204."""
        require_role(request, "expert")
        case = await self.cases.get(self.tenant, _case_id(request))
        if case is None:
            raise _not_found()
        if request.query.get("version") == str(case.version):
            return web.Response(status=204)
        return aiohttp_jinja2.render_template("board/news.html", request, {"case": case})

    async def _do(self, request: web.Request, act: Act, actor: Actor, draft: Draft) -> None:
        case_id = _case_id(request)
        text = {"reply": draft.reply, "decline": draft.reason}.get(act, "")
        if act == "reply" and await self._is_said(case_id, actor, text):
            return
        try:
            await self.works.act(self.tenant, case_id, act, actor, text)
        except InteractionUnknown as error:
            raise _not_found() from error

    async def _is_said(self, case_id: InteractionId, actor: Actor, text: str) -> bool:
        """Return whether the last step is the same reply, i.e. the form was submitted twice."""
        last = (*await self.cases.steps(self.tenant, case_id),)[-1:]
        return any(
            step.step == "reply" and step.actor == actor and step.text == text.strip()
            for step in last
        )

    async def _page(
        self,
        request: web.Request,
        person: Person,
        *,
        draft: Draft | None = None,
        trouble: str = "",
        done: Act | None = None,
    ) -> web.Response:
        reader = await principals_of(request, self.tenant)
        view, blind = await self._view(_case_id(request), reader)
        context = {
            "work": case_page_view(view, expert_actor(person), self.clock(), self.patience),
            "origin": await self.origins.of(view.case.interaction_id),
            "blind": blind,
            "draft": draft or Draft(),
            "trouble": trouble,
            "done": done,
            "longest": LONGEST_REPLY,
            "words": labels,
        }
        template = "board/work.html" if wants_fragment(request) else "board/escalation.html"
        response = render_page(request, template, context)
        if trouble:
            response.set_status(409)
        return response

    async def _view(
        self, case_id: InteractionId, reader: frozenset[Principal]
    ) -> tuple[CaseView, bool]:
        """Return a case's view, and whether the index was unavailable for it."""
        try:
            try:
                return await self.works.view(self.tenant, case_id, reader), False
            except RagError as error:
                log.warning("board.index_unavailable", why=str(error))
                return await self.works.bare(self.tenant, case_id), True
        except InteractionUnknown as error:
            raise _not_found() from error


def expert_actor(person: Person) -> Actor:
    """Return a person as an actor in the expert role."""
    return actor_of(person, "expert", name=person.name or ANONYMOUS_NAME)


def _unsent(draft: Draft, act: Act) -> Draft:
    """Return the part of the draft that an act has not sent."""
    return Draft(
        reply="" if act == "reply" else draft.reply,
        reason="" if act == "decline" else draft.reason,
    )


def _form_text(given: object) -> str:
    return str(given or "").replace("\r\n", "\n")


def _case_id(request: web.Request) -> InteractionId:
    return InteractionId(request.match_info["id"])


def _not_found() -> web.HTTPNotFound:
    return web.HTTPNotFound(text="There is no such question on the people's list any more.")

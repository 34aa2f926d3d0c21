"""The page of one escalation: its state, history, finding and acts such as claim and reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

import aiohttp_jinja2
import structlog
from aiohttp import web

from bot.answering.permitted_views import EarlierExchange
from bot.domain.cases import Act, ActDetail, Actor, actor_of
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.messages import InteractionId, Person
from bot.domain.texts import tr
from bot.escalations.case_view import CaseView
from bot.escalations.casework import LONGEST_REPLY, Casework, QuestionLinks, expert_named
from bot.escalations.lifecycle import (
    REPEATABLE_ACTS,
)
from bot.escalations.ports import Cases
from bot.web.auth.identity import principals_of, require_role
from bot.web.board import labels
from bot.web.board.case_page_view import PAGE_ACTS, case_page_view, exchange_views
from bot.web.board.escalations import PATH
from bot.web.board.layout import render_page
from bot.web.board.same_question import CaseGroups, is_regrouping
from bot.web.pages import redirect_unless_fragment, wants_fragment
from bot.web.problems import Problem, problem
from rag.errors import RagError
from rag.types import Principal


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that was typed and not sent."""

    reply: str = ""
    reason: str = ""
    why: str = ""
    note: str = ""
    to: str = ""
    corrections: tuple[tuple[int, str], ...] = ()

    def correction(self, number: int) -> str | None:
        """Return the typed correction of the reply of a number; None where nothing was changed."""
        return dict(self.corrections).get(number)


ANONYMOUS_NAME = "Help desk"
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
    joins_within: timedelta
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
        draft = _draft_of(form)
        if given == REFRESH:
            return await self._page(request, person, draft=draft)
        if is_regrouping(given):
            return await self._regroup(request, person, given, draft)
        act, about = _act_of(given)
        more: tuple[EarlierExchange, ...] | None = None
        try:
            if act == "see_more":
                more = await self._see_more(request, expert_actor(person))
            elif about:
                await self._correct(request, act, about, expert_actor(person), form)
            else:
                await self._do(request, act, expert_actor(person), draft)
        except ActRefused as refused:
            return await self._page(request, person, draft=draft, trouble=str(refused))
        left = _without_correction(draft, about) if about else _unsent(draft, act)
        if left == Draft() and more is None:
            redirect_unless_fragment(request, request.path)
        return await self._page(request, person, draft=left, done=act, more=more)

    async def news(self, request: web.Request) -> web.Response:
        """Return a notice if the case has changed since the page was rendered; else 204."""
        require_role(request, "expert")
        case = await self.cases.get(self.tenant, _case_id(request))
        if case is None:
            raise _not_found()
        if request.query.get("version") == str(case.version):
            return web.Response(status=204)
        return aiohttp_jinja2.render_template("board/news.html", request, {"case": case})

    async def _regroup(
        self, request: web.Request, person: Person, given: str, draft: Draft
    ) -> web.Response:
        """Join the case to another one or part it, and show the result."""
        try:
            await self._groups().change(_case_id(request), given, expert_actor(person))
        except ActRefused as refused:
            return await self._page(request, person, draft=draft, trouble=str(refused))
        except InteractionUnknown as error:
            raise _not_found() from error
        left = replace(draft, to="")
        if left == Draft():
            redirect_unless_fragment(request, request.path)
        return await self._page(request, person, draft=left)

    def _groups(self) -> CaseGroups:
        return CaseGroups(
            tenant=self.tenant, cases=self.cases, within=self.joins_within, clock=self.clock
        )

    async def _do(self, request: web.Request, act: Act, actor: Actor, draft: Draft) -> None:
        case_id = _case_id(request)
        text = getattr(draft, _TEXTS[act]) if act in _TEXTS else ""
        if act in REPEATABLE_ACTS and await self._is_said(case_id, act, actor, text):
            return
        try:
            to = await expert_named(self.cases, self.tenant, draft.to) if act == "assign" else None
            await self.works.act(self.tenant, case_id, act, actor, text, ActDetail(to))
        except InteractionUnknown as error:
            raise _not_found() from error

    async def _see_more(self, request: web.Request, actor: Actor) -> tuple[EarlierExchange, ...]:
        """Return what the asker agreed to show, which is recorded as seen."""
        case_id, reader = _case_id(request), await principals_of(request, self.tenant)
        try:
            more = await self.works.more(self.tenant, case_id, actor, reader)
            await self.works.act(self.tenant, case_id, "see_more", actor)
        except InteractionUnknown as error:
            raise _not_found() from error
        return more

    async def _correct(
        self, request: web.Request, act: Act, about: int, actor: Actor, form: Form
    ) -> None:
        """Correct a reply or take it back; the record refuses what is not the actor's own."""
        text = _form_text(form.get(f"{_CORRECTION}{about}"))
        try:
            await self.works.act(
                self.tenant, _case_id(request), act, actor, text, ActDetail(about=about)
            )
        except InteractionUnknown as error:
            raise _not_found() from error

    async def _is_said(self, case_id: InteractionId, act: Act, actor: Actor, text: str) -> bool:
        """Return whether the last step is the same act, i.e. the form was submitted twice."""
        last = (*await self.cases.steps(self.tenant, case_id),)[-1:]
        return any(
            step.step == act and step.actor == actor and step.text == text.strip() for step in last
        )

    async def _page(
        self,
        request: web.Request,
        person: Person,
        *,
        draft: Draft | None = None,
        trouble: str = "",
        done: Act | None = None,
        more: Sequence[EarlierExchange] | None = None,
    ) -> web.Response:
        reader = await principals_of(request, self.tenant)
        view, blind = await self._view(_case_id(request), reader)
        context = {
            "work": case_page_view(
                view,
                expert_actor(person),
                self.clock(),
                self.patience,
                await self.cases.experts(self.tenant),
            ),
            "same": await self._groups().of(view.case, expert_actor(person)),
            "origin": await self.origins.of(view.case.interaction_id),
            "blind": blind,
            "draft": draft or Draft(),
            "trouble": trouble,
            "done": done,
            "more": None if more is None else exchange_views(more),
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


_TEXTS: Mapping[Act, str] = {
    "reply": "reply",
    "decline": "reason",
    "assign": "why",
    "note": "note",
}
"""The form's fields for the texts of acts."""


Form = Mapping[str, object]

_CORRECTION = "words-"
"""Begins the names of the fields of corrections; the number of the reply follows."""
_STOOD = "stood-"
"""Begins the names of the hidden fields with the words that were there to correct."""
_CORRECTIONS: Mapping[str, Act] = {"amend": "amend", "retract": "retract"}


def _act_of(given: str) -> tuple[Act, int]:
    """Return the act that a button names, and the reply that it corrects; 0 for none.

    Raises Problem (422).
    """
    name, _, number = given.partition(":")
    if name in _CORRECTIONS and re.fullmatch("[1-9][0-9]{0,8}", number):
        return _CORRECTIONS[name], int(number)
    act = next((each for each in PAGE_ACTS if each == given), None)
    if act is None:
        raise problem(422, tr("There is no action “{name}”.", name=given[:40]))
    return act, 0


def _draft_of(form: Form) -> Draft:
    """Return what was typed; a correction that changes nothing was not."""
    typed = (each.removeprefix(_CORRECTION) for each in form if each.startswith(_CORRECTION))
    corrections = tuple(
        (int(number), text)
        for number in typed
        if re.fullmatch("[1-9][0-9]{0,8}", number)
        and (text := _form_text(form.get(f"{_CORRECTION}{number}")))
        != _form_text(form.get(f"{_STOOD}{number}"))
    )
    names = (each.name for each in fields(Draft) if each.name != "corrections")
    return Draft(**{each: _form_text(form.get(each)) for each in names}, corrections=corrections)


def _without_correction(draft: Draft, about: int) -> Draft:
    left = tuple(each for each in draft.corrections if each[0] != about)
    return replace(draft, corrections=left, to="")


def _unsent(draft: Draft, act: Act) -> Draft:
    """Return the part of the draft that an act has not sent."""
    sent: dict[str, Any] = {_TEXTS[act]: ""} if act in _TEXTS else {}
    return replace(draft, **sent, to="")


def _form_text(given: object) -> str:
    return str(given or "").replace("\r\n", "\n")


def _case_id(request: web.Request) -> InteractionId:
    return InteractionId(request.match_info["id"])


def _not_found() -> Problem:
    return problem(404, tr("This escalation no longer exists."))

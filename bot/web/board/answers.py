"""Board pages of answers by people: the queue of review, one answer, a draft from a case; CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from bot.chat.response_view import reader_label
from bot.domain.cases import Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.messages import InteractionId
from bot.domain.texts import tr
from bot.learning.answer_csv import COLUMNS, row_of
from bot.learning.answer_review import AnswerReview, link_of
from bot.learning.reviewed_answers import (
    ANSWER_ACTS,
    LONGEST_QUESTION,
    AnswerAct,
    AnswerState,
)
from bot.web.auth.identity import require_role, viewer_of
from bot.web.board import labels, layout
from bot.web.board.answer_form import (
    ACT_LABELS,
    AnswerForm,
    details_context,
    draft_context,
    form_of,
    standard_context,
    written_of,
)
from bot.web.board.case_page import expert_actor
from bot.web.board.layout import FilterForm, csv_response, render_page, utc_now
from bot.web.pages.safe_html import openable
from bot.web.problems import problem
from ingestion.validation import describe_readers
from rag.errors import RagError

PATH = "/board/answers"
CSV_PATH = f"{PATH}.csv"
MODEL = "model"
PUBLISH = "publish"
MOST_ROWS = 1_000
"""Rows of the CSV."""

STATE_LABELS: Mapping[AnswerState, str] = {
    "draft": tr("Draft"),
    "in_review": tr("In review"),
    "live": tr("Published"),
    "rejected": tr("Rejected"),
    "expired": tr("Review due"),
    "withdrawn": tr("Withdrawn"),
}
_TABS: Mapping[str, tuple[str, frozenset[AnswerState]]] = {
    "": (tr("To review"), frozenset({"in_review", "expired"})),
    "drafts": (tr("Drafts"), frozenset({"draft"})),
    "live": (tr("Published"), frozenset({"live"})),
    "over": (tr("Rejected and withdrawn"), frozenset({"rejected", "withdrawn"})),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPages:
    """Handlers of the list, of one answer, of a draft, and of the CSV."""

    tenant: str
    review: AnswerReview

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.list)
        app.router.add_get(CSV_PATH, self.csv)
        app.router.add_get(f"{PATH}/new", self.draft)
        app.router.add_post(f"{PATH}/new", self.keep)
        app.router.add_post(f"{PATH}/import", self.take)
        app.router.add_get(f"{PATH}/{{id}}", self.one)
        app.router.add_post(f"{PATH}/{{id}}", self.act)

    async def list(self, request: web.Request) -> web.Response:
        """List the answers of a tab that the viewer may see, the one changed last first."""
        require_role(request, "expert")
        tab = request.query.get("state", "")
        tab = tab if tab in _TABS else ""
        offset = _offset(FilterForm(request.query).text("after"))
        shown, hidden = await self.review.listed(
            _TABS[tab][1],
            await viewer_of(request, self.tenant),
            limit=layout.PAGE_SIZE,
            offset=offset,
        )
        full = len(shown) + hidden == layout.PAGE_SIZE
        kept = {"state": tab}
        context = {
            "answers": shown,
            "hidden": hidden,
            "tab": tab,
            "tabs": [(key, name) for key, (name, _) in _TABS.items()],
            "first": layout.list_link(PATH, kept) if offset else "",
            "more": layout.list_link(PATH, kept, after=str(offset + layout.PAGE_SIZE))
            if full
            else "",
            **_shared_context(),
        }
        return render_page(request, "board/answers.html", context)

    async def one(self, request: web.Request) -> web.Response:
        """Show an answer with what can be done with it."""
        require_role(request, "expert")
        return await self._one(request)

    async def act(self, request: web.Request) -> web.Response:
        """Apply an act; a refusal shows its reason above what was typed (409)."""
        actor = expert_actor(require_role(request, "expert"))
        form = await request.post()
        given, answer_id = str(form.get("act", "")), request.match_info["id"]
        viewer = await viewer_of(request, self.tenant)
        try:
            version = _version(str(form.get("version", "")))
            if given == PUBLISH:
                await self.review.publish(answer_id, version, viewer=viewer, actor=actor)
            else:
                written = None if "question" not in form else written_of(form)
                await self.review.act(
                    answer_id, version, _act(given), written, viewer=viewer, actor=actor
                )
        except ActRefused as refused:
            typed = form_of(form) if "question" in form else None
            return await self._one(request, trouble=str(refused), typed=typed)
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        raise web.HTTPSeeOther(f"{PATH}/{answer_id}")

    async def draft(self, request: web.Request) -> web.Response:
        """Show a draft from a case or the answer kept of it; without a case an empty form."""
        require_role(request, "expert")
        case = InteractionId(request.query.get("case", ""))
        if not case:
            return _render(request, "", standard_context(None, self.review))
        kept = await self.review.of_case(case)
        if kept:
            raise web.HTTPSeeOther(f"{PATH}/{kept}")
        return await self._draft(request, case)

    async def keep(self, request: web.Request) -> web.Response:
        """Keep a draft, and apply the act that was chosen; or draft again with the model."""
        actor = expert_actor(require_role(request, "expert"))
        form = await request.post()
        case, given = InteractionId(str(form.get("case", ""))), str(form.get("act", ""))
        if given == MODEL:
            return await self._draft(request, case, with_model=True)
        act = _act(given)
        try:
            written = written_of(form)
            if case:
                answer = await self.review.keep(case, written, actor)
            else:
                answer = await self.review.write(written, actor)
        except ActRefused as refused:
            if not case:
                return _render(request, str(refused), standard_context(form_of(form), self.review))
            return await self._draft(request, case, trouble=str(refused), typed=form_of(form))
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        if act == "save" or answer.version:
            raise web.HTTPSeeOther(f"{PATH}/{answer.id}")
        return await self._apply(request, answer.id, act, actor)

    async def _apply(
        self, request: web.Request, answer_id: str, act: AnswerAct, actor: Actor
    ) -> web.Response:
        """Apply an act to a draft that was kept just now."""
        viewer = await viewer_of(request, self.tenant)
        try:
            await self.review.act(answer_id, 0, act, None, viewer=viewer, actor=actor)
        except ActRefused as refused:
            return await self._one(request, trouble=str(refused), answer_id=answer_id)
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        raise web.HTTPSeeOther(f"{PATH}/{answer_id}")

    async def take(self, request: web.Request) -> web.Response:
        """Take standard answers from a CSV file, or say what would be taken."""
        actor = expert_actor(require_role(request, "expert"))
        form = await request.post()
        file = form.get("file")
        content = file.file.read() if isinstance(file, web.FileField) else b""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise problem(422, tr("The file is not UTF-8 text. Save it as CSV UTF-8.")) from None
        dry_run = form.get("dry_run") == "1"
        viewer = await viewer_of(request, self.tenant)
        result = await self.review.take_rows(text, viewer=viewer, actor=actor, dry_run=dry_run)
        context = {"result": result, "dry_run": dry_run}
        return render_page(request, "board/answers_taken.html", context)

    async def csv(self, request: web.Request) -> web.Response:
        """Return the answers that the viewer may see as a CSV file."""
        require_role(request, "expert")
        viewer = await viewer_of(request, self.tenant)
        shown, _ = await self.review.listed(set(STATE_LABELS), viewer, limit=MOST_ROWS)
        name = f"frontdesk-answers-{utc_now():%Y-%m-%d}.csv"
        return csv_response(name, COLUMNS, map(row_of, shown))

    async def _one(
        self,
        request: web.Request,
        *,
        trouble: str = "",
        typed: AnswerForm | None = None,
        answer_id: str = "",
    ) -> web.Response:
        viewer = await viewer_of(request, self.tenant)
        actor = expert_actor(require_role(request, "expert"))
        try:
            details = await self.review.one(answer_id or request.match_info["id"], viewer, actor)
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        return _render(request, trouble, details_context(details, typed))

    async def _draft(
        self,
        request: web.Request,
        case: InteractionId,
        *,
        trouble: str = "",
        typed: AnswerForm | None = None,
        with_model: bool = False,
    ) -> web.Response:
        viewer = await viewer_of(request, self.tenant)
        try:
            try:
                draft, near = await self.review.draft(case, viewer, with_model=with_model)
            except (ActRefused, RagError) as error:
                if not with_model:
                    raise
                trouble = str(error) if isinstance(error, ActRefused) else _NO_MODEL_NOW
                draft, near = await self.review.draft(case, viewer)
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        context = draft_context(draft, near, typed, self.review)
        return _render(request, trouble, context)


_NO_MODEL_NOW = tr(
    "The model is unavailable right now. The replies are shown below as they were written."
)


def _render(request: web.Request, trouble: str, context: Mapping[str, object]) -> web.Response:
    shared = {"trouble": trouble, "longest": LONGEST_QUESTION, **_shared_context()}
    response = render_page(request, "board/answer.html", {**context, **shared})
    if trouble:
        response.set_status(409)
    return response


def _act(given: str) -> AnswerAct:
    act = next((each for each in ANSWER_ACTS if each == given), None)
    if act is None:
        raise problem(422, tr("There is no action “{name}”.", name=given[:40]))
    return act


def _version(given: str) -> int:
    if not (given.isascii() and given.isdigit()):
        raise problem(422, tr("The version “{given}” is not a number.", given=given[:40]))
    return int(given)


def _offset(given: str) -> int:
    return int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0  # noqa: PLR2004 - digits


def _shared_context() -> dict[str, object]:
    return {
        "words": labels,
        "states": STATE_LABELS,
        "act_labels": ACT_LABELS,
        "reader_label": reader_label,
        "readers_text": describe_readers,
        "link_of": link_of,
        "href_of": openable,
    }

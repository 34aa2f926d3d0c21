"""Board page of labels: decide about candidates, and see how the certificate stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from bot.answering.evaluation.history import latest_summaries
from bot.answering.gate import Gate, calibration_in_words
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from bot.domain.texts import join_texts, tr, trn
from bot.learning.certificate_watch import (
    LEAST_LABELS,
    CertificateWatch,
    Suspension,
    WeekOfUse,
)
from bot.learning.label_review import LabelReview
from bot.learning.labels import ORIGINS, TRUTHS, LabelKey, LabelOrigin, LabelState, Truth
from bot.web.auth.identity import require_role, viewer_of
from bot.web.board import labels as words
from bot.web.board.layout import PAGE_SIZE, audit_name, render_page
from bot.web.problems import problem

PATH = "/board/labels"
ORIGIN_TEXTS: Mapping[LabelOrigin, str] = {
    "thumb": tr("Thumb"),
    "reopened": tr("Reopened"),
    "sampled": tr("Random sample"),
    "shadow": tr("Reviewer's verdict"),
    "reviewed": tr("Colleague's answer kept"),
}
TRUTH_TEXTS: Mapping[Truth, str] = {
    "right": tr("The answer was correct"),
    "wrong": tr("Other pages answer it"),
    "unanswerable": tr("No page answers it"),
}
Choice = TypeVar("Choice", bound=str)
_EVALUATIONS = 5
"""Number of past evaluations shown."""

_STATES: Mapping[str, LabelState] = {
    "": "candidate",
    "accepted": "accepted",
    "rejected": "rejected",
}


@dataclass(frozen=True, slots=True)
class CertificateLine:
    """What a calibration promises, and whether the promise holds."""

    calibration: str
    name: str
    promise: str
    last_week: str
    suspension: Suspension | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPage:
    """Handlers of the queue of labels, and of the certificates' state."""

    tenant: str
    review: LabelReview
    watch: CertificateWatch
    gate: Gate
    data_dir: Path

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_post(PATH, self.decide)
        app.router.add_post(f"{PATH}/certificate", self.resume)

    async def page(self, request: web.Request) -> web.Response:
        """Show candidates, newest first, or what was decided."""
        require_role(request, "expert")
        return await self._page(request)

    async def decide(self, request: web.Request) -> web.Response:
        """Accept or reject a candidate; a refusal shows its reason on the page (409)."""
        person = require_role(request, "expert")
        form = await request.post()
        key = _key(str(form.get("id", "")), str(form.get("origin", "")))
        actor = f"board:{audit_name(person)}"
        try:
            if form.get("decision") == "reject":
                await self.review.reject(key, actor=actor)
            else:
                viewer = await viewer_of(request, self.tenant)
                truth = _among(str(form.get("truth", "")), TRUTHS)
                pages = str(form.get("pages", "")).splitlines()
                await self.review.accept(key, truth, pages, viewer, actor=actor)
        except ActRefused as refused:
            return await self._page(request, trouble=str(refused))
        raise web.HTTPSeeOther(PATH)

    async def resume(self, request: web.Request) -> web.Response:
        """End the suspension of a certificate; for admins."""
        person = require_role(request, "admin")
        name = str((await request.post()).get("calibration", ""))
        await self.watch.end(name, actor=f"board:{audit_name(person)}")
        raise web.HTTPSeeOther(PATH)

    async def _page(self, request: web.Request, *, trouble: str = "") -> web.Response:
        state = _STATES.get(request.query.get("state", ""), "candidate")
        shown, hidden = await self.review.shown(
            state,
            await viewer_of(request, self.tenant),
            limit=PAGE_SIZE + 1,
            before=_time(request.query.get("before", "")),
        )
        last = shown[PAGE_SIZE - 1].label.created_at if len(shown) > PAGE_SIZE else None
        context = {
            "shown": shown[:PAGE_SIZE],
            "hidden": hidden,
            "state": state,
            "before": None if last is None else last.isoformat(),
            "certificates": await self._certificates(),
            "evaluations": await asyncio.to_thread(latest_summaries, self.data_dir, _EVALUATIONS),
            "origins": ORIGIN_TEXTS,
            "truths": TRUTH_TEXTS,
            "trouble": trouble,
            "words": words,
        }
        response = render_page(request, "board/labels.html", context)
        if trouble:
            response.set_status(409)
        return response

    async def _certificates(self) -> Sequence[CertificateLine]:
        suspended = await self.watch.current()
        week = await self.watch.last_week()
        return [
            CertificateLine(
                name,
                calibration_in_words(name),
                tr(
                    "At most {wrong} of answers are wrong, and {answered} of questions are "
                    "answered ({questions} questions from {source}, {date}).",
                    wrong=f"{certificate.target_error:.0%}",
                    answered=f"{certificate.coverage:.0%}",
                    questions=certificate.questions,
                    source=certificate.on,
                    date=certificate.date,
                ),
                _week_text(week, name),
                suspended.get(name),
            )
            for name, certificate in self.gate.certificates.items()
        ]


def _week_text(week: WeekOfUse, calibration: str) -> str:
    """Return what last week says beside a certificate's promise."""
    if week.answered is None:
        return tr("No questions needed the wiki last week.")
    answered = tr(
        "Last week {share} of the questions that needed the wiki were answered.",
        share=f"{week.answered:.0%}",
    )
    evidence = week.evidence.get(calibration)
    if evidence is None:
        return join_texts(" ", (answered, tr("None of these answers has a label.")))
    right = trn(
        "{right} of {n} labelled answer was correct.",
        "{right} of {n} labelled answers were correct.",
        evidence.labels,
        right=evidence.labels - evidence.wrong,
    )
    if evidence.labels >= LEAST_LABELS:
        return join_texts(" ", (answered, right))
    few = tr("Fewer than {least} labels are not enough for a conclusion.", least=LEAST_LABELS)
    return join_texts(" ", (answered, right, few))


def _key(interaction_id: str, origin: str) -> LabelKey:
    return LabelKey(InteractionId(interaction_id), _among(origin, ORIGINS))


def _among(given: str, choices: Sequence[Choice]) -> Choice:
    found = next((each for each in choices if each == given), None)
    if found is None:
        raise problem(
            422,
            tr(
                "“{given}” is not one of {choices}.",
                given=given[:40],
                choices=", ".join(choices),
            ),
        )
    return found


def _time(given: str) -> datetime | None:
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        return None

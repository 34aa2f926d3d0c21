"""The form of an answer by a person: its fields, what was typed, what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from multidict import MultiMapping

from bot.domain.texts import tr
from bot.learning.answer_csv import chosen_of, day_of_text, spaces_of
from bot.learning.answer_drafts import Draft
from bot.learning.answer_review import AnswerDetails, AnswerReview
from bot.learning.near_answers import NearAnswer
from bot.learning.reviewed_answers import AnswerAct, AnswerText, ReadersBound, ReviewedAnswer
from rag.types import EVERYONE, Principal

ACT_LABELS: Mapping[AnswerAct, str] = {
    "approve": tr("Approve and publish"),
    "submit": tr("Submit for review"),
    "save": tr("Save"),
    "reject": tr("Reject"),
    "withdraw": tr("Withdraw"),
}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The fields of the form as they are shown."""

    question: str
    variants: str
    text: str
    chosen: frozenset[str]
    until: str
    readers: str = ""
    spaces: str = ""
    since: str = ""


def written_of(form: MultiMapping[object]) -> AnswerText:
    """Return what an expert typed and chose. Raises ActRefused for a date that is none."""
    typed = form_of(form)
    standard = "names" in form
    chosen = chosen_of(typed.readers) if standard else frozenset(map(Principal, typed.chosen))
    return AnswerText(
        question=typed.question,
        text=typed.text,
        variants=tuple(typed.variants.splitlines()),
        chosen=chosen,
        spaces=spaces_of(typed.spaces),
        valid_from=day_of_text(typed.since),
        valid_until=day_of_text(typed.until),
    )


def form_of(form: MultiMapping[object]) -> AnswerForm:
    """Return the fields as they were typed."""
    return AnswerForm(
        question=str(form.get("question", "")),
        variants=str(form.get("variants", "")).replace("\r\n", "\n"),
        text=str(form.get("text", "")).replace("\r\n", "\n"),
        chosen=frozenset(map(str, form.getall("readers", []))),
        until=str(form.get("until", "")),
        readers=str(form.get("names", "")),
        spaces=str(form.get("spaces", "")),
        since=str(form.get("since", "")),
    )


def _shown_form(written: AnswerText) -> AnswerForm:
    return AnswerForm(
        written.question,
        "\n".join(written.variants),
        written.text,
        frozenset(written.chosen),
        _iso(written.valid_until),
        ",".join(sorted(written.chosen)),
        ",".join(sorted(written.spaces or ())),
        _iso(written.valid_from),
    )


def details_context(details: AnswerDetails, typed: AnswerForm | None) -> Mapping[str, object]:
    """Return what the page of an answer shows."""
    answer = details.answer
    return {
        "answer": answer,
        "form": typed or _shown_form(answer.content),
        "acts": [each for each in ACT_LABELS if each in details.acts],
        "editable": "save" in details.acts,
        "offered": _offered(answer, details.bound),
        "bound": details.bound,
        "near": details.near,
        "publishes": details.can_publish,
        "case": answer.case,
        "standard": answer.kind == "standard",
        "has_model": False,
        "asked_anew": False,
        "dropped": 0,
    }


def draft_context(
    draft: Draft, near: Sequence[NearAnswer], typed: AnswerForm | None, review: AnswerReview
) -> Mapping[str, object]:
    """Return what the page of a draft from a case shows."""
    return {
        "answer": None,
        "form": typed or _shown_form(draft.content),
        "acts": review.acts_on_new,
        "editable": True,
        "offered": _in_order(draft.bound.offered),
        "bound": draft.bound,
        "near": near,
        "publishes": False,
        "case": draft.case.interaction_id,
        "standard": False,
        "has_model": review.has_model,
        "asked_anew": draft.is_asked_anew,
        "dropped": draft.dropped,
    }


def standard_context(typed: AnswerForm | None, review: AnswerReview) -> Mapping[str, object]:
    """Return what the form of a new standard answer shows."""
    return {
        "answer": None,
        "form": typed or AnswerForm("", "", "", frozenset(), "", "everyone"),
        "acts": review.acts_on_new,
        "editable": True,
        "offered": (),
        "bound": ReadersBound(frozenset()),
        "near": (),
        "publishes": False,
        "case": "",
        "standard": True,
        "has_model": False,
        "asked_anew": False,
        "dropped": 0,
    }


def _offered(answer: ReviewedAnswer, bound: ReadersBound) -> Sequence[str]:
    return _in_order(bound.offered | answer.content.chosen)


def _in_order(principals: frozenset[Principal]) -> Sequence[str]:
    return sorted(principals, key=lambda each: (each != EVERYONE, each))


def _iso(at: datetime | None) -> str:
    return "" if at is None else at.date().isoformat()

"""View models of exchanges in the web chat: text, sources, feedback, actions; no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import compress
from urllib.parse import quote, urlencode

from markupsafe import Markup

from bot.answering.reply_text import (
    framed_parts,
    is_composed,
    is_from_people,
    text_without_intro,
)
from bot.answering.visibility import Visibility, sources_of
from bot.chat.response_view import COMPOSED_NOTE
from bot.chat.votes import can_be_rated
from bot.domain.formatting import freshness, superseded_warnings
from bot.domain.interactions import (
    REASONS,
    Clarification,
    Escalation,
    Feedback,
    Interaction,
    Outcome,
    Reason,
    Reply,
    Response,
    Source,
)
from bot.domain.markdown import clip
from bot.domain.messages import Activity, Stage
from bot.domain.outcomes import confidence_level, explanation_title, question_text
from bot.domain.texts import changed, tr, trn
from bot.domain.urls import QUOTE_MARK, quotes_of
from bot.web.chat.case_card import CaseCard
from bot.web.pages.safe_html import answer_html, openable, parts_html, quote_html

REASON_LABELS: Mapping[Reason, str] = {
    "wrong": tr("Wrong"),
    "outdated": tr("Outdated"),
    "incomplete": tr("Incomplete"),
    "off_topic": tr("Didn't understand me"),
    "unclear": tr("Hard to follow"),
    "other": tr("Other"),
}
"""All feedback reasons, in the order in which they are offered."""


@dataclass(frozen=True, slots=True)
class ReasonView:
    """A feedback reason to choose; ``value`` is stored."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """A person's feedback; ``thumb`` is empty without a vote, ``told`` is set with a reason."""

    thumb: str = ""
    reasons: tuple[ReasonView, ...] = ()
    comment: str = ""
    told: bool = False
    said: str = ""


def feedback_view(given: Feedback | None) -> FeedbackView:
    """Return the view of a person's feedback, or of none."""
    if given is None:
        return FeedbackView()
    if given.vote == "up":
        return FeedbackView("up")
    reason = next((each for each in REASONS if each == given.reason), None)
    said = REASON_LABELS[reason] if reason else ""
    return FeedbackView(
        thumb="down",
        reasons=tuple(
            ReasonView(value, label, value == reason) for value, label in REASON_LABELS.items()
        ),
        comment=given.comment or "",
        told=bool(said or given.comment),
        said=said,
    )


_STAGE_TEXTS: Mapping[Stage, str] = {
    Stage.RECEIVED: tr("Got it \u2026"),
    Stage.WAITING: tr("Your question is next \u2026"),
    Stage.ROUTING: tr("Reading your question \u2026"),
    Stage.SEARCHING: tr("Searching the wiki \u2026"),
    Stage.READING: tr("Reading what was found \u2026"),
    Stage.CHECKING: tr("Checking the sources \u2026"),
    Stage.DONE: tr("Almost there \u2026"),
    Stage.FAILED: tr("Something went wrong \u2026"),
}
_HEADINGS = {"found": tr("From the wiki"), "answer": tr("Answer"), "generic": ""}
_WITHDRAWN = tr("This question was withdrawn.")
_GIVEN_UP = tr("Something went wrong. Please ask again.")
_UNSURE = tr("I'm not sure, but this may help")
_BY_PEOPLE = tr("From a colleague's answer")
_LONG_QUESTION = 600
_LONGEST_FILE_NAME = 60
_MAX_LABEL = 90
_MAX_QUOTE_IN_A_LINK = 600
_MAX_QUOTES_IN_A_LINK = 10


@dataclass(frozen=True, slots=True)
class SourceView:
    """A listed source; ``href`` is empty where there is no page to open.

    ``age`` is when and by whom the page was changed, as far as that is known.
    """

    title: str
    section: str
    document_page: int | None
    quote: Markup
    href: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A section to ask about next: its first chunk, its page's title and its heading."""

    chunk_id: str
    page: str
    section: str


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """One question and its answer; ``label`` is the accessible name.

    ``follow_ups`` and ``editable`` are of the last exchange of a conversation only; ``press`` tells
    a press of the former from one on another page.
    ``notice`` is our text in the answer's place, ``missing`` what the wiki does not say.
    """

    id: str
    question: str
    label: str
    long: bool
    working: bool
    files: tuple[str, ...] = ()
    withdrawn: bool = False
    step: str = ""
    stage: str = ""
    tone: str = ""
    level: str = ""
    heading: str = ""
    html: Markup = field(default_factory=Markup)
    notice: str = ""
    missing: str = ""
    options: tuple[str, ...] = ()
    sources: tuple[SourceView, ...] = ()
    numbered: bool = False
    sources_label: str = ""
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    composed: str = ""
    rateable: bool = False
    can_ask_person: bool = False
    why_label: str = ""
    votes: FeedbackView = field(default_factory=FeedbackView)
    case: CaseCard | None = None
    follow_ups: tuple[FollowUp, ...] = ()
    press: str = ""
    editable: bool = False


def stage_text(activity: Activity) -> str:
    """Return the progress text of a question in progress."""
    if activity.stage is Stage.READING and activity.pages:
        return trn("Reading {n} page \u2026", "Reading {n} pages \u2026", activity.pages)
    if activity.stage is Stage.WAITING and activity.pages:
        return trn(
            "{n} question before yours \u2026", "{n} questions before yours \u2026", activity.pages
        )
    return _STAGE_TEXTS[activity.stage]


def exchange_view(
    interaction: Interaction,
    seen: Visibility,
    *,
    activity: Activity | None = None,
    given: Feedback | None = None,
) -> ExchangeView:
    """Return the view of an interaction, finished or not, restricted to what ``seen`` allows."""
    withdrawn = interaction.withdrawn
    if interaction.outcome is not None and not withdrawn:
        view = _answered_view(interaction, interaction.outcome, feedback_view(given))
        return _without_closed_pages(view, interaction, interaction.outcome, seen)
    working = interaction.status == "working"
    now = activity or Activity(Stage.RECEIVED)
    given_up = _GIVEN_UP if interaction.status == "failed" else _WITHDRAWN
    view = _question_view(interaction)
    return replace(
        view,
        label=_WITHDRAWN if withdrawn else view.label,
        working=working,
        withdrawn=withdrawn,
        step=now.stage.value,
        stage=stage_text(now),
        notice="" if working else given_up,
    )


def _answered_view(interaction: Interaction, outcome: Outcome, votes: FeedbackView) -> ExchangeView:
    response = outcome.response
    shown = sources_of(response)
    cited = isinstance(response, Reply)
    return replace(
        _question_view(interaction),
        tone=_tone(response),
        level=confidence_level(outcome) or "",
        heading=_heading(response),
        html=_html(response, interaction.id),
        missing=_missing(response),
        options=response.options if isinstance(response, Clarification) else (),
        sources=_source_views(response, shown),
        numbered=cited,
        sources_label=_sources_label(response, shown),
        warnings=superseded_warnings(shown) if cited else (),
        remarks=outcome.remarks,
        composed=COMPOSED_NOTE if is_composed(response) else "",
        rateable=can_be_rated(outcome),
        can_ask_person=_can_ask_person(response),
        why_label=explanation_title(outcome),
        votes=votes,
    )


def _without_closed_pages(
    view: ExchangeView, interaction: Interaction, outcome: Outcome, seen: Visibility
) -> ExchangeView:
    """Remove content from pages that the asker may not read any more."""
    asked = seen.asked(interaction)
    if asked is None:
        view = replace(view, question=seen.why_closed, label=seen.why_closed, long=False)
    view = replace(view, remarks=seen.remarks(interaction))
    if not seen.tells(interaction):
        return replace(
            view,
            html=Markup(),
            missing="",
            notice=seen.why_closed,
            options=(),
            sources=(),
            warnings=(),
            composed="",
            rateable=False,
        )
    if isinstance(outcome.response, Reply):
        return view
    open_ = [bool(seen.keeps([each])) for each in outcome.response.suggestions]
    return replace(view, sources=tuple(compress(view.sources, open_)))


def _question_view(interaction: Interaction) -> ExchangeView:
    message = interaction.message
    question = question_text(message.text)
    return ExchangeView(
        id=interaction.id,
        question=question,
        label=changed(question_text(message.asked), _label),
        long=len(question) > _LONG_QUESTION,
        working=False,
        files=tuple(clip(each.name, _LONGEST_FILE_NAME) for each in message.attachments),
    )


def _label(asked: str) -> str:
    line = " ".join(asked.split())
    return line if len(line) <= _MAX_LABEL else f"{line[:_MAX_LABEL]}\u2026"


def _html(response: Response, exchange_id: str) -> Markup:
    """Return the response without the intro that its heading repeats."""
    if not isinstance(response, Reply):
        return answer_html(response.text, exchange_id, 0)
    hrefs = [openable(source.url) for source in response.sources]
    parts = framed_parts(response, introduced=False)
    if not parts:
        return answer_html(text_without_intro(response), exchange_id, len(hrefs))
    return parts_html(parts, exchange_id, hrefs)


def _missing(response: Response) -> str:
    """Return what an answer leaves open; of a record without parts, its text says it."""
    if not isinstance(response, Reply) or not response.parts:
        return ""
    return response.missing or ""


def _tone(response: Response) -> str:
    match response:
        case Reply():
            return response.tone
        case Clarification():
            return "clarify"
        case Escalation():
            return "handed"


def _heading(response: Response) -> str:
    match response:
        case Reply(confidence_level="unsure"):
            return _UNSURE
        case Reply():
            from_people = response.tone == "found" and is_from_people(response)
            return _BY_PEOPLE if from_people else _HEADINGS[response.tone]
        case Clarification():
            return tr("Just to be sure")
        case Escalation(reason="asked_for_human"):
            return tr("For a person")
        case Escalation(reason="unavailable" | "waited"):
            return tr("Not working right now")
        case Escalation():
            return tr("I'm not sure")


def _sources_label(response: Response, shown: Sequence[Source]) -> str:
    if not isinstance(response, Reply):
        return tr("Pages that may help (not confirmed)")
    return tr("Source") if len(shown) == 1 else tr("Sources")


def _can_ask_person(response: Response) -> bool:
    match response:
        case Reply():
            return response.tone != "generic"
        case Escalation():
            return response.consent_needed
        case Clarification():
            return True


def _source_views(response: Response, shown: Sequence[Source]) -> tuple[SourceView, ...]:
    now = datetime.now(UTC)
    return tuple(
        _source_view(source, quotes, now)
        for source, quotes in zip(shown, quotes_of(response), strict=True)
    )


def _source_view(source: Source, quotes: Sequence[str], now: datetime) -> SourceView:
    return SourceView(
        title=source.title,
        section=source.section if source.section != source.title else "",
        document_page=source.document_page,
        quote=quote_html("\n".join(quotes)),
        href=_href(source, quotes),
        age=freshness(source, now),
    )


def _href(source: Source, quotes: Sequence[str]) -> str:
    """Return the link to the page; stored pages open at the highlighted quote."""
    if source.url.startswith(("https://", "http://")):
        return source.url
    if not source.url.startswith("/pages/"):
        return ""
    exact = [("quote", each[:_MAX_QUOTE_IN_A_LINK]) for each in quotes[:_MAX_QUOTES_IN_A_LINK]]
    marked = urlencode([("chunk", source.chunk_id), *exact], quote_via=quote)
    return f"{source.url}?{marked}{QUOTE_MARK}"

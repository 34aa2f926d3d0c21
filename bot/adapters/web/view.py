"""Interactions as the pages show them: words, sources and what can be done next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from markupsafe import Markup

from bot.adapters.web.markup import answer_html
from bot.types import (
    Clarification,
    Escalation,
    Interaction,
    Reply,
    Response,
    Source,
    Stage,
)

STAGES: Mapping[Stage, str] = {
    Stage.RECEIVED: "Got it \u2026",
    Stage.ROUTING: "Reading your question \u2026",
    Stage.SEARCHING: "Searching the pages \u2026",
    Stage.READING: "Reading what was found \u2026",
    Stage.CHECKING: "Checking the sources \u2026",
    Stage.DONE: "Done",
    Stage.FAILED: "This did not work",
}
_HEADINGS = {"found": "What the wiki says", "answer": "Answer", "generic": ""}


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source as listed; ``href`` is empty where there is no page to open."""

    title: str
    section: str
    document_page: int | None
    quote: str
    href: str


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """One question and its answer."""

    id: str
    question: str
    working: bool
    stage: str = ""
    tone: str = ""
    heading: str = ""
    html: Markup = field(default_factory=Markup)
    options: tuple[str, ...] = ()
    sources: tuple[SourceView, ...] = ()
    numbered: bool = False
    sources_label: str = ""
    rateable: bool = False
    can_ask_person: bool = False
    why_label: str = "Why this answer"
    vote: str | None = None


def exchange_view(
    interaction: Interaction, *, stage: Stage | None = None, vote: str | None = None
) -> ExchangeView:
    """Return what the page shows of an interaction, finished or not."""
    outcome = interaction.outcome
    if outcome is None:
        return ExchangeView(
            id=interaction.id,
            question=interaction.message.text,
            working=interaction.status == "working",
            stage=STAGES[stage or Stage.RECEIVED],
            html=answer_html("This question was withdrawn.", interaction.id, 0),
        )
    return _finished(interaction, outcome.response, vote)


def _finished(interaction: Interaction, response: Response, vote: str | None) -> ExchangeView:
    shown = _sources(response)
    cited = isinstance(response, Reply)
    return ExchangeView(
        id=interaction.id,
        question=interaction.message.text,
        working=False,
        tone=_tone(response),
        heading=_heading(response),
        html=answer_html(response.text, interaction.id, len(shown) if cited else 0),
        options=response.options if isinstance(response, Clarification) else (),
        sources=tuple(_source_view(source) for source in shown),
        numbered=cited,
        sources_label="Sources" if cited else "Pages that may help, not confirmed",
        rateable=cited and bool(shown),
        can_ask_person=_can_ask_person(response),
        why_label="Why this answer" if cited else "Why no answer",
        vote=vote,
    )


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
        case Reply():
            return _HEADINGS[response.tone]
        case Clarification():
            return "One question back"
        case Escalation(reason="asked_for_human"):
            return "For a person"
        case Escalation():
            return "No confirmed answer"


def _sources(response: Response) -> tuple[Source, ...]:
    return response.sources if isinstance(response, Reply) else response.suggestions


def _can_ask_person(response: Response) -> bool:
    match response:
        case Reply():
            return response.tone != "generic"
        case Escalation():
            return response.consent_needed
        case Clarification():
            return True


def _source_view(source: Source) -> SourceView:
    return SourceView(
        title=source.title,
        section=source.section if source.section != source.title else "",
        document_page=source.document_page,
        quote=source.quote,
        href=_href(source),
    )


def _href(source: Source) -> str:
    """Return the link to the page; our own pages get the passage and the quote to highlight."""
    if source.url.startswith(("https://", "http://")):
        return source.url
    if not source.url.startswith("/pages/"):
        return ""
    marked = urlencode({"chunk": source.chunk_id, "quote": source.quote[:500]}, quote_via=quote)
    return f"{source.url}?{marked}"

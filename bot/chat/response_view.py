"""Convert a response into the platform-independent view that every platform renders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never
from urllib.parse import quote, urlsplit

from bot.answering.permitted_views import SearchFinding
from bot.answering.reply_text import framed_parts, is_composed
from bot.domain.formatting import WARNING_SIGN, superseded_warnings
from bot.domain.handoff import is_picture_offer
from bot.domain.interactions import (
    Clarification,
    Delivery,
    Escalation,
    EscalationReason,
    Outcome,
    Reply,
    Response,
    Source,
)
from bot.domain.markdown import clip, disarm, disarm_inline
from bot.domain.messages import Activity, Stage
from bot.domain.outcomes import explanation_title
from bot.domain.texts import join_texts, tr, trn
from bot.domain.urls import public_link
from rag.parts import Code, Part, Table, parts_text, text_and_blocks, with_texts

ESCALATION_REASONS: Mapping[EscalationReason, str] = {
    "asked_for_human": tr("the asker wants a person"),
    "low_confidence": tr("not confident enough to answer"),
    "nothing_found": tr("nothing found in the wiki"),
    "unsupported": tr("pages found, but no answer in them"),
    "unavailable": tr("the wiki could not be searched"),
    "waited": tr("waited too long for its turn"),
    "undelivered": tr("the answer could not be delivered"),
}

_DOING: Mapping[Stage, str] = {
    Stage.RECEIVED: tr("is thinking \u2026"),
    Stage.WAITING: tr("will answer soon \u2026"),
    Stage.ROUTING: tr("is thinking \u2026"),
    Stage.SEARCHING: tr("is searching the wiki \u2026"),
    Stage.READING: tr("is reading pages \u2026"),
    Stage.CHECKING: tr("is checking sources \u2026"),
}

_SOURCES = tr("Sources")
_UNCONFIRMED = tr("Pages that may help (not confirmed)")
_MOST_CASE_PAGES = 5
_LABEL_LENGTH = 150
_REMARK_LENGTH = 300
COMPOSED_NOTE = tr("AI-composed, checked against its sources.")
"""Shown below what a model composed; not where the wiki is quoted."""

_SPACE_LENGTH = 60
_URL_LENGTH = 1_000
_URL_CHARACTERS = "%/:=&?~#+!$,;'@*-._"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One page in a list of sources: title and section as plain text.

    ``line`` is the part of the quote that answers best, "" if unknown. ``number`` is the citation
    mark in the text, None for a page that is only suggested. ``url`` is None unless it is absolute
    http(s); then only the label is shown. ``space`` is plain text too; ``updated_at``,
    ``updated_by`` and ``superseded`` are the page's, worded by ``formatting``.
    """

    number: int | None
    label: str
    url: str | None
    quote: str
    space: str = ""
    updated_at: datetime | None = None
    updated_by: str = ""
    superseded: str = ""
    line: str = ""
    source_type: str = ""


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A response to render, without live markup: as ``parts``, or as Markdown where it has none.

    ``footer`` may be empty. ``remarks`` are shown below text and pages: one line of plain text
    each, not escaped yet. Warnings of superseded pages come first.
    """

    text: str
    heading: str
    lines: tuple[SourceLine, ...] = ()
    footer: str = ""
    remarks: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    def text_and_blocks(self, *apart: type[Table | Code]) -> Iterator[str | Table | Code]:
        """Yield the text, interrupted by the blocks of the types that are shown otherwise."""
        return text_and_blocks(self.parts, apart) if self.parts else iter((self.text,))


@dataclass(frozen=True, slots=True)
class ResponseButtons:
    """The buttons below a response: labels to ask a person and to explain it, "" for none.

    ``primary``: asking a person is the likely choice. ``rated``: the response can be judged.
    ``options`` are those of a clarification, each with its number, from 0.
    """

    ask_person: str = ""
    why: str = ""
    primary: bool = False
    rated: bool = False
    options: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HandOver:
    """An escalation as shown in the experts' channel; plain text, not escaped yet."""

    question: str
    reason: str
    lines: tuple[SourceLine, ...]


def activity_text(activity: Activity) -> str:
    """Return the progress text after the bot's name; "" shows nothing."""
    if activity.stage is Stage.READING and activity.pages:
        return trn("is reading {n} page \u2026", "is reading {n} pages \u2026", activity.pages)
    if activity.stage is Stage.WAITING and activity.pages:
        return trn(
            "has {n} question before yours \u2026",
            "has {n} questions before yours \u2026",
            activity.pages,
        )
    return _DOING.get(activity.stage, "")


def render(response: Response, *, private: bool, remarks: Sequence[str] = ()) -> ResponseView:
    """Return the view of a response, for a thread that is private to the asker or not.

    ``remarks`` are those of its outcome; a reply for the asker alone has none. The last of those
    shown says that a model composed the response.
    """
    shown = _rendered(response, private=private)
    cited = response.sources if isinstance(response, Reply) else ()
    warnings = (join_texts(" ", (WARNING_SIGN, each)) for each in superseded_warnings(cited))
    composed = (COMPOSED_NOTE,) if is_composed(response) else ()
    shown_remarks = tuple(clip(each, _REMARK_LENGTH) for each in (*warnings, *remarks, *composed))
    return replace(shown, remarks=shown_remarks)


def _rendered(response: Response, *, private: bool) -> ResponseView:
    if isinstance(response, Reply):
        parts = tuple(with_texts(part, disarm_inline) for part in framed_parts(response))
        return ResponseView(
            text=parts_text(parts) if parts else disarm(response.text),
            heading=_SOURCES,
            lines=_numbered(response.sources),
            footer=_footer(response, private=private),
            parts=parts,
        )
    offered = response.options if isinstance(response, Clarification) else ()
    options = "\n".join(f"- {clip(option, _LABEL_LENGTH)}" for option in offered)
    text = "\n\n".join(part for part in (response.text, options) if part)
    return ResponseView(disarm(text), _UNCONFIRMED, offered_pages(response.suggestions))


def response_buttons(outcome: Outcome) -> ResponseButtons:
    """Return the buttons below an outcome's response; small talk and refusals have none."""
    response, why = outcome.response, explanation_title(outcome)
    match response:
        case Reply(refused=True) | Reply(tone="generic"):
            return ResponseButtons()
        case Reply():
            wanted = response.confidence_level in {"partial", "unsure"}
            return ResponseButtons(tr("Ask a person"), why, primary=wanted, rated=True)
        case Clarification() if is_picture_offer(response):
            return ResponseButtons(tr("Yes, ask a person"), why, primary=True)
        case Clarification():
            offered = enumerate(response.options)
            return ResponseButtons(options=tuple(each for each in offered if each[1].strip()))
        case Escalation(consent_needed=True):
            return ResponseButtons(tr("Yes, ask a person"), why, primary=True)
        case Escalation():
            return ResponseButtons(why=why)
        case _:
            assert_never(response)


def hand_over(delivery: Delivery) -> HandOver | None:
    """Return what the experts' channel shows, or None if experts are not asked (yet).

    Pages found in a private conversation are left out: the asker may read them, the channel's
    members perhaps not.
    """
    escalation = delivery.outcome.response
    if not isinstance(escalation, Escalation) or escalation.consent_needed:
        return None
    shown = () if delivery.message.private else escalation.suggestions
    return HandOver(
        escalation.question, ESCALATION_REASONS[escalation.reason], offered_pages(shown)
    )


def offered_pages(sources: tuple[Source, ...]) -> tuple[SourceLine, ...]:
    """Return suggested pages as list entries without a citation number."""
    return tuple(_line(source, None) for source in sources)


def case_pages(found: SearchFinding, public_url: str | None) -> tuple[SourceLine, ...]:
    """Return the found pages as they are listed on a case's card, linked where they can be."""
    pages = found.suggestions[:_MOST_CASE_PAGES]
    return tuple(
        replace(line, url=web_url(public_link(page.url, public_url)))
        for line, page in zip(offered_pages(pages), pages, strict=True)
    )


def web_url(url: str) -> str | None:
    """Return the address percent-encoded if it is absolute http(s), else None."""
    try:
        parts = urlsplit(url)
        named = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return None
    encoded = quote(url, safe=_URL_CHARACTERS)
    if not named or "@" in parts.netloc or "[" in parts.netloc or len(encoded) > _URL_LENGTH:
        return None
    return encoded


def _numbered(sources: tuple[Source, ...]) -> tuple[SourceLine, ...]:
    return tuple(_line(source, number) for number, source in enumerate(sources, start=1))


def _line(source: Source, number: int | None) -> SourceLine:
    title = source.title.strip() or source.page_id
    section = "" if source.section in {"", source.title} else f" \u203a {source.section}"
    label = clip(f"{title}{section}", _LABEL_LENGTH)
    if source.document_page is not None:
        label = tr("{source}, page {number}", source=label, number=source.document_page)
    return SourceLine(
        number=number,
        label=label,
        url=web_url(source.url),
        quote=source.quote,
        space=clip(source.space, _SPACE_LENGTH),
        updated_at=source.updated_at,
        updated_by=source.updated_by,
        superseded=source.superseded,
        line=source.line,
        source_type=source.source_type,
    )


def _footer(reply: Reply, *, private: bool) -> str:
    if reply.tone == "generic":
        return ""
    why = tr("Is something missing?") if reply.missing else tr("Not what you need?")
    if private:
        how = tr("Reply \u201chuman\u201d and I'll ask a person.")
    else:
        how = tr("Mention me with \u201chuman\u201d and I'll ask a person.")
    return join_texts(" ", (why, how))


def reader_label(principal: str) -> str:
    """Return a principal for people: "Everyone", a group's name, or one person's id."""
    kind, _, name = principal.partition(":")
    match kind:
        case "everyone":
            return tr("Everyone")
        case "group":
            return tr("Group {name}", name=name)
        case "user":
            return tr("Person {name}", name=name)
        case _:
            return principal

"""View models of responses on the board: only what the reader may read; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from markupsafe import Markup

from bot.answering.reply_text import framed_parts
from bot.answering.visibility import Visibility, sources_of
from bot.domain.formatting import freshness
from bot.domain.interactions import Clarification, Interaction, Reply, Response, Source
from bot.domain.outcomes import question_text
from bot.web.board import labels
from bot.web.pages.safe_html import answer_html, openable, parts_html, quote_html


@dataclass(frozen=True, slots=True)
class PageView:
    """A cited or suggested page; ``href`` is empty where there is none to open.

    ``age`` is when and by whom the page was changed, and whether it is superseded.
    """

    title: str
    section: str
    quote: Markup
    href: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A response as shown; ``withheld`` when it may quote pages that the reader may not see."""

    html: Markup = field(default_factory=Markup)
    withheld: bool = False
    options: tuple[str, ...] = ()
    pages: tuple[PageView, ...] = ()
    hidden: int = 0
    cited: bool = False


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """An earlier exchange; ``response`` is None if there was none."""

    id: str
    asked_at: datetime
    who: str
    question: str
    response: ResponseView | None


def response_view(response: Response, name: str, sight: Visibility) -> ResponseView:
    """Return the readable part of a response; ``name`` makes its footnote ids unique."""
    sources = sources_of(response)
    pages = tuple(page_view(source, sight) for source in sight.seen(sources))
    hidden = sight.hidden(sources)
    if not sight.shows(response):
        return ResponseView(withheld=True, pages=pages, hidden=hidden)
    cited = response.kind == "reply"
    return ResponseView(
        html=_html(response, name),
        options=sight.offers(response.options) if isinstance(response, Clarification) else (),
        pages=pages,
        hidden=hidden,
        cited=cited,
    )


def _html(response: Response, name: str) -> Markup:
    parts = framed_parts(response) if isinstance(response, Reply) else ()
    hrefs = [openable(source.url) for source in sources_of(response)]
    if parts:
        return parts_html(parts, name, hrefs)
    return answer_html(response.text, name, len(hrefs) if response.kind == "reply" else 0)


def exchange_views(earlier: Sequence[Interaction], sight: Visibility) -> tuple[ExchangeView, ...]:
    """Return the exchanges before a question, oldest first."""
    views: list[ExchangeView] = []
    for each in earlier:
        view = ExchangeView(
            id=each.id,
            asked_at=each.created_at,
            who=labels.who(each.message.author.name, each.message.author.id),
            question=question_text(sight.question(each)),
            response=interaction_response(each, sight),
        )
        views.append(view)
    return tuple(views)


def interaction_response(asked: Interaction, sight: Visibility) -> ResponseView | None:
    """Return the readable part of an answer; None if there is none.

    A model's answer based on earlier exchanges may repeat a withheld answer, and is withheld too.
    """
    if asked.outcome is None:
        return None
    if sight.repeats(asked.outcome):
        return ResponseView(withheld=True)
    return response_view(sight.retold(asked.outcome), asked.id, sight)


def page_view(source: Source, sight: Visibility) -> PageView:
    """Return a readable page, with its quote if the page still contains it."""
    return quoted_page(source if sight.quotes(source) else replace(source, quote=""))


def quoted_page(source: Source) -> PageView:
    """Return a readable page with its quote."""
    return PageView(
        title=source.title,
        section=source.section if source.section != source.title else "",
        quote=quote_html(source.quote) if source.quote else Markup(),
        href=openable(source.url),
        age=freshness(source, datetime.now(UTC)),
    )

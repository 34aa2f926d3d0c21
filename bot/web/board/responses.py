"""Responses as the board shows them: words and pages only to those who may read them; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from markupsafe import Markup

from bot.answering.visibility import Visibility, sources_of
from bot.domain.interactions import Clarification, Interaction, Response, Source
from bot.domain.text.formatting import freshness
from bot.web.board import labels
from bot.web.pages.safe_html import answer_html, quote_html


@dataclass(frozen=True, slots=True)
class PageView:
    """A page that was cited or offered; ``href`` is empty where there is none to open.

    ``age`` says when and by whom it was changed, and whether it is superseded.
    """

    title: str
    section: str
    quote: Markup
    href: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class ResponseView:
    """What somebody was told; ``withheld`` when it may quote pages that the reader may not see."""

    html: Markup = field(default_factory=Markup)
    withheld: bool = False
    options: tuple[str, ...] = ()
    pages: tuple[PageView, ...] = ()
    hidden: int = 0
    cited: bool = False


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """An exchange that came before; ``response`` is None where there was none."""

    id: str
    asked_at: datetime
    who: str
    question: str
    response: ResponseView | None


def response_view(response: Response, name: str, sight: Visibility) -> ResponseView:
    """Return what may be shown of a response; ``name`` tells its marks from others'."""
    sources = sources_of(response)
    pages = tuple(page_view(source, sight) for source in sight.seen(sources))
    hidden = sight.hidden(sources)
    if not sight.shows(response):
        return ResponseView(withheld=True, pages=pages, hidden=hidden)
    cited = response.kind == "reply"
    return ResponseView(
        html=answer_html(response.text, name, len(sources) if cited else 0),
        options=sight.offers(response.options) if isinstance(response, Clarification) else (),
        pages=pages,
        hidden=hidden,
        cited=cited,
    )


def exchange_views(earlier: Sequence[Interaction], sight: Visibility) -> tuple[ExchangeView, ...]:
    """Return the exchanges before a question, oldest first."""
    views: list[ExchangeView] = []
    for each in earlier:
        view = ExchangeView(
            id=each.id,
            asked_at=each.created_at,
            who=labels.who(each.message.author.name, each.message.author.id),
            question=sight.question(each),
            response=interaction_response(each, sight),
        )
        views.append(view)
    return tuple(views)


def interaction_response(asked: Interaction, sight: Visibility) -> ResponseView | None:
    """Return what may be shown of an answer; None where there is none.

    What a model wrote from the talk before may repeat an answer that is withheld.
    """
    if asked.outcome is None:
        return None
    if sight.repeats(asked.outcome):
        return ResponseView(withheld=True)
    return response_view(sight.retold(asked.outcome), asked.id, sight)


def page_view(source: Source, sight: Visibility) -> PageView:
    """Return a page that may be shown; its quote while it still stands there."""
    return quoted_page(source if sight.quotes(source) else replace(source, quote=""))


def quoted_page(source: Source) -> PageView:
    """Return a page that may be shown, with its quote."""
    opens = source.url.startswith(("https://", "http://", "/pages/"))
    return PageView(
        title=source.title,
        section=source.section if source.section != source.title else "",
        quote=quote_html(source.quote) if source.quote else Markup(),
        href=source.url if opens else "",
        age=freshness(source, datetime.now(UTC)),
    )

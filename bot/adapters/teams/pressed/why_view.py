"""An explanation as a card in which nothing is live but links that code built: pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.adapters.teams.showing.elements import card, text_block
from bot.adapters.teams.showing.sizes import ROOM, size
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_plain
from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.answering.explanations.steps import StatedConfidence
from bot.chat.response_view import web_url
from bot.domain.text.markdown import clip

_TITLE_LENGTH = 60
_HEADING_LENGTH = 80
_PAGE_LENGTH = 150
_STEP_LENGTH = 2_000
_CUT = "There is more, but not enough room for it here."


def title_of(explanation: Explanation) -> str:
    """Return what the dialog is called; it is plain text."""
    return clip(explanation.title, _TITLE_LENGTH)


def explained(
    explanation: Explanation, form: Sequence[Json] = (), actions: Sequence[Json] = ()
) -> Json:
    """Return the card of an explanation, within what Teams takes, with a form below it."""
    room = ROOM - size(card([text_block(_CUT), *form], actions))
    return card([*_fitting(_blocks(explanation), room), *form], actions)


def _fitting(blocks: Iterable[Json], room: int) -> Sequence[Json]:
    kept: list[Json] = []
    for block in blocks:
        if size([*kept, block]) > room:
            return [*kept, text_block(_CUT, isSubtle=True)]
        kept.append(block)
    return kept


def _blocks(explanation: Explanation) -> Iterator[Json]:
    if explanation.question:
        yield text_block(card_plain(explanation.question), isSubtle=True)
    for step in explanation.steps:
        yield _heading(step.label)
        yield _below(card_plain(clip(step.text, _STEP_LENGTH)))
    if explanation.sure is not None:
        yield _heading("How sure")
        yield _below(card_plain(_sure(explanation.sure)))
    if explanation.pages:
        yield _heading("Pages I read")
        yield from (_below(_page(page)) for page in explanation.pages)
    if explanation.left_out:
        yield text_block(card_plain(explanation.left_out), isSubtle=True)


def _heading(label: str) -> Json:
    return text_block(card_plain(clip(label, _HEADING_LENGTH)), weight="Bolder")


def _below(text: str) -> Json:
    return text_block(text, spacing="None")


def _sure(sure: StatedConfidence) -> str:
    return f"{sure.words}: {sure.told}, and an answer needs {sure.needed_told}"


def _page(page: PageSummary) -> str:
    where = f" \u203a {page.section}" if page.section else ""
    label = card_plain(clip(f"{page.title}{where}", _PAGE_LENGTH))
    url = web_url(page.url)
    return f"{f'[{label}]({url})' if url else label}, {card_plain(page.found)}"

"""Render an outcome as one card with its words, tables, pages and buttons; pure.

For channels and group chats: Teams splits text with a card into two messages there. A card shows no
citations, so its pages are listed below the words; the label and the thumbs come with its message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.chat.response_view import ResponseView, render
from bot.chat.votes import can_be_rated
from bot.domain.interactions import Outcome
from bot.domain.markdown import clip, plain_code, without_code
from bot.domain.messages import Message
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.answer_blocks import code_elements, table_elements
from bot.platforms.teams.rendering.answers import buttons_of
from bot.platforms.teams.rendering.cards import card, inert_text, text_block, with_card
from bot.platforms.teams.rendering.labels import (
    NO_SENSITIVITY,
    Sensitivity,
    is_ai_generated,
    message_entity,
    page_list,
)
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    QUOTE_MARKS,
    card_markdown,
    card_plain,
    size,
)
from rag.parts import Code, Table, parts_text

_SUMMARY_LENGTH = 200
_WORDS = frozenset({"TextBlock", "Container"})


def answer_card(
    outcome: Outcome,
    message: Message,
    *,
    now: datetime,
    sensitivity: Sensitivity = NO_SENSITIVITY,
) -> Json | None:
    """Return the message whose card is the whole response; None if it is too large for one.

    None also for a response with neither buttons nor tables: text shows it better.
    """
    rendered = render(outcome.response, private=message.private, remarks=outcome.remarks)
    shown = [*_answer_elements(rendered), *_page_elements(rendered, now)]
    buttons = buttons_of(outcome, message.interaction_id)
    if not buttons and all(each["type"] in _WORDS for each in shown):
        return None
    entity = message_entity(
        ai=is_ai_generated(outcome), usage=sensitivity.usage(outcome.response), citations=()
    )
    labelled: Json = {"entities": [entity]} if entity else {}
    judged: Json = (
        {"channelData": {"feedbackLoop": {"type": "default"}}} if can_be_rated(outcome) else {}
    )
    begins = clip(" ".join(rendered.text.split()), _SUMMARY_LENGTH)
    said: Json = {"type": "message", "summary": inert_text(begins), **labelled, **judged}
    whole = with_card(said, {**card(shown, buttons), "fallbackText": card_plain(begins)})
    return whole if size(whole) <= CONTENT_BUDGET else None


def _answer_elements(rendered: ResponseView) -> Iterator[Json]:
    for piece in rendered.text_and_blocks(Table, Code):
        if isinstance(piece, str):
            yield from _words(piece)
        elif isinstance(piece, Code):
            yield from code_elements(piece, _fits)
        else:
            yield from table_elements(piece, _fits) or tuple(_words(parts_text((piece,))))


def _page_elements(rendered: ResponseView, now: datetime) -> Iterator[Json]:
    if pages := page_list(
        rendered.heading, rendered.lines, now, label=card_plain, plain=card_plain
    ):
        yield text_block(pages, separator=True)
    yield from (text_block(card_plain(without_code(each))) for each in rendered.remarks)


def _words(text: str) -> Iterator[Json]:
    """Yield paragraphs, and what the text quotes on a ground of its own: cards have no quotes."""
    for quoted, lines in _runs(plain_code(text)):
        said = card_markdown("\n".join(lines).strip("\n"))
        if said.strip() and quoted:
            yield {"type": "Container", "style": "emphasis", "items": [text_block(said)]}
        elif said.strip():
            yield text_block(said)


def _runs(text: str) -> Sequence[tuple[bool, list[str]]]:
    """Return the lines of a text, apart by whether they are quoted; empty ones stay with others."""
    runs: list[tuple[bool, list[str]]] = []
    for line in text.split("\n"):
        mark = QUOTE_MARKS.match(line)
        quoted = bool(mark) if line.strip() or not runs else runs[-1][0]
        if not runs or runs[-1][0] != quoted:
            runs.append((quoted, []))
        runs[-1][1].append(line[mark.end() :] if mark else line)
    return runs


def _fits(element: Json) -> bool:
    return size(element) <= CONTENT_BUDGET

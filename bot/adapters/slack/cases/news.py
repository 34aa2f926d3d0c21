"""What an asker is told of a step, as messages: pure. A person's words are theirs, and dead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bot.adapters.slack.showing.blocks import (
    SECTION_LIMIT,
    Block,
    actions,
    button,
    context,
    section,
)
from bot.adapters.slack.showing.render import Form, Forms
from bot.adapters.slack.wire.actions import ASKER_CLOSE, ASKER_REOPEN
from bot.adapters.slack.wire.text import escaped, escaped_label
from bot.chat.response_view import web_url
from bot.domain.cases import Act, Notice
from bot.domain.text.markdown import clip, split
from bot.escalations.asker_notices import notice_text
from bot.escalations.case_view import CaseButton

BUTTONS: Mapping[Act, str] = {"resolve": ASKER_CLOSE, "reopen": ASKER_REOPEN}
"""What the asker's buttons are called."""

_SECTIONS = 3
_HTTPS = re.compile(r"https://[^\s<>|]+")
_TRAILING = ".,;:!?)]}'\"*_~`"


def told(notice: Notice, offers: Sequence[CaseButton] = (), remark: str = "") -> tuple[Forms, ...]:
    """Return the messages that tell an asker: who did what, in our words, then theirs.

    Below the last is what they may do then, and ``remark``, a word of ours.
    """
    news = notice_text(notice)
    opening = f"*{_name(news.name)}* {news.did}"
    sections = [opening, *_sections(news.words)]
    parts = [sections[at : at + _SECTIONS] for at in range(0, len(sections), _SECTIONS)]
    below = _below(notice, offers, remark)
    return (*(_forms(part, ()) for part in parts[:-1]), _forms(parts[-1], below))


def live(text: str) -> str:
    """Return a person's words in which plain https addresses are links, and nothing else is."""
    return "".join(_live(text))


def _live(text: str) -> Iterator[str]:
    end = 0
    for found in _HTTPS.finditer(text):
        address = found[0].rstrip(_TRAILING)
        url = web_url(address)
        yield escaped(text[end : found.start()])
        yield escaped(address) if url is None else f"<{url.replace('&', '&amp;')}>"
        end = found.start() + len(address)
    yield escaped(text[end:])


def _sections(words: str) -> list[str]:
    parts = split(words, SECTION_LIMIT, lambda part: len(live(part)))
    return [live(part) for part in parts if part.strip()]


def _below(notice: Notice, offers: Sequence[CaseButton], remark: str) -> tuple[Block, ...]:
    said_so = (context(escaped(remark)),) if remark else ()
    if not offers:
        return said_so
    row = [
        button(each.label, BUTTONS[each.act], notice.interaction_id, primary=each.first)
        for each in offers
    ]
    return (*said_so, actions(row))


def _forms(sections: Sequence[str], below: tuple[Block, ...]) -> Forms:
    text = "\n\n".join(sections)
    blocks = tuple(map(section, sections))
    with_buttons = (Form(text, (*blocks, *below)),) if below else ()
    return (*with_buttons, Form(text, blocks), Form(text))


def _name(name: str) -> str:
    return escaped_label(clip(name, 80)).replace("*", "\u2217")

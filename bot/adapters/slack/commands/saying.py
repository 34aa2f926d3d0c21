"""What the bot says to one person about what they ordered: blocks in which nothing is live."""

from __future__ import annotations

from bot.adapters.slack.showing.blocks import SECTION_LIMIT, section
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.text import escaped
from bot.domain.text.markdown import split

_MOST_SECTIONS = 4
"""Slack takes some 13,000 characters over all blocks of a message."""

_TEXT_LIMIT = 3_900


def said(text: str, *live: str) -> Form:
    """Return plain text as a message; ``live`` is mrkdwn that code built, below it.

    In blocks an address stays text; the text beside them is what notifications read.
    """
    parts = [escaped(part) for part in split(text, SECTION_LIMIT, lambda part: len(escaped(part)))]
    shown = [part for part in (*parts[:_MOST_SECTIONS], *live) if part.strip()]
    return Form(escaped(split(text, _TEXT_LIMIT)[0]), tuple(map(section, shown)))

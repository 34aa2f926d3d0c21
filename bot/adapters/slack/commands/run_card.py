"""How far a run is, as a message: pure. Names in it are as people wrote them, and dead."""

from __future__ import annotations

from bot.adapters.slack.commands.commanding import SPELLING
from bot.adapters.slack.showing.blocks import (
    SECTION_LIMIT,
    Block,
    actions,
    button,
    context,
    section,
)
from bot.adapters.slack.showing.render import Form, Forms
from bot.adapters.slack.wire.actions import REINDEX_CANCEL
from bot.adapters.slack.wire.text import escaped, escaped_label
from bot.chat.commands.run_progress import Progress, progress_of, text_bar
from bot.chat.commands.run_status import RunStatus
from bot.domain.text.markdown import split

_TEXT_LIMIT = 3_900


def run_card(told: RunStatus, *, user: str, alone: bool) -> Forms:
    """Return the message; ``user`` ordered the run.

    ``alone``: nobody else reads it. Else no page is named, for not all may know of it.
    """
    shown = progress_of(told, SPELLING, alone=alone)
    head, below = _head(shown), _below(shown)
    parts = [each for part in (head, below) if part for each in split(part, SECTION_LIMIT)]
    who = () if alone else (context(f"Ordered by <@{user}>"),)
    text = split("\n".join(filter(None, (head, below))), _TEXT_LIMIT)[0]
    blocks = (*map(section, parts), *who)
    plainer = (Form(text, blocks), Form(text))
    return plainer if told.ended else (Form(text, (*blocks, _cancel(told.run_id))), *plainer)


def _head(shown: Progress) -> str:
    bar = [] if shown.share is None else [text_bar(shown.share)]
    title = escaped_label(shown.title).replace("*", "\u2217")
    return "\n".join([f"*{title}*", *bar, *map(escaped_label, shown.facts)])


def _below(shown: Progress) -> str:
    titled = [shown.trouble_title] if shown.trouble_title else []
    troubles = [f"\u2022 {line}" for line in shown.troubles]
    cure = [shown.cure] if shown.cure else []
    return escaped("\n".join([*titled, *troubles, *cure]))


def _cancel(run_id: str) -> Block:
    return actions([button("Cancel", REINDEX_CANCEL, run_id)])

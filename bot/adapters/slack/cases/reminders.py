"""What people are reminded of, in the channel where they were asked: pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.adapters.slack.cases.news import live
from bot.adapters.slack.showing.blocks import section
from bot.adapters.slack.showing.render import Form, Forms
from bot.adapters.slack.wire.text import escaped_label
from bot.escalations.types import Case, Notice
from bot.rendering.markdown import clip
from bot.rendering.rendering import web_url

_QUESTION_LENGTH = 300


def reminder(case: Case, notice: Notice, *, now: datetime, links: Sequence[str]) -> Forms:
    """Return what people are reminded of.

    The question is quoted only if it was asked on Slack: with one that is withdrawn elsewhere the
    reminder would stay.
    """
    begun = case.opened_at if case.standing.state == "open" else case.changed_at
    waited = waiting_time(now - begun)
    if notice.step == "ping":
        opening = f"*Nobody has taken this question yet*; it has waited for {waited}."
    else:
        opening = "*A question was opened again* and nobody has it."
    platform = case.channel.partition(":")[0]
    ours = platform == "slack"
    asked = clip(case.question, _QUESTION_LENGTH) if ours else f"Asked by {platform}."
    quoted = f"> {live(asked)}" if ours else live(asked)
    where = " \u00b7 ".join(links) or f"On the board it is {case.interaction_id}."
    text = f"{opening}\n{quoted}\n{where}"
    return (Form(text, (section(text),)), Form(text))


def link(url: str, label: str) -> str:
    """Return a link of ours, or its label where the address can't be one."""
    address = web_url(url)
    return f"<{address}|{escaped_label(label)}>" if address else escaped_label(label)


def waiting_time(waited: timedelta) -> str:
    """Return a time as a person says it: minutes, then hours, then days."""
    minutes = max(1, round(waited.total_seconds() / 60))
    for length, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * length:
            return f"{minutes // length} {name}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"

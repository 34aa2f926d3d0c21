"""What people are reminded of, in the channel where they were asked: pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.adapters.slack.cases.news import live
from bot.adapters.slack.showing.blocks import section
from bot.adapters.slack.showing.render import Form, Forms
from bot.adapters.slack.wire.text import escaped_label
from bot.chat.response_view import web_url
from bot.domain.cases import Case, Notice
from bot.domain.text.markdown import clip
from bot.escalations.case_view import platform_of, reminder_text

_QUESTION_LENGTH = 300


def reminder(case: Case, notice: Notice, *, now: datetime, links: Sequence[str]) -> Forms:
    """Return what people are reminded of.

    The question is quoted only if it was asked on Slack: with one that is withdrawn elsewhere the
    reminder would stay.
    """
    matter, more = reminder_text(case, notice, now)
    platform = platform_of(case)
    ours = platform == "slack"
    asked = clip(case.question, _QUESTION_LENGTH) if ours else f"Asked by {platform}."
    quoted = f"> {live(asked)}" if ours else live(asked)
    where = " \u00b7 ".join(links) or f"On the board it is {case.interaction_id}."
    text = f"*{matter}*{more}\n{quoted}\n{where}"
    return (Form(text, (section(text),)), Form(text))


def link(url: str, label: str) -> str:
    """Return a link of ours, or its label where the address can't be one."""
    address = web_url(url)
    return f"<{address}|{escaped_label(label)}>" if address else escaped_label(label)

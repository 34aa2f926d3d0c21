"""An outcome as Slack messages: pure, each in three forms from rich to plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.adapters.slack.text import escaped, escaped_label, mrkdwn
from bot.rendering.markdown import split
from bot.rendering.rendering import HandOver, Rendered, SourceLine

TEXT_LIMIT = 11_500
"""Slack takes 12,000 characters over all markdown blocks of a message; some room is kept."""

_SECTION_LIMIT = 2_900
_NOTIFICATION_LIMIT = 3_900
_QUESTION_LIMIT = 2_000
_USER = re.compile(r"[UW][A-Z0-9]{2,}")

Block = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a message. ``text`` is what notifications and old clients read."""

    text: str
    blocks: tuple[Block, ...] = ()


Forms = tuple[Form, ...]
"""The same message, richest first; the last is text alone, which Slack never refuses."""


def messages(rendered: Rendered) -> tuple[Forms, ...]:
    """Return the messages that show a response, in order; the last carries the sources."""
    parts = split(rendered.text, TEXT_LIMIT, _escaped_length)
    sources = _sources(rendered.heading, rendered.lines)
    tail = len(sources) + len(rendered.footer)
    if sources and _escaped_length(parts[-1]) + tail > TEXT_LIMIT:
        return (*(_forms(part) for part in parts), _forms("", sources, rendered.footer))
    return (*(_forms(part) for part in parts[:-1]), _forms(parts[-1], sources, rendered.footer))


def card(asked: HandOver, *, author: str, permalink: str | None) -> Forms:
    """Return what the people's channel is shown; a private thread has no link to open."""
    question = split(asked.question, _QUESTION_LIMIT, _escaped_length)[0]
    who = f"<@{author}>" if _USER.fullmatch(author) else escaped_label(author)
    where = f"<{permalink}|Open the thread>" if permalink else "Asked in a direct message"
    quoted = "\n".join(f"> {line}" for line in mrkdwn(question).split("\n"))
    body = f"*A question for a person* from {who}: {asked.reason}\n{quoted}\n{where}"
    return _forms_of(body, _sources("Pages found (not confirmed)", asked.lines), "")


def _forms(text: str, sources: str = "", footer: str = "") -> Forms:
    rich = ({"type": "markdown", "text": escaped(text)},) if text.strip() else ()
    tail = _tail(sources, footer)
    plain = _forms_of(mrkdwn(text), sources, footer)
    return (Form(plain[0].text, (*rich, *tail)), *plain)


def _forms_of(body: str, sources: str, footer: str) -> Forms:
    """Return a message of plain sections, and as text alone."""
    alone = "\n\n".join(part for part in (body, sources, _italic(footer)) if part.strip())
    sections = tuple(_section(part) for part in split(body, _SECTION_LIMIT) if part.strip())
    notification = split(body or sources, _NOTIFICATION_LIMIT)[0] or "\u2026"
    return (Form(notification, (*sections, *_tail(sources, footer))), Form(alone or "\u2026"))


def _tail(sources: str, footer: str) -> tuple[Block, ...]:
    shown = tuple(_section(part) for part in split(sources, _SECTION_LIMIT) if part)
    return (*shown, _context(footer)) if footer else shown


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _italic(footer: str) -> str:
    return f"_{footer}_" if footer else ""


def _sources(heading: str, lines: Sequence[SourceLine]) -> str:
    listed = "\n".join(_line(line) for line in lines)
    return f"*{heading}*\n{listed}" if listed else ""


def _line(line: SourceLine) -> str:
    mark = "\u2022" if line.number is None else f"[{line.number}]"
    label = escaped_label(line.label)
    return f"{mark} <{line.url}|{label}>" if line.url else f"{mark} {label}"


def _escaped_length(text: str) -> int:
    return len(escaped(text))

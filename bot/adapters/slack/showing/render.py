"""An outcome as Slack messages: pure, each in several forms from rich to plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.adapters.slack.showing.blocks import SECTION_LIMIT, Block, context, section
from bot.adapters.slack.showing.buttons import NONE, Buttons, more_button
from bot.adapters.slack.wire.text import escaped, escaped_label, mrkdwn
from bot.chat.response_view import ResponseView, SourceLine
from bot.domain.text.formatting import freshness
from bot.domain.text.markdown import disarm, plain_code, split, without_code
from bot.domain.types import InteractionId

TEXT_LIMIT = 11_500
"""Slack takes 12,000 characters over all markdown blocks of a message; some room is kept."""

_MOST_SECTIONS = 3
"""Pieces of a list of pages in one message: with remarks and buttons they stay within its limit."""

_NOTIFICATION_LIMIT = 3_900
_SHORT_LIMIT = 2_500
"""Characters of all text in a message that was too long for Slack before."""

_SHORTENED = "Slack did not take all of this: it is the beginning."
_NOTHING = "\u2026"
_MORE = "There is more that you may read, but not everyone here."


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a message. ``text`` is what notifications and old clients read.

    The first ``body`` blocks are the words of an answer, 0 where nothing is known of that.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    body: int = 0


Forms = tuple[Form, ...]
"""The same message, richest first; the last is text alone, which Slack never refuses."""


@dataclass(frozen=True, slots=True)
class _Below:
    """What follows the text of a message; all of it is escaped."""

    sources: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    footer: str = ""
    buttons: Buttons = NONE

    def __len__(self) -> int:
        return sum(map(len, (*self.sources, *self.remarks, self.footer)))


_END = _Below()


def messages(
    rendered: ResponseView, *, now: datetime, buttons: Buttons = NONE
) -> tuple[Forms, ...]:
    """Return the messages that show a response, in order; the last has what belongs below it."""
    *more_pages, pages = _groups(_sources(rendered.heading, rendered.lines, now))
    remarks = tuple(_inert(each) for each in rendered.remarks)
    below = _Below(pages, remarks, rendered.footer, buttons)
    *parts, end = split(plain_code(rendered.text), TEXT_LIMIT, _escaped_length)
    before = [_forms(part, _END) for part in parts]
    lists = [_forms("", _Below(each)) for each in more_pages]
    if len(below) and (lists or _escaped_length(end) + len(below) > TEXT_LIMIT):
        return (*before, _forms(end, _END), *lists, _forms("", below))
    return (*before, _forms(end, below))


def more(interaction_id: InteractionId) -> Forms:
    """Return what tells an asker that there is more for them alone, with the way to it."""
    told = section(_MORE)
    return (Form(_MORE, (told, more_button(interaction_id))), Form(_MORE, (told,)), Form(_MORE))


def shortened(form: Form) -> Form | None:
    """Return a form with the beginning of its text, which says so; None for one that is short."""
    count = form.body or len(form.blocks)
    body, below = form.blocks[:count], form.blocks[count:]
    if max(len(form.text), sum(map(_length, body))) <= _SHORT_LIMIT + 2 * len(_SHORTENED):
        return None
    text = split(form.text, _SHORT_LIMIT)[0]
    if not form.blocks:
        return Form(f"{text}\n\n_{_SHORTENED}_")
    begun = tuple(_beginning(body))
    return Form(text, (*begun, context(_SHORTENED), *below), len(begun))


def source_lines(lines: Sequence[SourceLine], now: datetime) -> list[str]:
    """Return pages as lines of mrkdwn: number, link, space and age of each."""
    return [_line(line, now) for line in lines]


def _forms(text: str, below: _Below) -> Forms:
    """Return every form of a message; each gives up one thing more."""
    body = mrkdwn(text)
    plainer = (*_with_body(_sections(body), body, below), _alone(body, below))
    if not text.strip():
        return plainer
    rich: Block = {"type": "markdown", "text": escaped(text)}
    return (*_with_body((rich,), body, below), *plainer)


def _with_body(shown: tuple[Block, ...], body: str, below: _Below) -> Iterator[Form]:
    notification = split(body or "\n".join(below.sources), _NOTIFICATION_LIMIT)[0] or _NOTHING
    pages = tuple(section(part) for part in below.sources)
    remarks = tuple(context(remark) for remark in below.remarks)
    for pressed in _pressed(below.buttons):
        footer = () if pressed or not below.footer else (context(below.footer),)
        yield Form(notification, (*shown, *pages, *remarks, *footer, *pressed), len(shown))


def _pressed(buttons: Buttons) -> Iterator[tuple[Block, ...]]:
    """Yield what can be pressed, with less each time."""
    if buttons.thumbs and buttons.row:
        yield (buttons.thumbs, buttons.row)
    if buttons.row:
        yield (buttons.row,)
    yield ()


def _beginning(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks with as much of their text as a short message has; all that can be pressed."""
    left = _SHORT_LIMIT
    for block in blocks:
        size = _length(block)
        if size and left > 0:
            yield block if size <= left else _cut_to(block, left)
        elif not size:
            yield block
        left -= size


def _cut_to(block: Block, limit: int) -> Block:
    words = split(_text_of(block), limit)[0]
    return {**block, "text": words} if block["type"] == "markdown" else section(words)


def _text_of(block: Block) -> str:
    """Return the text of a paragraph; nothing of any other block."""
    text = block.get("text")
    return str(text["text"] if isinstance(text, dict) else text or "")


def _length(block: Block) -> int:
    return len(_text_of(block))


def _alone(body: str, below: _Below) -> Form:
    footer = f"_{below.footer}_" if below.footer else ""
    parts = (body, "\n".join(below.sources), *below.remarks, footer)
    return Form("\n\n".join(part for part in parts if part.strip()) or _NOTHING)


def _sections(body: str) -> tuple[Block, ...]:
    return tuple(section(part) for part in split(body, SECTION_LIMIT) if part.strip())


def _sources(heading: str, lines: Sequence[SourceLine], now: datetime) -> tuple[str, ...]:
    """Return the list of pages, in pieces that a section takes."""
    if not lines:
        return ()
    listed = "\n".join([f"*{heading}*", *source_lines(lines, now)])
    return tuple(part for part in split(listed, SECTION_LIMIT) if part)


def _groups(sources: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the pieces as messages take them, one group at least."""
    starts = range(0, max(len(sources), 1), _MOST_SECTIONS)
    return [sources[at : at + _MOST_SECTIONS] for at in starts]


def _line(line: SourceLine, now: datetime) -> str:
    mark = "\u2022" if line.number is None else f"[{line.number}]"
    label = escaped_label(without_code(line.label))
    page = f"<{line.url}|{label}>" if line.url else _inert(line.label)
    told = (_inert(line.space), _inert(freshness(line, now)))
    about = ", ".join(part for part in (page, *told) if part)
    return f"{mark} {about}"


def _inert(line: str) -> str:
    """Return a line of plain text in which nothing is live, in whatever form it is shown."""
    return escaped_label(disarm(without_code(line)))


def _escaped_length(text: str) -> int:
    return len(escaped(text))

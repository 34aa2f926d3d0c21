"""Render replies as Slack messages in Block Kit, from rich to plain text. Pure.

A workspace may reject some block types, so each message has several forms, richest first; the
last is text alone. Text written by people or copied from pages is escaped: no mention, link or
markup in it is live. Action ids come from payloads/actions.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.chat.response_view import ResponseView, SourceLine, response_buttons, web_url
from bot.domain.formatting import freshness
from bot.domain.interactions import Outcome
from bot.domain.markdown import clip, disarm, plain_code, split, without_code
from bot.domain.messages import InteractionId
from bot.domain.texts import changed, join_texts, tr
from bot.platforms.slack.payloads.actions import ASK_PERSON, FEEDBACK, MORE, OPTION, WHY
from bot.platforms.slack.payloads.markup import (
    bold,
    escaped,
    escaped_label,
    is_within_table_limits,
    table_block,
    to_mrkdwn,
)
from rag.parts import Code, Table, parts_text

Block = Mapping[str, object]

SECTION_LIMIT = 2_900
"""Slack's limit is 3,000 characters per section; this leaves a margin."""

_LABEL_LIMIT = 75  # Slack's limit for the text of a button
_INERT = str.maketrans({"<": "\u2039", ">": "\u203a"})
"""Replaces angle brackets: whether Slack decodes entities on a button is undocumented."""


def section(text: str) -> Block:
    """Return a section block; ``text`` is mrkdwn, already escaped."""
    return {"type": "section", "text": mrkdwn_object(text)}


def context(text: str) -> Block:
    """Return a context block (small print); ``text`` is mrkdwn, already escaped."""
    return {"type": "context", "elements": [mrkdwn_object(text)]}


def actions(buttons: Sequence[Block]) -> Block:
    """Return an actions block: a row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def button(label: str, action_id: str, value: str, *, primary: bool = False) -> Block:
    """Return a button; its label is shown literally, cut at 75 characters."""
    shown = {"type": "button", "text": plain_text(label), "action_id": action_id, "value": value}
    return {**shown, "style": "primary"} if primary else shown


def plain_text(text: str) -> Block:
    """Return a plain_text object without live markup, cut at 75 characters."""
    shown = inert_line(text, _LABEL_LIMIT)
    return {"type": "plain_text", "text": shown or "\u2026", "emoji": False}


def inert_line(text: str, limit: int) -> str:
    """Return a text on one line, cut, for fields in which Slack shows text literally."""
    return clip(changed(text, _without_brackets), limit)


def _without_brackets(text: str) -> str:
    return text.translate(_INERT)


def mrkdwn_link(url: str, label: str) -> str:
    """Return a link that code built, or its label if the address is not valid."""
    address = web_url(url)
    shown = escaped_label(label)
    return join_texts("", (f"<{address}|", shown, ">")) if address else shown


def mrkdwn_object(text: str) -> Block:
    """Return a mrkdwn object; addresses in it stay text unless they are marked as links."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


_MOST_OPTIONS = 4


@dataclass(frozen=True, slots=True)
class ReplyButtons:
    """The button blocks at the end of a message; a workspace may reject either of them."""

    thumbs: Block | None = None
    row: Block | None = None


NO_BUTTONS = ReplyButtons()


def buttons_of(outcome: Outcome, interaction_id: InteractionId) -> ReplyButtons:
    """Return the buttons below an outcome; small talk and refusals have none."""
    wanted = response_buttons(outcome)
    row = [
        button(option, f"{OPTION}:{number}", f"{interaction_id}:{number}")
        for number, option in wanted.options[:_MOST_OPTIONS]
    ]
    if wanted.ask_person:
        row.append(button(wanted.ask_person, ASK_PERSON, interaction_id, primary=wanted.primary))
    if wanted.why:
        row.append(button(wanted.why, WHY, interaction_id))
    thumbs = _feedback_buttons(interaction_id) if wanted.rated else None
    return ReplyButtons(thumbs, actions(row) if row else None)


def _feedback_buttons(interaction_id: InteractionId) -> Block:
    element = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": _feedback_button(tr("Helpful"), f"up:{interaction_id}"),
        "negative_button": _feedback_button(tr("Not helpful"), f"down:{interaction_id}"),
    }
    return {"type": "context_actions", "elements": [element]}


def _feedback_button(label: str, value: str) -> Block:
    return {"text": plain_text(label), "value": value, "accessibility_label": label}


TEXT_LIMIT = 11_500
"""Slack's limit is 12,000 characters over a message's markdown blocks; this leaves a margin."""

_MOST_SOURCE_SECTIONS = 3
"""Sections of sources per message: with remarks and buttons they stay within its limit."""

_NOTIFICATION_LIMIT = 3_900
_SHORT_LIMIT = 2_500
"""Characters of text in the shortened form of a message that Slack rejected as too long."""

_SHORTENED = tr("This is only the beginning: Slack did not accept the whole message.")
_NOTHING = "\u2026"
_MORE = tr("There is more that you can read, but not everyone here.")


@dataclass(frozen=True, slots=True)
class MessageForm:
    """One rendering of a message, as text and blocks.

    ``text`` is shown in notifications and old clients. The first ``body`` blocks hold the text of
    an answer; 0 where that is unknown.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    body: int = 0


def blocks_of(form: MessageForm) -> Sequence[dict[str, object]] | None:
    """Return a form's blocks as slack_sdk expects them; None if it has none."""
    return [dict(block) for block in form.blocks] or None


MessageForms = tuple[MessageForm, ...]
"""All renderings of a message, richest first; the last is text alone, which Slack never refuses."""


@dataclass(frozen=True, slots=True)
class _BelowText:
    """The content below a message's text; all of it is escaped."""

    sources: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    footer: str = ""
    buttons: ReplyButtons = NO_BUTTONS

    def __len__(self) -> int:
        return sum(map(len, (*self.sources, *self.remarks, self.footer)))


_NOTHING_BELOW = _BelowText()


def reply_messages(
    rendered: ResponseView, *, now: datetime, buttons: ReplyButtons = NO_BUTTONS
) -> tuple[MessageForms, ...]:
    """Return the messages of a response, in order; the last has the remarks, footer and buttons."""
    *more_pages, pages = _groups(_sources(rendered.heading, rendered.lines, now))
    remarks = tuple(_inert(each) for each in rendered.remarks)
    below = _BelowText(pages, remarks, rendered.footer, buttons)
    *parts, end = _bodies(rendered)
    before = [_forms(part, _NOTHING_BELOW) for part in parts]
    lists = [_forms((), _BelowText(each)) for each in more_pages]
    if len(below) and (lists or _body_length(end) + len(below) > TEXT_LIMIT):
        return (*before, _forms(end, _NOTHING_BELOW), *lists, _forms((), below))
    return (*before, _forms(end, below))


_Body = tuple[str | Table, ...]
"""The Markdown and at most one table of a message, in order."""


def _bodies(rendered: ResponseView) -> Sequence[_Body]:
    """Return the body of each message, at least one.

    A message takes one table; a second one, and one that is too large, are lines of text.
    """
    bodies: list[_Body] = [()]
    for piece in rendered.text_and_blocks(Table):
        for unit in _units(piece):
            *_, last = bodies
            has_table = any(isinstance(each, Table) for each in last)
            fitting = _table_text(unit) if isinstance(unit, Table) and has_table else unit
            if last and _body_length((*last, fitting)) > TEXT_LIMIT:
                bodies.append((unit,))
            else:
                bodies[-1] = (*last, fitting)
    return bodies


def _units(piece: str | Table | Code) -> Sequence[str | Table]:
    if isinstance(piece, Table) and is_within_table_limits(piece) and _fits_as_text(piece):
        return (piece,)
    text = piece if isinstance(piece, str) else parts_text((piece,))
    return split(plain_code(text), TEXT_LIMIT, _escaped_length)


def _fits_as_text(table: Table) -> bool:
    """Return whether a message takes the text of a table, where its block is refused."""
    return _body_length((table,)) <= TEXT_LIMIT


def _body_text(body: _Body) -> str:
    return "\n\n".join(_table_text(each) if isinstance(each, Table) else each for each in body)


def _table_text(table: Table) -> str:
    return plain_code(parts_text((table,)))


def _body_length(body: _Body) -> int:
    return _escaped_length(_body_text(body))


def private_answer_offer(interaction_id: InteractionId) -> MessageForms:
    """Return the message that offers an asker the private answer, with its button."""
    line = section(_MORE)
    more = actions([button(tr("Show it to me"), MORE, interaction_id)])
    return (
        MessageForm(_MORE, (line, more)),
        MessageForm(_MORE, (line,)),
        MessageForm(_MORE),
    )


def shorten(form: MessageForm) -> MessageForm | None:
    """Return a form cut to the beginning of its text, with a note; None if it is short already."""
    count = form.body or len(form.blocks)
    body, below = form.blocks[:count], form.blocks[count:]
    if max(len(form.text), sum(map(_length, body))) <= _SHORT_LIMIT + 2 * len(_SHORTENED):
        return None
    text = split(form.text, _SHORT_LIMIT)[0]
    if not form.blocks:
        return MessageForm(join_texts("", (text, "\n\n_", _SHORTENED, "_")))
    begun = tuple(_beginning(body))
    return MessageForm(text, (*begun, context(_SHORTENED), *below), len(begun))


def source_lines(lines: Sequence[SourceLine], now: datetime) -> list[str]:
    """Return sources as lines of mrkdwn: number, link, space and age of each."""
    return [_line(line, now) for line in lines]


def _forms(content: _Body, below: _BelowText) -> MessageForms:
    """Return every form of a message; each drops one more feature."""
    text = _body_text(content)
    body = to_mrkdwn(text)
    plainer = (*_with_body(_sections(body), body, below), _alone(body, below))
    if not text.strip():
        return plainer
    tabled = tuple(
        table_block(each) if isinstance(each, Table) else _markdown(each) for each in content
    )
    has_table = any(isinstance(each, Table) for each in content)
    with_table = _with_body(tabled, body, below) if has_table else ()
    return (*with_table, *_with_body((_markdown(text),), body, below), *plainer)


def _markdown(text: str) -> Block:
    return {"type": "markdown", "text": escaped(text)}


def _with_body(shown: tuple[Block, ...], body: str, below: _BelowText) -> Iterator[MessageForm]:
    shown_alone = body or join_texts("\n", below.sources)
    notification = split(shown_alone, _NOTIFICATION_LIMIT)[0] or _NOTHING
    pages = tuple(section(part) for part in below.sources)
    remarks = tuple(context(remark) for remark in below.remarks)
    for pressed in _pressed(below.buttons):
        footer = () if pressed or not below.footer else (context(below.footer),)
        yield MessageForm(notification, (*shown, *pages, *remarks, *footer, *pressed), len(shown))


def _pressed(buttons: ReplyButtons) -> Iterator[tuple[Block, ...]]:
    """Yield the button blocks to try, fewer each time."""
    if buttons.thumbs and buttons.row:
        yield (buttons.thumbs, buttons.row)
    if buttons.row:
        yield (buttons.row,)
    yield ()


def _beginning(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks, cut to the text of a short message; all blocks without text are kept."""
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
    """Return the text of a section or markdown block, "" for any other block."""
    text = block.get("text")
    return str(text["text"] if isinstance(text, dict) else text or "")


def _length(block: Block) -> int:
    return len(_text_of(block))


def _alone(body: str, below: _BelowText) -> MessageForm:
    footer = join_texts("", ("_", below.footer, "_")) if below.footer else ""
    parts = (body, join_texts("\n", below.sources), *below.remarks, footer)
    said = [part for part in parts if part.strip()]
    return MessageForm(join_texts("\n\n", said) if said else _NOTHING)


def _sections(body: str) -> tuple[Block, ...]:
    return tuple(section(part) for part in split(body, SECTION_LIMIT) if part.strip())


def _sources(heading: str, lines: Sequence[SourceLine], now: datetime) -> tuple[str, ...]:
    """Return the list of sources, split into pieces that fit a section."""
    if not lines:
        return ()
    listed = join_texts("\n", [bold(heading), *source_lines(lines, now)])
    return tuple(part for part in split(listed, SECTION_LIMIT) if part)


def _groups(sources: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Group the pieces by message; return at least one group."""
    starts = range(0, max(len(sources), 1), _MOST_SOURCE_SECTIONS)
    return [sources[at : at + _MOST_SOURCE_SECTIONS] for at in starts]


def _line(line: SourceLine, now: datetime) -> str:
    mark = "\u2022" if line.number is None else f"[{line.number}]"
    label = escaped_label(without_code(line.label))
    page = join_texts("", (f"<{line.url}|", label, ">")) if line.url else _inert(line.label)
    details = (page, _inert(line.space), _inert(freshness(line, now)))
    about = join_texts(", ", (part for part in details if part))
    return join_texts(" ", (mark, about))


def _inert(line: str) -> str:
    """Return a line of plain text without live markup, in whichever form it is shown."""
    return escaped_label(disarm(without_code(line)))


def _escaped_length(text: str) -> int:
    return len(escaped(text))

"""Render an outcome as Teams activities, each within Teams' size limit, with buttons; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.chat.response_view import ResponseView, activity_text, render, response_buttons
from bot.chat.votes import can_be_rated
from bot.domain.interactions import Outcome
from bot.domain.markdown import clip, outside_code, plain_code
from bot.domain.messages import Activity, InteractionId, Message
from bot.domain.texts import changed, join_texts, on_texts, tr
from bot.platforms.teams.payloads.actions import ASK_PERSON, CHOOSE_OPTION, SHOW_WHY
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.answer_blocks import (
    code_elements,
    table_elements,
    table_words,
)
from bot.platforms.teams.rendering.cards import (
    card,
    dialog_button,
    execute_button,
    text_block,
    with_card,
)
from bot.platforms.teams.rendering.labels import (
    NO_SENSITIVITY,
    Sensitivity,
    citations_of,
    is_ai_generated,
    marks_in,
    message_entity,
    page_list,
)
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    LINE_BREAK,
    largest_fitting,
    size,
    split_markdown,
    teams_markdown,
    teams_plain,
)
from rag.parts import Code, Table, parts_text


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of message text, with the card elements shown below that message."""

    text: str
    below: tuple[Json, ...] = ()


def units_of(pieces: Iterable[str | Table | Code], room: int) -> Iterator[Unit]:
    """Yield inert Markdown, tables and code in units of at most ``room`` bytes, in order.

    Line breaks are kept, which Markdown would join. The text names each table or code block in its
    place, and says what is in a table. A table that can't be split to fit becomes a list.
    """
    tables = codes = 0
    for piece in pieces:
        if isinstance(piece, str):
            yield from _prose_units(piece, room)
        elif isinstance(piece, Code):
            codes += 1
            yield from _card_units(
                tr("Code {number}", number=codes), code_elements(piece, _fits_in(room)), room
            )
        elif elements := table_elements(piece, _fits_in(room)):
            tables += 1
            yield from _card_units(
                tr("Table {number}", number=tables), elements, room, table_words(piece)
            )
        else:
            yield from _prose_units(parts_text((piece,)), room)


def _prose_units(text: str, room: int) -> Iterator[Unit]:
    kept = changed(teams_markdown(plain_code(text)), _broken_lines)
    return (Unit(part) for part in split_markdown(kept, room) if part.strip())


def _broken_lines(text: str) -> str:
    return outside_code(text, _with_line_breaks)


def _with_line_breaks(text: str) -> str:
    return LINE_BREAK.sub("  \n", text)


def _card_units(name: str, elements: Sequence[Json], room: int, words: str = "") -> Iterator[Unit]:
    for number, element in enumerate(elements, start=1):
        called = name if len(elements) == 1 else _part_name(name, number, len(elements))
        below = tr("_{name}, below_", name=called)
        said = join_texts(": ", (below, words)) if words and number == 1 else below
        first, *others = _prose_units(said, room)
        yield replace(first, below=(text_block(called, weight="Bolder"), element))
        yield from others


def _part_name(name: str, number: int, of: int) -> str:
    return tr("{name}, part {number} of {of}", name=name, number=number, of=of)


def _fits_in(room: int) -> Callable[[Json], bool]:
    return lambda element: size(element) <= room


MOST_BUTTONS = 6
"""Teams shows six buttons of a card side by side; more would be hidden in a menu."""

_LONGEST_LABEL = 75


def buttons_of(outcome: Outcome, interaction_id: InteractionId) -> tuple[Json, ...]:
    """Return the buttons below an outcome; the text lists all options of a clarification."""
    wanted = response_buttons(outcome)
    row = [
        execute_button(clip(option, _LONGEST_LABEL), CHOOSE_OPTION, interaction_id, option=number)
        for number, option in wanted.options[:MOST_BUTTONS]
    ]
    if wanted.ask_person:
        row.append(
            execute_button(wanted.ask_person, ASK_PERSON, interaction_id, first=wanted.primary)
        )
    if wanted.why:
        row.append(dialog_button(wanted.why, SHOW_WHY, interaction_id))
    return tuple(row)


_PART_MARK = 100
_UNIT_FRAME = 200
_LOOKING_UP = tr("Looking this up\u2026")
_NO_WORDS = "\u2026"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The parts around the text: labels of each message, feedback of the first, last buttons."""

    ai: bool
    usage: Json | None
    citations: Mapping[int, Json]
    feedback: bool
    buttons: tuple[Json, ...]

    def text_message(self, units: Sequence[Unit], mark: str, *, first: bool) -> Json:
        """Return the message with the text of units."""
        parts = (part for part in (mark, *(unit.text for unit in units)) if part)
        text = join_texts("\n\n", parts)
        marked = marks_in(text)
        citations = [each for number, each in self.citations.items() if number in marked]
        said: Json = {"type": "message", "text": text or _NO_WORDS, "textFormat": "markdown"}
        judged: Json = {"channelData": {"feedbackLoop": {"type": "default"}}}
        labelled = {**said, **self._label(citations)}
        return {**labelled, **judged} if first and self.feedback else labelled

    def card_message(self, units: Sequence[Unit], *, last: bool) -> Json | None:
        """Return the card message below units, with the buttons if ``last``; None if empty."""
        shown = [element for unit in units for element in unit.below]
        actions = self.buttons if last else ()
        if not (shown or actions):
            return None
        said: Json = {"type": "message", "summary": _summary(shown or actions)}
        return with_card({**said, **(self._label(()) if shown else {})}, card(shown, actions))

    def count_fitting(self, units: Sequence[Unit]) -> int:
        """Return how many of the first units fit into one message and the card message below it."""
        return largest_fitting(len(units), lambda count: self._fits(units[:count]))

    def _fits(self, units: Sequence[Unit]) -> bool:
        both = self.text_message(units, "", first=True), self.card_message(units, last=True) or {}
        return max(map(size, both)) <= CONTENT_BUDGET - _PART_MARK

    def unit_limit(self) -> int:
        """Return the size limit of one unit in bytes, whatever it cites."""
        marks = "".join(f"[{number}]" for number in self.citations)
        around = [Unit(marks, ({},))]
        both = self.text_message(around, "", first=True), self.card_message(around, last=True) or {}
        return CONTENT_BUDGET - _PART_MARK - _UNIT_FRAME - max(map(size, both))

    def _label(self, citations: Sequence[Json]) -> Json:
        entity = message_entity(ai=self.ai, usage=self.usage, citations=citations)
        return {"entities": [entity]} if entity else {}


def _summary(shown: Sequence[Json]) -> str:
    """Return the text shown instead of a card, such as in notifications: the names of its parts."""
    named = (each.get("text") or each.get("title") for each in shown)
    return join_texts(", ", (str(name) for name in named if name))


def answer_activities(
    outcome: Outcome,
    message: Message,
    *,
    now: datetime,
    sensitivity: Sensitivity = NO_SENSITIVITY,
    opening: str = "",
    pressed: bool = True,
) -> tuple[Json, ...]:
    """Return the activities that show the response of an outcome, in order.

    Pages that the text marks become citations; other pages, and those beyond Teams' limit, are
    listed. The text is one message if it fits; several are numbered, so that a repeated one can be
    recognised. Tables and code are in a card message below the text that names them, and the last
    card has the buttons: Teams splits text with a card into two messages, returns the id of
    neither, and refuses to edit text into both (BadSyntax). The first message has feedback buttons
    if the outcome can be rated. Without ``pressed`` there are neither buttons nor feedback, and no
    footer that asks for a reply. ``opening`` is Markdown from our code, shown first.
    """
    rendered = render(outcome.response, private=message.private, remarks=outcome.remarks)
    if not pressed:
        rendered = replace(rendered, footer="")
    buttons = buttons_of(outcome, message.interaction_id) if pressed else ()
    pieces = tuple(rendered.text_and_blocks(Table, Code))
    marked = frozenset().union(*(marks_in(each) for each in pieces if isinstance(each, str)))
    citations = citations_of(rendered.lines, marked, now)
    frame = _Frame(
        ai=is_ai_generated(outcome),
        usage=sensitivity.usage(outcome.response),
        citations=citations,
        feedback=pressed and can_be_rated(outcome),
        buttons=buttons,
    )
    below = _pages_and_remarks(rendered, citations, now)
    room = frame.unit_limit()
    units = [
        *_text_units(opening, room),
        *units_of(pieces, room),
        *_text_units(below, room),
    ]
    return tuple(_messages_of(frame, list(_units_by_message(frame, units)) or [()]))


def progress_message(activity: Activity | None = None) -> Json:
    """Return the placeholder shown before an answer, with the current activity."""
    words = activity_text(activity) if activity else ""
    text = _begun(words) if words else _LOOKING_UP
    return {"type": "message", "text": text, "textFormat": "plain"}


@on_texts
def _begun(words: str) -> str:
    """Return what follows the bot's name as a sentence of its own."""
    alone = words.removeprefix("is ")
    return alone[:1].upper() + alone[1:]


def typing_activity() -> Json:
    """Return the typing indicator."""
    return {"type": "typing"}


def part_mark(number: int, of: int) -> str:
    """Return the line above one of several messages."""
    return tr("_({number} of {of})_", number=number, of=of)


def _messages_of(frame: _Frame, parts: Sequence[Sequence[Unit]]) -> Iterator[Json]:
    of = len(parts)
    for number, part in enumerate(parts, start=1):
        yield frame.text_message(part, part_mark(number, of) if of > 1 else "", first=number == 1)
        below = frame.card_message(part, last=number == of)
        if below is not None:
            yield below


def _units_by_message(frame: _Frame, units: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    left = units
    while left:
        count = frame.count_fitting(left)
        yield left[:count]
        left = left[count:]


def _pages_and_remarks(rendered: ResponseView, citations: Mapping[int, Json], now: datetime) -> str:
    """Return the text below the answer: other pages, and remarks.

    It does not mention how to ask a person, as that is a button.
    """
    others = [line for line in rendered.lines if line.number not in citations]
    remarks = map(teams_plain, rendered.remarks)
    parts = (page_list(rendered.heading, others, now), *remarks)
    return join_texts("\n\n", (part for part in parts if part))


def _text_units(text: str, room: int) -> Iterator[Unit]:
    return (Unit(part) for part in split_markdown(text, room) if part)

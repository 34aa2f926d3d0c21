"""An outcome as Teams activities: pure JSON, each within what Teams takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.adapters.teams.showing.buttons import buttons_of
from bot.adapters.teams.showing.citations import cited, listed, marks_in
from bot.adapters.teams.showing.cutting import cut
from bot.adapters.teams.showing.elements import card, with_card
from bot.adapters.teams.showing.labels import composed, label
from bot.adapters.teams.showing.sensitivity import UNMARKED, Sensitivity
from bot.adapters.teams.showing.sizes import ROOM, most, size
from bot.adapters.teams.showing.units import Unit, marked_in, units_of
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_plain
from bot.chat.response_view import ResponseView, activity_text, render
from bot.chat.votes import can_be_rated
from bot.domain.text.markdown import plain_code
from bot.domain.types import Activity, Message, Outcome

_PART_MARK = 100
_UNIT_FRAME = 200
_LOOKING = "Looking this up\u2026"
_NOTHING = "\u2026"


@dataclass(frozen=True, slots=True)
class _Frame:
    """What is around the words of every message, of the first, and below the last."""

    ai: bool
    usage: Json | None
    citations: Mapping[int, Json]
    feedback: bool
    buttons: tuple[Json, ...]

    def words(self, units: Sequence[Unit], mark: str, *, first: bool) -> Json:
        """Return the message that says what units say."""
        text = "\n\n".join(part for part in (mark, *(unit.text for unit in units)) if part)
        marked = marks_in(text)
        citations = [each for number, each in self.citations.items() if number in marked]
        said: Json = {"type": "message", "text": text or _NOTHING, "textFormat": "markdown"}
        judged: Json = {"channelData": {"feedbackLoop": {"type": "default"}}}
        labelled = {**said, **self._label(citations)}
        return {**labelled, **judged} if first and self.feedback else labelled

    def below(self, units: Sequence[Unit], *, last: bool) -> Json | None:
        """Return the message with what hangs below units, and the buttons; None for nothing."""
        shown = [element for unit in units for element in unit.below]
        actions = self.buttons if last else ()
        if not (shown or actions):
            return None
        said: Json = {"type": "message", "summary": _summary(shown or actions)}
        return with_card({**said, **(self._label(()) if shown else {})}, card(shown, actions))

    def most(self, units: Sequence[Unit]) -> int:
        """Return how many of the first units go into one message and what hangs below it."""
        return most(len(units), lambda count: self._fits(units[:count]))

    def _fits(self, units: Sequence[Unit]) -> bool:
        both = self.words(units, "", first=True), self.below(units, last=True) or {}
        return max(map(size, both)) <= ROOM - _PART_MARK

    def room(self) -> int:
        """Return the bytes that one unit may have, whatever it cites."""
        marks = "".join(f"[{number}]" for number in self.citations)
        around = [Unit(marks, ({},))]
        both = self.words(around, "", first=True), self.below(around, last=True) or {}
        return ROOM - _PART_MARK - _UNIT_FRAME - max(map(size, both))

    def _label(self, citations: Sequence[Json]) -> Json:
        entity = label(ai=self.ai, usage=self.usage, citations=citations)
        return {"entities": [entity]} if entity else {}


def _summary(shown: Sequence[Json]) -> str:
    """Return what stands for a card where none is shown: what is in it, by name."""
    named = (each.get("text") or each.get("title") for each in shown)
    return ", ".join(str(name) for name in named if name)


def answer_activities(
    outcome: Outcome,
    message: Message,
    *,
    now: datetime,
    sensitivity: Sensitivity = UNMARKED,
    opening: str = "",
    pressed: bool = True,
) -> tuple[Json, ...]:
    """Return the activities that show the response of an outcome, in order.

    What the text marks becomes citations; other pages, and those beyond what Teams takes, are
    listed. The text is one message wherever that fits; several say which of how many they are, so
    that one that is repeated can be told from one that is new. Tables and code are in a message
    below the text that names them, and the last such has the buttons: Teams makes two messages of
    words with a card, tells no id of either, and refuses to edit words into both (BadSyntax). The
    first asks for a judgement of what can be judged.
    What is not ``pressed`` has neither, and no footer that asks for a reply. ``opening`` is
    Markdown that code wrote, shown first.
    """
    rendered = render(outcome.response, private=message.private, remarks=outcome.remarks)
    if not pressed:
        rendered = replace(rendered, footer="")
    buttons = buttons_of(outcome, message.interaction_id) if pressed else ()
    text = plain_code(rendered.text)
    citations = cited(rendered.lines, marked_in(text), now)
    frame = _Frame(
        ai=composed(outcome),
        usage=sensitivity.usage(outcome.response),
        citations=citations,
        feedback=pressed and can_be_rated(outcome),
        buttons=buttons,
    )
    below = _below(rendered, citations, now)
    room = frame.room()
    units = [*_cut(opening, room), *units_of(text, citations, room), *_cut(below, room)]
    return _activities(frame, units)


def waiting(activity: Activity | None = None) -> Json:
    """Return what is shown until there is an answer, and what is being done meanwhile."""
    words = activity_text(activity) if activity else ""
    text = words.removeprefix("is ").capitalize() or _LOOKING
    return {"type": "message", "text": text, "textFormat": "plain"}


def typing() -> Json:
    """Return what shows that the bot is at work."""
    return {"type": "typing"}


def _activities(frame: _Frame, units: Sequence[Unit]) -> tuple[Json, ...]:
    parts = list(_packed(frame, units)) or [()]
    return tuple(_shown(frame, parts))


def _shown(frame: _Frame, parts: Sequence[Sequence[Unit]]) -> Iterator[Json]:
    of = len(parts)
    for number, part in enumerate(parts, start=1):
        yield frame.words(part, f"_({number} of {of})_" if of > 1 else "", first=number == 1)
        below = frame.below(part, last=number == of)
        if below is not None:
            yield below


def _packed(frame: _Frame, units: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    left = units
    while left:
        count = frame.most(left)
        yield left[:count]
        left = left[count:]


def _below(rendered: ResponseView, citations: Mapping[int, Json], now: datetime) -> str:
    """Return what stands below the text: other pages, and remarks.

    The way to a person is a button, so that no words need to say it.
    """
    others = [line for line in rendered.lines if line.number not in citations]
    remarks = map(teams_plain, rendered.remarks)
    parts = (listed(rendered.heading, others, now), *remarks)
    return "\n\n".join(part for part in parts if part)


def _cut(text: str, room: int) -> Iterator[Unit]:
    return (Unit(part) for part in cut(text, room) if part)

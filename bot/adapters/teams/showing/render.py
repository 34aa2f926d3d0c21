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
from bot.adapters.teams.showing.sizes import ROOM, size
from bot.adapters.teams.showing.units import Unit, marked_in, units_of
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_plain
from bot.judging import can_be_judged
from bot.rendering.code import plain_code
from bot.rendering.rendering import Rendered, doing, render
from bot.types import Activity, Message, Outcome

_PART_MARK = 100
_UNIT_FRAME = 200
_LOOKING = "Looking this up\u2026"
_NOTHING = "\u2026"


@dataclass(frozen=True, slots=True)
class _Frame:
    """What is around the words of every activity, of the first, and of the last."""

    ai: bool
    usage: Json | None
    citations: Mapping[int, Json]
    feedback: bool
    buttons: tuple[Json, ...]

    def activity(self, units: Sequence[Unit], mark: str, *, first: bool, last: bool) -> Json:
        text = "\n\n".join(part for part in (mark, *(unit.text for unit in units)) if part)
        marked = marks_in(text)
        citations = [each for number, each in self.citations.items() if number in marked]
        entity = label(ai=self.ai, usage=self.usage, citations=citations)
        said: Json = {"type": "message", "text": text or _NOTHING, "textFormat": "markdown"}
        labelled: Json = {"entities": [entity]} if entity else {}
        judged: Json = {"channelData": {"feedbackLoop": {"type": "default"}}}
        whole = {**said, **labelled, **(judged if first and self.feedback else {})}
        below = [element for unit in units for element in unit.below]
        actions = self.buttons if last else ()
        return with_card(whole, card(below, actions)) if below or actions else whole

    def fits(self, units: Sequence[Unit]) -> bool:
        return size(self.activity(units, "", first=True, last=True)) <= ROOM - _PART_MARK

    def room(self) -> int:
        """Return the bytes that one unit may have, whatever it cites."""
        marks = "".join(f"[{number}]" for number in self.citations)
        around = self.activity([Unit(marks, ({},))], "", first=True, last=True)
        return ROOM - _PART_MARK - _UNIT_FRAME - size(around)


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
    listed. Tables and code hang below the text that names them. It is one activity wherever that
    fits; several say which of how many they are, so that one that is repeated can be told from one
    that is new. The first asks for a judgement of what can be judged, the last has the buttons.
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
        feedback=pressed and can_be_judged(outcome),
        buttons=buttons,
    )
    below = _below(rendered, citations, now)
    room = frame.room()
    units = [*_cut(opening, room), *units_of(text, citations, room), *_cut(below, room)]
    return _activities(frame, units)


def waiting(activity: Activity | None = None) -> Json:
    """Return what is shown until there is an answer, and what is being done meanwhile."""
    words = doing(activity) if activity else ""
    text = words.removeprefix("is ").capitalize() or _LOOKING
    return {"type": "message", "text": text, "textFormat": "plain"}


def typing() -> Json:
    """Return what shows that the bot is at work."""
    return {"type": "typing"}


def _activities(frame: _Frame, units: Sequence[Unit]) -> tuple[Json, ...]:
    parts = list(_packed(frame, units))
    of = len(parts)
    return tuple(
        frame.activity(
            part, f"_({number} of {of})_" if of > 1 else "", first=number == 1, last=number == of
        )
        for number, part in enumerate(parts, start=1)
    )


def _packed(frame: _Frame, units: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    part: list[Unit] = []
    for unit in units:
        if part and not frame.fits([*part, unit]):
            yield part
            part = []
        part.append(unit)
    yield part


def _below(rendered: Rendered, citations: Mapping[int, Json], now: datetime) -> str:
    """Return what stands below the text: other pages, and remarks.

    The way to a person is a button, so that no words need to say it.
    """
    others = [line for line in rendered.lines if line.number not in citations]
    remarks = map(teams_plain, rendered.remarks)
    parts = (listed(rendered.heading, others, now), *remarks)
    return "\n\n".join(part for part in parts if part)


def _cut(text: str, room: int) -> Iterator[Unit]:
    return (Unit(part) for part in cut(text, room) if part)

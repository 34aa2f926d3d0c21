"""An outcome as Teams activities: pure JSON, each within what Teams takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_label, teams_markdown
from bot.rendering.markdown import clip, split
from bot.rendering.rendering import Rendered, SourceLine, doing
from bot.types import Activity

BUDGET = 25_000
"""Bytes of a whole activity as UTF-16; Teams refuses more, and counts more than it says."""

_ENVELOPE = 5_000
"""Bytes kept for addresses and labels."""

_PART_MARK = 100
_CITATIONS_BUDGET = 8_000
_MOST_CITATIONS = 10
_NAME_LENGTH = 80
_ABSTRACT_LENGTH = 160
_LOOKING = "Looking this up\u2026"
_MARK = re.compile(r"\[(\d{1,3})\]")


def size(value: object) -> int:
    """Return the bytes of a value as JSON in UTF-16."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass"))


def activities(rendered: Rendered, *, feedback: bool) -> tuple[Json, ...]:
    """Return the activities that show a response, in order.

    What the text marks becomes citations; other pages, and those beyond what Teams takes, are
    listed. It is one activity wherever that fits; several say which of how many they are, so that
    one that is repeated can be told from one that is new. ``feedback`` asks for a judgement below
    the first.
    """
    text = teams_markdown(rendered.text)
    cited = _cited(rendered.lines, text)
    listed = [line for line in rendered.lines if line.number not in cited]
    pages = _list(rendered.heading, listed)
    remarks = "\n\n".join(teams_label(remark) for remark in rendered.remarks)
    whole = "\n\n".join(part for part in (text, pages, remarks, _italic(rendered.footer)) if part)
    room = BUDGET - _ENVELOPE - size([*cited.values()])
    parts = split(whole, room - _PART_MARK, size)
    return tuple(
        _activity(_part(part, n, len(parts)), cited, feedback=feedback and n == 1)
        for n, part in enumerate(parts, start=1)
    )


def waiting(activity: Activity | None = None) -> Json:
    """Return what is shown until there is an answer, and what is being done meanwhile."""
    words = doing(activity) if activity else ""
    text = words.removeprefix("is ").capitalize() or _LOOKING
    return {"type": "message", "text": text, "textFormat": "plain"}


def typing() -> Json:
    """Return what shows that the bot is at work."""
    return {"type": "typing"}


def _part(text: str, number: int, of: int) -> str:
    return text if of == 1 else f"_({number} of {of})_\n\n{text}"


def _activity(text: str, cited: Mapping[int, Json], *, feedback: bool) -> Json:
    marked = {int(number) for number in _MARK.findall(text)}
    entity = {
        "type": "https://schema.org/Message",
        "@type": "Message",
        "@context": "https://schema.org",
        "@id": "",
        "additionalType": ["AIGeneratedContent"],
    }
    citations = [citation for number, citation in cited.items() if number in marked]
    activity = {
        "type": "message",
        "text": text,
        "textFormat": "markdown",
        "entities": [{**entity, "citation": citations} if citations else entity],
    }
    feedback_loop = {"channelData": {"feedbackLoop": {"type": "default"}}}
    return {**activity, **feedback_loop} if feedback else activity


def _cited(lines: Sequence[SourceLine], text: str) -> Mapping[int, Json]:
    """Return citations by number, for the marks in the text, as many as Teams takes."""
    marked = {int(number) for number in _MARK.findall(text)}
    cited: dict[int, Json] = {}
    for line in lines:
        if line.number in marked and line.number is not None:
            citation = _citation(line.number, line)
            if (
                len(cited) < _MOST_CITATIONS
                and size([*cited.values(), citation]) < _CITATIONS_BUDGET
            ):
                cited[line.number] = citation
    return cited


def _citation(number: int, line: SourceLine) -> Json:
    name = clip(line.label, _NAME_LENGTH)
    appearance = {
        "@type": "DigitalDocument",
        "name": name,
        "abstract": clip(line.quote, _ABSTRACT_LENGTH) or name,
    }
    linked = {**appearance, "url": line.url} if line.url else appearance
    return {"@type": "Claim", "position": number, "appearance": linked}


def _list(heading: str, lines: Sequence[SourceLine]) -> str:
    if not lines:
        return ""
    return "\n".join([f"**{heading}**", "", *(_line(line) for line in lines)])


def _line(line: SourceLine) -> str:
    mark = "-" if line.number is None else f"{line.number}."
    label = teams_label(line.label)
    return f"{mark} [{label}]({line.url})" if line.url else f"{mark} {label}"


def _italic(footer: str) -> str:
    return f"_{footer}_" if footer else ""

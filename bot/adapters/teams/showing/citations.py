"""Pages that stand behind an answer: cited by Teams' own means, or listed below it; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from bot.adapters.teams.showing.sizes import size
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_label, teams_plain
from bot.answering.reply_text import tables_as_text
from bot.chat.response_view import SourceLine
from bot.domain.text.formatting import freshness, superseded_text, updated_text
from bot.domain.text.markdown import clip

_MOST = 10
_BUDGET = 8_000
_NAME_LENGTH = 80
_ABSTRACT_LENGTH = 160
_KEYWORD_LENGTH = 28
_MARK = re.compile(r"\[(\d{1,3})\]")


def marks_in(text: str) -> frozenset[int]:
    """Return the numbers that a text marks."""
    return frozenset(int(number) for number in _MARK.findall(text))


def cited(
    lines: Sequence[SourceLine], marked: Collection[int], now: datetime
) -> Mapping[int, Json]:
    """Return citations by number, for what is marked, as many as Teams takes.

    It opens https alone: a page that has another address is none of them.
    """
    citations: dict[int, Json] = {}
    for line in lines:
        if line.number not in marked or line.number is None or _opens_otherwise(line):
            continue
        citation = _citation(line.number, line, now)
        if len(citations) < _MOST and size([*citations.values(), citation]) < _BUDGET:
            citations[line.number] = citation
    return citations


def listed(heading: str, lines: Sequence[SourceLine], now: datetime) -> str:
    """Return pages as a list; "" for none. Numbers read as the marks do."""
    if not lines:
        return ""
    return "\n".join([f"**{heading}**", "", *(_line(line, now) for line in lines)])


def _opens_otherwise(line: SourceLine) -> bool:
    return line.url is not None and not line.url.casefold().startswith("https:")


def _citation(number: int, line: SourceLine, now: datetime) -> Json:
    name = clip(line.label, _NAME_LENGTH)
    abstract = _abstract(line) or name
    who = f"by {line.updated_by}" if line.updated_at and line.updated_by else ""
    words = (
        line.space,
        updated_text(line.updated_at, now),
        superseded_text(line.superseded) or who,
    )
    keywords = [clip(word, _KEYWORD_LENGTH) for word in words if word]
    appearance = {"@type": "DigitalDocument", "name": name, "abstract": abstract}
    opened: Json = {"url": line.url} if line.url else {}
    told: Json = {"keywords": keywords} if keywords else {}
    return {"@type": "Claim", "position": number, "appearance": {**appearance, **opened, **told}}


def _abstract(line: SourceLine) -> str:
    """Return the quote in short; where that would cut off the line that answers, from there on."""
    short = clip(tables_as_text(line.quote), _ABSTRACT_LENGTH)
    answering = clip(tables_as_text(line.line), _ABSTRACT_LENGTH)
    if answering.rstrip("\u2026") in short or line.line not in line.quote:
        return short
    return clip(tables_as_text(line.quote[line.quote.index(line.line) :]), _ABSTRACT_LENGTH)


def _line(line: SourceLine, now: datetime) -> str:
    mark = "- " if line.number is None else f"- \\[{line.number}\\] "
    page = f"[{teams_label(line.label)}]({line.url})" if line.url else teams_plain(line.label)
    about = (page, teams_plain(line.space), teams_plain(freshness(line, now)))
    return mark + ", ".join(part for part in about if part)

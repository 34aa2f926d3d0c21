"""Label an answer for Teams: citations, sensitivity, and AI-generated; pure.

Teams accepts one schema.org entity per activity for all three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.chat.response_view import SourceLine
from bot.domain.errors import SettingInvalid
from bot.domain.formatting import freshness, superseded_text, updated_text
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response
from bot.domain.markdown import clip
from bot.domain.texts import join_texts, tr
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.text import size, teams_label, teams_plain
from rag.parts import CELL_JOINT
from rag.types import ANSWER_SOURCE

_MOST_CITATIONS = 10
_CITATION_BYTES = 8_000
_NAME_LENGTH = 80
_ABSTRACT_LENGTH = 160
_KEYWORD_LENGTH = 28
_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|[\s|:-]+\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_CITATION_MARK = re.compile(r"\[(\d{1,3})\]")


def marks_in(text: str) -> frozenset[int]:
    """Return the citation numbers marked in a text."""
    return frozenset(int(number) for number in _CITATION_MARK.findall(text))


def citations_of(
    lines: Sequence[SourceLine], marked: Collection[int], now: datetime
) -> Mapping[int, Json]:
    """Return citations by number for the marked sources, at most as many as Teams accepts.

    Teams opens https only: sources with another URL are left out.
    """
    citations: dict[int, Json] = {}
    for line in lines:
        if line.number not in marked or line.number is None or _opens_otherwise(line):
            continue
        citation = _citation(line.number, line, now)
        if (
            len(citations) < _MOST_CITATIONS
            and size([*citations.values(), citation]) < _CITATION_BYTES
        ):
            citations[line.number] = citation
    return citations


def page_list(
    heading: str,
    lines: Sequence[SourceLine],
    now: datetime,
    *,
    label: Callable[[str], str] = teams_label,
    plain: Callable[[str], str] = teams_plain,
) -> str:
    """Return a list of pages; "" for none. Numbers have the form of the marks in the text.

    ``label`` and ``plain`` return plain text as it is shown in a link, and elsewhere.
    """
    if not lines:
        return ""
    bold = join_texts("", ("**", heading, "**"))
    return join_texts("\n", [bold, "", *(_page_line(each, now, label, plain) for each in lines)])


def _opens_otherwise(line: SourceLine) -> bool:
    return line.url is not None and not line.url.casefold().startswith("https:")


def _citation(number: int, line: SourceLine, now: datetime) -> Json:
    name = clip(line.label, _NAME_LENGTH)
    abstract = _abstract(line) or name
    who = tr("by {who}", who=line.updated_by) if line.updated_at and line.updated_by else ""
    words = (
        line.space,
        updated_text(line.updated_at, now) if line.source_type != ANSWER_SOURCE else "",
        superseded_text(line.superseded) or who,
    )
    keywords = [clip(word, _KEYWORD_LENGTH) for word in words if word]
    appearance = {"@type": "DigitalDocument", "name": name, "abstract": abstract}
    opened: Json = {"url": line.url} if line.url else {}
    told: Json = {"keywords": keywords} if keywords else {}
    return {"@type": "Claim", "position": number, "appearance": {**appearance, **opened, **told}}


def _plain_rows(quote: str) -> str:
    """Return a stored quote with the rows of its tables as text."""
    lines = (line for line in quote.splitlines() if not _TABLE_RULE.match(line))
    rows = ((line, _TABLE_ROW.match(line)) for line in lines)
    return "\n".join(
        CELL_JOINT.join(map(str.strip, _BAR.split(row[1]))).replace("\\|", "|") if row else line
        for line, row in rows
    )


def _abstract(line: SourceLine) -> str:
    """Return the shortened quote; it starts at the answering line if that would be cut off."""
    short = clip(_plain_rows(line.quote), _ABSTRACT_LENGTH)
    answering = clip(_plain_rows(line.line), _ABSTRACT_LENGTH)
    if answering.rstrip("\u2026") in short or line.line not in line.quote:
        return short
    return clip(_plain_rows(line.quote[line.quote.index(line.line) :]), _ABSTRACT_LENGTH)


def _page_line(
    line: SourceLine, now: datetime, label: Callable[[str], str], plain: Callable[[str], str]
) -> str:
    mark = "- " if line.number is None else f"- \\[{line.number}\\] "
    page = f"[{label(line.label)}]({line.url})" if line.url else plain(line.label)
    about = (page, plain(line.space), plain(freshness(line, now)))
    return join_texts("", (mark, join_texts(", ", (part for part in about if part))))


_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Labels of pages in lower case, each with the name shown in Teams; most sensitive first."""

    marks: tuple[tuple[str, str], ...] = ()

    def usage(self, response: Response) -> Json | None:
        """Return the ``usageInfo`` of a response; None if none of its pages has a label.

        All pages count, cited, listed or suggested; the most sensitive label is used.
        """
        pages = response.sources if isinstance(response, Reply) else response.suggestions
        labels = {label.casefold() for page in pages for label in page.labels}
        found = (shown for label, shown in self.marks if label in labels)
        name = next(found, None)
        return None if name is None else {"@type": "CreativeWork", "name": name}


NO_SENSITIVITY = Sensitivity()


def sensitivity_of(given: Sequence[str]) -> Sensitivity:
    """Parse the entries of TEAMS_SENSITIVITY. Raises SettingInvalid."""
    marks = tuple(_parsed_label(each) for each in given)
    labels = [label for label, _ in marks]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise SettingInvalid(
            f"TEAMS_SENSITIVITY names the label {twice!r} twice. Leave one of them, where it "
            "belongs: the most sensitive comes first."
        )
    return Sensitivity(marks)


def _parsed_label(given: str) -> tuple[str, str]:
    label, _, name = (part.strip() for part in given.partition("="))
    if not (label and name) or len(name) > _LONGEST_NAME:
        raise SettingInvalid(
            f"TEAMS_SENSITIVITY has {given!r}, which is not LABEL=Words of at most "
            f"{_LONGEST_NAME} characters. Write for example: confidential=Confidential, "
            "internal=Internal only."
        )
    return label.casefold(), name


_GENERIC_PURPOSE = "generic"
"""Purpose of the prompt for replies that no page supports."""


def is_ai_generated(outcome: Outcome) -> bool:
    """Return whether a model wrote a response, or the index quoted it, instead of our code.

    Suggested pages, listed below our own text, do not make a response AI-generated.
    """
    match outcome.response:
        case Reply(refused=True) | Clarification() | Escalation():
            return False
        case Reply(tone="generic"):
            return any(call.purpose == _GENERIC_PURPOSE for call in outcome.trace.calls)
        case Reply():
            return True


def message_entity(*, ai: bool, usage: Json | None, citations: Sequence[Json]) -> Json | None:
    """Return the entity of an activity; None if it would be empty. Only one is allowed."""
    if not (ai or usage or citations):
        return None
    entity: Json = {
        "type": "https://schema.org/Message",
        "@type": "Message",
        "@context": "https://schema.org",
        "@id": "",
    }
    made: Json = {"additionalType": ["AIGeneratedContent"]} if ai else {}
    sensitive: Json = {"usageInfo": usage} if usage else {}
    cited: Json = {"citation": list(citations)} if citations else {}
    return {**entity, **made, **sensitive, **cited}

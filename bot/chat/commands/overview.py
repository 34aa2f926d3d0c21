"""What concerns one person: their cases, what they may ask, how fresh it is.

A neutral view, as lines of text; Slack's Home tab and the web page render the same view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.chat.commands.command_texts import age_text, space_lines
from bot.domain.texts import join_texts, tr, trn
from bot.escalations.own_cases import MOST_CASES, CaseLine, OwnCases
from ingestion.library import Space

NOT_READ_ALONE = tr("Others can read this. Please ask me in a direct message.")

NO_CASES = tr("None of your questions is with a person.")

OPEN_TITLE = tr("Your open questions")
SETTLED_TITLE = tr("Your closed questions")
CLAIMED_TITLE = tr("Questions assigned to you")
CHANNELS_TITLE = tr("Channels with their own settings")


@dataclass(frozen=True, slots=True)
class Overview:
    """A person's cases, the spaces they may ask, and for admins the channels with settings.

    ``channels`` are ``platform:channel``, empty for everybody but admins.
    """

    cases: OwnCases
    spaces: tuple[Space, ...] = ()
    channels: tuple[str, ...] = ()

    @property
    def lists(self) -> Sequence[tuple[str, Sequence[CaseLine]]]:
        """The lists of cases that are not empty, each with its title."""
        found = (
            (OPEN_TITLE, self.cases.open),
            (CLAIMED_TITLE, self.cases.claimed),
            (SETTLED_TITLE, self.cases.settled),
        )
        return [(title, lines) for title, lines in found if lines]


def waiting_text(waiting: int) -> str:
    """Return how many cases nobody has; more than MOST_CASES are not counted."""
    if waiting >= MOST_CASES:
        return tr("{count} or more questions are waiting.", count=MOST_CASES)
    return trn("{n} question is waiting.", "{n} questions are waiting.", waiting)


def status_line(line: CaseLine, now: datetime) -> str:
    """Return the state of a case and since when."""
    return join_texts(", ", (line.status, age_text(line.since, now)))


def overview_text(overview: Overview, now: datetime) -> str:
    """Return an overview as lines of plain text."""
    return join_texts("\n", _lines(overview, now))


def _lines(overview: Overview, now: datetime) -> Iterator[str]:
    if not overview.lists:
        yield NO_CASES
    for title, cases in overview.lists:
        yield join_texts("", (title, ":"))
        for each in cases:
            link = f" {each.link}" if each.link else ""
            status = status_line(each, now)
            yield join_texts("", ("- ", each.question, " (", status, ")", link))
    if overview.cases.waiting is not None:
        yield waiting_text(overview.cases.waiting)
    yield from space_lines(overview.spaces, now)
    if overview.channels:
        yield join_texts(": ", (CHANNELS_TITLE, ", ".join(overview.channels)))

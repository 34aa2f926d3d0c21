"""How sensitive an answer is, by the labels of its pages: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.adapters.teams.wire.body import Json
from bot.domain.errors import SettingInvalid
from bot.domain.types import Reply, Response, Source

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Labels of pages in small letters, each with what Teams shows; the most sensitive first."""

    marks: tuple[tuple[str, str], ...] = ()

    def usage(self, response: Response) -> Json | None:
        """Return the ``usageInfo`` of a response, None where none of its pages is marked.

        Every page counts, cited, listed, or offered unconfirmed; the most sensitive one wins.
        """
        labels = {label.casefold() for source in _pages(response) for label in source.labels}
        found = (shown for label, shown in self.marks if label in labels)
        name = next(found, None)
        return None if name is None else {"@type": "CreativeWork", "name": name}


UNMARKED = Sensitivity()


def sensitivity_of(given: Sequence[str]) -> Sensitivity:
    """Read TEAMS_SENSITIVITY, split at its commas. Raises SettingInvalid."""
    marks = tuple(_mark(each) for each in given)
    labels = [label for label, _ in marks]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise SettingInvalid(
            f"TEAMS_SENSITIVITY names the label {twice!r} twice. Leave one of them, where it "
            "belongs: the most sensitive comes first."
        )
    return Sensitivity(marks)


def _mark(given: str) -> tuple[str, str]:
    label, _, name = (part.strip() for part in given.partition("="))
    if not (label and name) or len(name) > _LONGEST_NAME:
        raise SettingInvalid(
            f"TEAMS_SENSITIVITY has {given!r}, which is not LABEL=Words of at most "
            f"{_LONGEST_NAME} characters. Write for example: confidential=Confidential, "
            "internal=Internal only."
        )
    return label.casefold(), name


def _pages(response: Response) -> Sequence[Source]:
    return response.sources if isinstance(response, Reply) else response.suggestions

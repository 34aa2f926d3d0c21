"""What a run of many companies tried: where nothing was shown, nothing could have been seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.sweeps.permissions.company import COLLEAGUES, PLACES

WHOLE = 1_000
"""From so many cases on everything must have been tried, in the cases of one process together."""


@dataclass
class Tried:
    """What was tried at one door: the web, Slack or Teams.

    ``views`` could be opened, ``readers`` were shown a page that they may read, ``places`` are
    those of marks that stood in a page which is not for everybody, and was shown to who may read
    it. ``seen_more`` are the conversations that an expert saw more of, ``saving`` the cases where
    answers are saved, ``saved`` the saved answers given.
    """

    door: str
    cases: int = 0
    saving: int = 0
    saved: int = 0
    seen_more: int = 0
    views: set[str] = field(default_factory=set)
    readers: set[str | None] = field(default_factory=set)
    places: set[str] = field(default_factory=set)

    def missing(
        self, views: frozenset[str] = frozenset(), unseen: frozenset[str] = frozenset()
    ) -> list[str]:
        """Return in words what was never tried.

        ``views`` have to be opened; ``unseen`` are places that this door shows to nobody.
        """
        seen = self.places | unseen
        lacks = [f"nobody opened {view}" for view in sorted(views - self.views)]
        lacks += [f"nothing was shown to {name}" for name in COLLEAGUES if name not in self.readers]
        lacks += [f"no {place} of a restricted page" for place in PLACES if place not in seen]
        lacks += ["no saved answer was given"] if self.saving >= WHOLE and not self.saved else []
        return [f"{self.door}: {each}" for each in lacks] if self.cases >= WHOLE else []

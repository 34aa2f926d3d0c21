"""How far a space was read: when the site was asked, and what was seen just before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from ingestion.confluence.types import PageHead, WikiSpace

OVERLAP = timedelta(minutes=10)
"""What a site's index may lag, and clocks may differ: so much is asked for twice."""

_MOST_SEEN = 1000


class _Written(BaseModel):
    asked_at: datetime
    space: tuple[str, str, str, str]
    seen: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watermark:
    """What ``changes`` needs of the time before.

    ``seen`` are the versions that were read of pages which the next question's overlap shows
    again; equal versions need no second look.
    """

    asked_at: datetime
    space: WikiSpace
    seen: Mapping[str, int]

    @property
    def since(self) -> datetime:
        return self.asked_at - OVERLAP

    @classmethod
    def after(cls, asked_at: datetime, space: WikiSpace, heads: Iterable[PageHead]) -> Self:
        """Return the mark of a look that was asked for at a moment of the site's time."""
        late = [head for head in heads if head.updated_at >= asked_at - OVERLAP]
        late.sort(key=lambda head: head.updated_at, reverse=True)
        return cls(asked_at, space, {head.id: head.version for head in late[:_MOST_SEEN]})

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return what was written; None for what is no watermark of Confluence."""
        try:
            read = _Written.model_validate_json(text)
        except ValidationError:
            return None
        if read.asked_at.tzinfo is None:
            return None
        return cls(read.asked_at, WikiSpace(*read.space), read.seen)

    def __str__(self) -> str:
        place = (self.space.id, self.space.key, self.space.name, self.space.url)
        written = _Written(asked_at=self.asked_at, space=place, seen=dict(self.seen))
        return written.model_dump_json()

"""What was done to the servers and when, by the clock of the one who does it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened, ``at`` seconds after the beginning; a fault or its consequence."""

    at: float
    what: str
    fault: bool


@dataclass(slots=True)
class Timeline:
    """Begins when it is made; entries come in order."""

    entries: list[Entry] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._began

    def note(self, what: str, *, fault: bool = False) -> None:
        """Add what has just happened."""
        self.entries.append(Entry(self.now(), what, fault))

    @property
    def last_fault(self) -> float | None:
        """When the last fault came, None when there was none."""
        return max((entry.at for entry in self.entries if entry.fault), default=None)

    def lines(self) -> list[str]:
        """Return it for reading."""
        return [
            f"{entry.at:8.2f}  {'!' if entry.fault else ' '} {entry.what}" for entry in self.entries
        ]

"""What the bot answered to what Slack sent it, and the ways by which Slack sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An answer: its HTTP status, 0 when none came in time, its text, and the seconds it took.

    Over a socket an acknowledgement has status 200.
    """

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> Json:
        """The answer as an object, empty when it is none."""
        if not self.text.startswith("{"):
            return {}
        return dict(json.loads(self.text))


class Door(Protocol):
    """A way into the bot."""

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        """Send an event; ``attempt`` counts how often it was sent before."""
        ...

    async def interact(self, payload: Json) -> Answer:
        """Send a click, a submission or a shortcut."""
        ...

    async def command(self, form: Mapping[str, str]) -> Answer:
        """Send a slash command."""
        ...

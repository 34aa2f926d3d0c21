"""Messages that grow while they are written: in personal chats, one at a time, for two minutes.

The first activity names no stream and gets its id; the others name it, and get 202 and nothing
more. A stream that is open is no message yet, so it can be neither edited nor deleted. What has
run too long stays as it was and can be edited; what was stopped stays if there was text of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.bot.adapters.teams import limits
from tests.bot.adapters.teams.tenant.answers import Refused

LONGEST_SECONDS = 120.0
LONGEST_INFORMATIVE = 1_000
_NOT_ALLOWED = "Content stream is not allowed."
_OVER: Mapping[str, str] = {
    "completed": "Content stream is not allowed on an already completed streamed message.",
    "exceeded": "Content stream finished due to exceeded streaming time.",
    "stopped": "Content stream was canceled by user.",
}

State = Literal["open", "completed", "exceeded", "stopped"]
Activity = Mapping[str, Any]
Info = Mapping[str, Any]


@dataclass
class Stream:
    """One stream. ``shown`` is what its reader saw, in order; ``text`` what is written so far."""

    id: str
    conversation: str
    began: float
    reply_to: str | None = None
    sequence: int = 0
    state: State = "open"
    text: str = ""
    shown: list[str] = field(default_factory=list)
    newest: Activity = field(default_factory=dict)

    def take(self, activity: Activity, info: Info) -> None:
        """Go on, or end. Raises Refused."""
        if self.state != "open":
            raise refused(_OVER[self.state])
        if limits.is_too_big(activity):
            raise refused("Message size too large")
        if info["streamType"] == "final":
            self._end(activity, info)
        else:
            self._grow(activity, info)

    def _end(self, activity: Activity, info: Info) -> None:
        if "streamSequence" in info:
            raise Refused("BadRequest", "The final message of a stream has no sequence.")
        limits.check(activity)
        self._show(activity)
        self.state = "completed"

    def _grow(self, activity: Activity, info: Info) -> None:
        number, text = info.get("streamSequence"), str(activity.get("text") or "")
        if not isinstance(number, int) or number < 1:
            raise Refused("BadRequest", "streamSequence is missing")
        if number <= self.sequence:
            raise Refused(
                "ContentStreamSequenceOrderPreConditionFailed",
                "PreCondition failed exception when processing streaming activity.",
            )
        _check(activity, info)
        if info["streamType"] == "streaming":
            if not text.startswith(self.text):
                raise Refused("BadRequest", "The text of a stream is cumulative.")
            self.text = text
        self.sequence = number
        self._show(activity)

    def _show(self, activity: Activity) -> None:
        self.newest = activity
        self.shown.append(str(activity.get("text") or ""))


def stream_info(activity: Activity) -> Info | None:
    """Return what an activity says of its stream, None for one of no stream."""
    entities = activity.get("entities") or []
    found = [each for each in entities if each["type"] == "streaminfo"]
    if not found:
        return None
    info = found[0]
    kinds = {"informative": "typing", "streaming": "typing", "final": "message"}
    if kinds.get(str(info.get("streamType"))) != activity["type"]:
        raise Refused("BadRequest", f"{info} is not for an activity of type {activity['type']}")
    return dict(info)


def refused(message: str = _NOT_ALLOWED) -> Refused:
    return Refused("ContentStreamNotAllowed", message)


def check_first(activity: Activity, info: Info) -> None:
    """Raises Refused for what cannot begin a stream."""
    if info["streamType"] == "final" or info.get("streamSequence") != 1:
        raise Refused("BadRequest", "A stream begins with streamSequence 1.")
    if not activity.get("text"):
        raise Refused("BadRequest", "Start streaming activities should include text")


def _check(activity: Activity, info: Info) -> None:
    text = str(activity.get("text") or "")
    if info["streamType"] == "informative" and len(text) > LONGEST_INFORMATIVE:
        raise Refused("BadRequest", "An informative update has at most 1,000 characters.")
    if activity.get("attachments") or "feedbackLoop" in (activity.get("channelData") or {}):
        raise Refused("BadRequest", "Attachments and feedback come with the final message.")
    if len(activity["entities"]) > 1:
        raise Refused("BadRequest", "Citations and labels come with the final message.")

"""What an asker is told when a question goes to a person; it promises only what happens."""

from __future__ import annotations

from dataclasses import dataclass

from bot.types import EscalationReason

_UNAVAILABLE = "I can't look this up right now."
_UNSUPPORTED = "I found pages on this, but nothing in them that supports an answer."
OFFER = "Shall I ask a person?"
"""What an offered hand-over says; the router takes agreement with it as a wish for one."""

_HOW = "Reply \u201cyes\u201d."


@dataclass(frozen=True, slots=True)
class EscalationWording:
    """The words of a hand-over.

    ``destination`` names where people see it (a channel's name); empty means that it is only
    kept on the help desk's list, and that is what is then said.
    """

    not_found: str
    uncertain: str
    destination: str = ""

    def text(self, reason: EscalationReason, *, private: bool) -> str:
        """Return what the asker reads; in private a hand-over is offered, not made."""
        if reason == "asked_for_human":
            return f"Of course. {self._handed_over()}"
        return f"{self._why(reason)} {f'{OFFER} {_HOW}' if private else self._handed_over()}"

    def _why(self, reason: EscalationReason) -> str:
        match reason:
            case "nothing_found":
                return self.not_found
            case "unsupported":
                return _UNSUPPORTED
            case "unavailable":
                return _UNAVAILABLE
            case "low_confidence" | "asked_for_human":
                return self.uncertain

    def _handed_over(self) -> str:
        if self.destination:
            return f"I've asked the people in {self.destination}; they'll answer here."
        return "I've put your question on the help desk's list for a person to answer."

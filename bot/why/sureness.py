"""How sure an answer was, and how sure it had to be."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.types import Escalation, Outcome, Reply

_QUITE = 0.85


@dataclass(frozen=True, slots=True)
class Sure:
    """How sure it was, in words and as written, and as places on a bar (0..100).

    The words say what the numbers mean here; they promise no more than the gate does.
    """

    words: str
    told: str
    needed_told: str
    place: int
    needed: int


def sure_of(outcome: Outcome) -> Sure | None:
    """Return how sure it was; None where that did not decide."""
    confidence, threshold = outcome.response.confidence, outcome.trace.threshold
    if not _weighed(outcome) or confidence is None or threshold is None:
        return None
    return Sure(
        _words(confidence, threshold),
        *_told_apart(confidence, threshold),
        round(confidence * 100),
        round(threshold * 100),
    )


def ruled_out(outcome: Outcome) -> str:
    """Name what ruled an answer out whatever else spoke for it: "no_line", "no_code" or ""."""
    features = outcome.trace.features
    if not isinstance(outcome.response, Escalation) or not features:
        return ""
    if not features.get("has_claims", 1):
        return "no_line"
    return "no_code" if features.get("uncovered_identifiers") else ""


def _weighed(outcome: Outcome) -> bool:
    match outcome.response:
        case Reply(refused=refused):
            return not refused
        case Escalation(reason="low_confidence"):
            return not ruled_out(outcome)
        case _:
            return False


def _words(confidence: float, threshold: float) -> str:
    if confidence < threshold:
        return "not sure enough"
    return "quite sure" if confidence >= _QUITE else "fairly sure"


def _told_apart(confidence: float, threshold: float) -> tuple[str, str]:
    """Write both in whole per cent, so that one sees which is more.

    More digits would tell an asker how rare a word is in pages that they may not read.
    """
    told, needed = f"{confidence:.0%}", f"{threshold:.0%}"
    if told != needed or confidence >= threshold:
        return told, needed
    return f"just under {needed}", needed

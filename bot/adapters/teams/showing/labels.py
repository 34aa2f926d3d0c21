"""Who composed what is shown, and on what: the one entity that Teams takes for it; pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.wire.body import Json
from bot.domain.types import Clarification, Escalation, Outcome, Reply

_GENERIC = "generic"
"""The prompt of replies that no page stands behind."""


def composed(outcome: Outcome) -> bool:
    """Tell whether a model composed a response, or the index quoted it; else its words are ours.

    Pages that are only listed below our own words, unconfirmed, make nothing of them composed.
    """
    match outcome.response:
        case Reply(refused=True) | Clarification() | Escalation():
            return False
        case Reply(tone="generic"):
            return any(call.purpose == _GENERIC for call in outcome.trace.calls)
        case Reply():
            return True


def label(*, ai: bool, usage: Json | None, citations: Sequence[Json]) -> Json | None:
    """Return the entity of an activity, None where it would say nothing. There may be only one."""
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

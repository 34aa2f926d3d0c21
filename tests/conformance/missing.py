"""What a platform does not do, and why: the only place where it is said.

A case that is declared missing is run all the same: once it passes, the declaration is wrong and
the suite fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_PEOPLE = ("escalated: people see it", "escalation offered: people don't see it yet")
_ASKED_FOR = "human: people see it"
_WHISPER = "permission-limited, with a private addition"

_IN_ORDER = "all steps are told in their order"
_REMINDED = "unclaimed: people are reminded"

_NO_PEOPLE = "no people's channel: `python -m bot escalations` lists the question"
_NO_PLACE = "no people's channel: the board shows what waits"
_AS_IT_STANDS = "the page shows how it stands now and what was said, not every step"
_ALONE = "only the asker reads the thread: the answer itself has all that they may read"
_ASK_ANEW = "a question is withdrawn and asked anew; the page has no editing"


def _because(reasons: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    return MappingProxyType({name: why for why, names in reasons.items() for name in names})


MISSING: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "web": _because(
            {
                _NO_PEOPLE: (*_PEOPLE, _ASKED_FOR),
                _ALONE: (_WHISPER,),
                _ASK_ANEW: ("edited while it is worked on", "edited after the answer"),
                _AS_IT_STANDS: (_IN_ORDER,),
                _NO_PLACE: (_REMINDED,),
            }
        ),
        "rest": _because(
            {
                _NO_PEOPLE: (*_PEOPLE, _ASKED_FOR),
                _ALONE: (_WHISPER,),
                _NO_PLACE: (_REMINDED,),
            }
        ),
    }
)
"""By platform, by case."""

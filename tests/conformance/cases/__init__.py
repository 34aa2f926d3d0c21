"""What every platform must show, whatever the platform: one table, by topic."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.conformance.case import Case
from tests.conformance.cases.answers import ANSWERS
from tests.conformance.cases.conversations import CONVERSATIONS
from tests.conformance.cases.feedback import FEEDBACK
from tests.conformance.cases.people import PEOPLE
from tests.conformance.cases.running import RUNNING
from tests.conformance.cases.safety import SAFETY

__all__ = ["CASES", "TOPICS", "Case"]

TOPICS: Mapping[str, tuple[Case, ...]] = MappingProxyType(
    {
        "Answers": ANSWERS,
        "Feedback": FEEDBACK,
        "People": PEOPLE,
        "Conversations": CONVERSATIONS,
        "Orders, coming and going": RUNNING,
        "Safety and trouble": SAFETY,
    }
)
CASES = tuple(case for cases in TOPICS.values() for case in cases)

"""Orders in words, and the bot's coming and going."""

from __future__ import annotations

from tests.bot.adapters.outcomes import ANSWER
from tests.conformance import running
from tests.conformance.case import Case
from tests.conformance.desks import says
from tests.conformance.running import IsOrdered

RUNNING = (
    Case("help: what can be ordered", says(ANSWER), IsOrdered("help", "status")),
    Case("status: what it answers from", says(ANSWER), IsOrdered("status", "I answer from 1 page")),
    Case(
        "reindex is refused to who is no admin",
        says(ANSWER),
        IsOrdered("reindex IT", "Only Frontdesk"),
    ),
    Case("reindex by an admin is shown to its end", says(ANSWER), running.reindexes),
    Case("a welcome where it is added, once", says(ANSWER), running.welcomes_once),
    Case("removed: nothing is sent any more", says(ANSWER), running.is_removed),
)

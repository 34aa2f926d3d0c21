"""What people are reminded of, in words for every platform: pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.escalations.types import Case, Notice


def reminds(case: Case, notice: Notice, now: datetime) -> tuple[str, str]:
    """Return what is the matter, and what is said after it: "Nobody has ...", "; it has ..."."""
    if notice.step == "open":
        return "An answer could not be delivered", ", so its asker still waits for one."
    if notice.step != "ping":
        return "A question was opened again", " and nobody has it."
    begun = case.opened_at if case.standing.state == "open" else case.changed_at
    waited = waiting_time(now - begun)
    return "Nobody has taken this question yet", f"; it has waited for {waited}."


def asked_on(case: Case) -> str:
    """Return the platform that a case comes from."""
    return case.channel.partition(":")[0]


def waiting_time(waited: timedelta) -> str:
    """Return a time as a person says it: minutes, then hours, then days."""
    minutes = max(1, round(waited.total_seconds() / 60))
    for length, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * length:
            return f"{minutes // length} {name}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"

"""What is added to every outcome of the desk, and which outcomes are kept to oneself; pure."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.types import Clarification, Escalation, Inquiry, Intent, Outcome, Reply


def finished(inquiry: Inquiry, outcome: Outcome) -> Outcome:
    """Add what admission found out, and say nothing where nobody asked and nothing is sure."""
    trace = replace(outcome.trace, notes=(*inquiry.notes, *outcome.trace.notes))
    silent = inquiry.message.overheard and not _worth_saying(inquiry, outcome)
    return replace(
        outcome,
        trace=trace,
        remarks=(*outcome.remarks, *inquiry.remarks),
        asker=inquiry.asker,
        silent=silent,
        private=None if inquiry.message.overheard else outcome.private,
    )


def _worth_saying(inquiry: Inquiry, outcome: Outcome) -> bool:
    """Whether it is said unasked: a sure answer from the pages, or a person in one's own thread."""
    match outcome.response:
        case Reply(confidence_level="sure", refused=False, sources=sources):
            return bool(sources)
        case Escalation(reason="asked_for_human"):
            return bool(inquiry.history)
        case Clarification():
            # A person is wanted, and it is asked for what.
            return outcome.trace.route.intent is Intent.HUMAN and bool(inquiry.history)
        case _:
            return False

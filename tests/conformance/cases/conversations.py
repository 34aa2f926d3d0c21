"""Threads, what is changed and taken back in them, and who is listened to."""

from __future__ import annotations

from tests.conformance import desks, hearing, plays
from tests.conformance.case import Case
from tests.conformance.desks import repeats

CONVERSATIONS = (
    Case("follow-up", repeats(), plays.follows_up),
    Case("another thread", repeats(), plays.begins_anew),
    Case("edited while it is worked on", repeats(), plays.edits_in_time),
    Case("edited after the answer", repeats(), plays.edits_too_late),
    Case("deleted while it is worked on", repeats(), plays.deletes_in_time),
    Case("deleted after the answer", repeats(), plays.deletes_afterwards),
    Case("delivered three times", repeats(), plays.delivers_again),
    Case(
        "a follow-up without a mention, where that is allowed",
        repeats(),
        hearing.follows_up_unaddressed,
    ),
    Case("overheard and not sure: silent", desks.is_unsure, hearing.overhears_unsurely),
    Case("overheard and only a guess: silent", desks.guesses, hearing.overhears_unsurely),
    Case("overheard and only a part known: silent", desks.knows_a_part, hearing.overhears_unsurely),
    Case("other bots are left alone", repeats(), hearing.hears_no_bots),
)

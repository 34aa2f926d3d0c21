"""Questions that go to people, and what their askers are told."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.answering.reply_text import MISSING_INTRO
from bot.domain.interactions import Escalation
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, OFFERED
from tests.conformance import desks, hearing, people, presses
from tests.conformance.case import Case
from tests.conformance.desks import says
from tests.conformance.people import Hears, PeopleSee
from tests.conformance.plays import Asks
from tests.conformance.presses import AsksForPerson, HandsOn, IsReplied

LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))
UNCONFIRMED = re.compile(r"not confirmed|haven't confirmed")
NOT_SURE = "I've asked the people"
ASKED_FOR = replace(HANDED_OVER, reason="asked_for_human")
THEIRS = "Take the blue socket."
OFFER = "Shall I ask a person?"

PEOPLE = (
    Case("escalated", says(HANDED_OVER), Asks("the code?", (NOT_SURE, UNCONFIRMED, "VPN guide"))),
    Case("escalated: people see it", says(HANDED_OVER), PeopleSee("the code?", "vpn down?")),
    Case("escalation offered in private", says(OFFERED), Asks("code?", (OFFER,), private=True)),
    Case(
        "escalation offered: people don't see it yet",
        says(OFFERED),
        PeopleSee("the code?", None, private=True),
    ),
    Case(
        "human",
        says(Escalation("Of course.", "asked_for_human", question="the printer is on fire")),
        Asks("human", ("Of course.",)),
    ),
    Case(
        "human: people see it",
        says(Escalation("Of course.", "asked_for_human", question="the printer is on fire")),
        PeopleSee("human", "the printer is on fire"),
    ),
    Case(
        "what was asked before and has nothing to do with it: people don't see it",
        desks.hands_over,
        people.UNRELATED,
        mended="teams-1",
    ),
    Case(
        "what another asked in the same thread: people don't see it",
        desks.hands_over,
        people.OF_ANOTHER,
        mended="teams-1",
    ),
    Case(
        "human, after another's question: people don't see that",
        desks.hands_over,
        people.WISH_AFTER_ANOTHERS,
        mended="teams-1",
    ),
    Case(
        "a person's reply reaches the thread, marked as a person's",
        says(ASKED_FOR),
        Hears("reply", THEIRS, (THEIRS, re.compile(r"Anna Lopez\W{0,3}answered"))),
    ),
    Case(
        "claimed is told",
        says(ASKED_FOR),
        Hears("claim", "", (re.compile(r"Anna Lopez\W{0,3}has (?:taken your question|it)"),)),
    ),
    Case(
        "declined is told with the reason",
        says(ASKED_FOR),
        Hears(
            "decline",
            "Ask facilities.",
            ("Ask facilities.", re.compile(r"Anna Lopez\W{0,3}can't take")),
        ),
    ),
    Case("all steps are told in their order", says(ASKED_FOR), people.hears_in_order),
    Case(
        "a long reply of a person is told whole",
        says(ASKED_FOR),
        Hears("reply", LONG[:20_000], ("Step 1.", "Step 60.")),
    ),
    Case(
        "a notice is told once although the process died before it was noted",
        says(ASKED_FOR),
        Hears("reply", THEIRS, (THEIRS,), deaths=2),
    ),
    Case(
        "a notice is told once although the platform's answer to it was lost",
        says(ASKED_FOR),
        people.hears_once_though_the_answer_is_lost,
    ),
    Case("told, then deleted", says(ASKED_FOR), people.hears_no_more),
    Case("unclaimed: people are reminded", says(ASKED_FOR), people.is_reminded_of),
    Case(
        "a guest's question is marked as a guest's where people are asked",
        says(ASKED_FOR),
        hearing.marks_outsiders,
        open_spaces=hearing.OPEN,
    ),
    Case(
        "a person is asked for by a button",
        desks.then(ANSWER, ASKED_FOR),
        AsksForPerson(HANDED_OVER.text),
    ),
    Case(
        "a person asked below a part of an answer sees what it lacks",
        desks.knows_a_part,
        HandsOn(re.compile(f"{MISSING_INTRO}.*{desks.LACKS}")),
    ),
    Case(
        "a person is asked below a guess",
        desks.guesses,
        HandsOn(re.compile("guess")),
    ),
    Case(
        "claimed by a button: one has it, and the card says who",
        says(ASKED_FOR),
        presses.is_claimed,
    ),
    Case(
        "a reply by button reaches who asked",
        says(ASKED_FOR),
        IsReplied(THEIRS, (THEIRS, re.compile(r"Anna Lopez\W{0,3}answered"))),
    ),
)

"""What an answer shows, and what is shown where there is none."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from bot.answering.reply_text import MISSING_INTRO, UNSURE_INTRO
from bot.domain.interactions import Clarification, Reply
from tests.bot.adapters.outcomes import ANSWER, LOCAL, VPN
from tests.conformance import desks, hearing
from tests.conformance.case import Case
from tests.conformance.desks import says
from tests.conformance.hearing import Shares
from tests.conformance.people import Guesses
from tests.conformance.plays import Asks, Marks, Whispers
from tests.conformance.presses import OPTION, AsksWhy, Chooses

LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))
RESTART = "Restart the client [1]."
_809 = "what is error 809?"
BLOCKED = "the port is blocked"
A_PERSON = re.compile(r"human|Ask a person")
REMARKS = ("I could not read plan.docx.", "I read 2 pages of guide.pdf.")
READ = (r"I could not read `?plan\.docx`?\.", r"I read 2 pages of `?guide\.pdf`?\.")
SUPERSEDED = "VPN guide\u201d is marked as superseded"
BY_ANA = replace(VPN, updated_at=datetime(2026, 3, 9, tzinfo=UTC), updated_by="Ana Silva")
FULLER = Reply("Your own plan covers it [1].", "answer", (VPN,), 0.9)

ANSWERS = (
    Case("answered", says(ANSWER), Asks("vpn down?", (RESTART, "VPN guide"))),
    Case("answered in private", says(ANSWER), Asks("vpn?", (RESTART,), private=True)),
    Case(
        "cited",
        says(replace(ANSWER, text="Restart [1], or come by [2].", sources=(VPN, LOCAL))),
        Asks(
            "vpn and offices?",
            (
                "Restart [1], or come by [2].",
                "VPN guide",
                "https://wiki.example.com/vpn?a=1&b=2",
                "Offices",
            ),
            absent=("/pages/offices",),
        ),
    ),
    Case(
        "quoted",
        says(replace(ANSWER, tone="found", text="From the wiki:\n\n> Restart the client. [1]")),
        Asks("vpn?", ("> Restart the client. [1]", "From the wiki")),
    ),
    Case(
        "sure: nothing is said to be missing",
        desks.is_sure,
        Asks(_809, ("From the wiki", BLOCKED, "VPN guide"), absent=(UNSURE_INTRO, MISSING_INTRO)),
    ),
    Case(
        "partial: with what the wiki doesn't say",
        desks.knows_a_part,
        Asks(
            _809, (re.compile(f"{MISSING_INTRO}.*{desks.LACKS}"), BLOCKED), absent=(UNSURE_INTRO,)
        ),
    ),
    Case(
        "unsure: said to be a guess, and nobody is asked",
        desks.guesses,
        Guesses(_809, (UNSURE_INTRO, BLOCKED, "VPN guide")),
    ),
    Case(
        "unsure in private: said to be a guess, and nobody is asked",
        desks.guesses,
        Guesses(_809, (UNSURE_INTRO, BLOCKED, "VPN guide"), private=True),
    ),
    Case(
        "remarks below the answer",
        says(ANSWER, None, *REMARKS),
        Asks("vpn, see my plan", (RESTART, "VPN guide", *map(re.compile, READ))),
    ),
    Case(
        "a page that is superseded: said next to the answer",
        says(replace(ANSWER, sources=(replace(VPN, superseded="superseded"),))),
        Asks("vpn down?", (RESTART, SUPERSEDED)),
    ),
    Case(
        "who changed a page, and when",
        says(Clarification("Which one?", suggestions=(BY_ANA,))),
        Asks("vpn down?", ("Which one?", "VPN guide", "Ana Silva")),
    ),
    Case(
        "clarified",
        says(Clarification("Which one?", options=("Booking leave", "Public holidays"))),
        Asks("holiday?", ("Which one?", "- Booking leave", "- Public holidays")),
    ),
    Case(
        "generic",
        says(Reply("Hello! Ask me.", tone="generic")),
        Asks("hello", ("Hello! Ask me.",), absent=(A_PERSON,)),
    ),
    Case(
        "an answer that is too long",
        says(replace(ANSWER, text=LONG)),
        Asks("all?", ("Step 1.", "Step 89.", "VPN guide")),
    ),
    Case(
        "other writing",
        says(Reply("\u4f60\u597d \U0001f600", "generic")),
        Asks("\u4f60\u597d \U0001f600?", ("\u4f60\u597d \U0001f600",)),
    ),
    Case(
        "permission-limited, with a private addition",
        says(ANSWER, private=FULLER),
        Whispers(RESTART, FULLER),
    ),
    Case("why this answer", desks.explained(), AsksWhy("VPN guide")),
    Case(
        "an option is chosen by a button",
        desks.then(Clarification("Which one?", options=("Booking leave", OPTION)), ANSWER),
        Chooses(RESTART),
    ),
    Case(
        "how sensitive it is, by the labels of its pages",
        says(replace(ANSWER, sources=(replace(VPN, labels=("secret",)),))),
        Marks("Confidential"),
    ),
    Case(
        "people from outside are refused, and colleagues where they read along",
        says(ANSWER),
        hearing.refuses_outsiders,
    ),
    Case(
        "where spaces are open to people from outside, these alone are searched",
        says(ANSWER),
        hearing.answers_outsiders,
        open_spaces=hearing.OPEN,
    ),
    Case(
        "a file that comes with a question is read",
        desks.reads(),
        Shares(("vpn.log", b"error 809"), read="error 809"),
    ),
    Case(
        "a file that can't be read is said",
        desks.reads(),
        Shares(("plan.docx", b"PK"), said=(re.compile(r"plan.{0,2}docx"),)),
    ),
)

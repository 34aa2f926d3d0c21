"""What every platform must show, whatever the platform: one table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bot.types import Clarification, Escalation, Refusal, Reply
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, LOCAL, OFFERED, VPN
from tests.conformance import desks, plays
from tests.conformance.desks import OpensDesk, repeats, says
from tests.conformance.plays import Asks, Declines, Hears, PeopleSee, Play, Votes, Whispers

HOSTILE = (
    "<!channel> <!here> <@U0CEO0000> <at>Everyone</at> [click](https://evil.example/a) "
    "![p](https://evil.example/?d=1) <https://evil.example|b> https://evil.example/c "
    "`x` ` https://evil.example/d [1]: https://evil.example/e <img src=https://evil.example/f> "
    "<script>alert(1)</script> javascript:alert(1)"
)
BLOCKS = "\n\n<script>alert(2)</script>\n\n<img src=x onerror=alert(3)>\n\n<div onclick=x>y</div>"
LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))
RESTART = "Restart the client [1]."
UNCONFIRMED = re.compile(r"not confirmed|haven't confirmed")
A_PERSON = re.compile(r"human|Ask a person")
REMARKS = ("I could not read plan.docx.", "I read 2 pages of guide.pdf.")
READ = (r"I could not read `?plan\.docx`?\.", r"I read 2 pages of `?guide\.pdf`?\.")
FULLER = Reply("Your own plan covers it [1].", "answer", (VPN,), 0.9)
BUSY = Refusal("You have asked a lot today. Ask me again tomorrow.", "20 of 20 questions")
NOT_SURE = re.compile(r"I've asked the people|I don't have that information")
ASKED_FOR = replace(HANDED_OVER, reason="asked_for_human")
THEIRS = "Take the blue socket."
MEAN = "<!channel> <@U0CEO0000> <at>Everyone</at> <img src=x> <script>alert(1)</script> @here"
OFFER = re.compile(r"Shall I ask a person\?|I don't have that information")


@dataclass(frozen=True)
class Case:
    """What is done, and what stands behind the platform while it is.

    ``refusal``: admission turns every question away. ``full``: the inbox takes none.
    """

    name: str
    desk: OpensDesk
    play: Play
    refusal: Refusal | None = None
    full: bool = False


CASES = (
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
        "remarks below the answer",
        says(ANSWER, None, *REMARKS),
        Asks("vpn, see my plan", (RESTART, "VPN guide", *map(re.compile, READ))),
    ),
    Case("escalated", says(HANDED_OVER), Asks("the code?", (NOT_SURE, UNCONFIRMED, "VPN guide"))),
    Case("escalated: people see it", says(HANDED_OVER), PeopleSee("the code?", "vpn down?")),
    Case("escalation offered in private", says(OFFERED), Asks("code?", (OFFER,), private=True)),
    Case(
        "escalation offered: people don't see it yet",
        says(OFFERED),
        PeopleSee("the code?", None, private=True),
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
        "human",
        says(Escalation("Of course.", "asked_for_human", question="the printer is on fire")),
        Asks("human", ("Of course.",)),
    ),
    Case(
        "human: people see it",
        says(Escalation("Of course.", "asked_for_human", question="the printer is on fire")),
        PeopleSee("human", "the printer is on fire"),
    ),
    Case("feedback: up", says(ANSWER), Votes(("up",))),
    Case("feedback: down", says(ANSWER), Votes(("down",))),
    Case("feedback: changed", says(ANSWER), Votes(("up", "down"))),
    Case("feedback: removed", says(ANSWER), Votes(("up",), taken_back=True)),
    Case("follow-up", repeats(), plays.follows_up),
    Case("another thread", repeats(), plays.begins_anew),
    Case("edited while it is worked on", repeats(), plays.edits_in_time),
    Case("edited after the answer", repeats(), plays.edits_too_late),
    Case("deleted while it is worked on", repeats(), plays.deletes_in_time),
    Case("deleted after the answer", repeats(), plays.deletes_afterwards),
    Case("delivered three times", repeats(), plays.delivers_again),
    Case(
        "permission-limited, with a private addition",
        says(ANSWER, private=FULLER),
        Whispers(RESTART, FULLER),
    ),
    Case(
        "a question that is too long",
        says(Reply("Shorter, please.", "generic")),
        Asks("why " * 2000, ("Shorter, please.",), refused=re.compile(r"at most 4,000|to 4000")),
    ),
    Case(
        "an empty question",
        says(Reply("Ask me something.", "generic")),
        Asks("", ("Ask me something.",), refused=re.compile(r"Type a question|1 to 4000")),
    ),
    Case(
        "an answer that is too long",
        says(replace(ANSWER, text=LONG)),
        Asks("all?", ("Step 1.", "Step 89.", "VPN guide")),
    ),
    Case(
        "hostile text",
        says(
            replace(
                ANSWER, text=f"Beware. {HOSTILE}{BLOCKS}", sources=(replace(VPN, title=HOSTILE),)
            )
        ),
        Asks("vpn?", ("Beware.", "click")),
    ),
    Case(
        "a hostile source",
        says(replace(ANSWER, sources=(replace(VPN, url="javascript:alert(1)//"),))),
        Asks("vpn?", (RESTART, "VPN guide")),
    ),
    Case(
        "other writing",
        says(Reply("\u4f60\u597d \U0001f600", "generic")),
        Asks("\u4f60\u597d \U0001f600?", ("\u4f60\u597d \U0001f600",)),
    ),
    Case(
        "the desk is down",
        desks.breaks(),
        Asks("vpn down?", ("can't answer this right now",), absent=("boom",)),
    ),
    Case(
        "the model is down",
        desks.without_a_model,
        Asks("error 809?", ("I can't look this up right now.", UNCONFIRMED, "VPN guide")),
    ),
    Case(
        "the index is down",
        desks.without_an_index,
        Asks("error 809?", ("I can't look this up right now.",), absent=("gone", "VPN guide")),
    ),
    Case("rate-limited", says(ANSWER), Declines(BUSY.text), refusal=BUSY),
    Case("the inbox is full", says(ANSWER), plays.is_not_kept, full=True),
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
    Case("all steps are told in their order", says(ASKED_FOR), plays.hears_in_order),
    Case("what a person writes is not live", says(ASKED_FOR), Hears("reply", MEAN, ("@here",))),
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
    Case("told, then deleted", says(ASKED_FOR), plays.hears_no_more),
    Case("unclaimed: people are reminded", says(ASKED_FOR), plays.is_reminded_of),
)

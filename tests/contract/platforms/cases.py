"""The table of cases that every platform must pass, by topic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from bot.answering.reply_text import MISSING_INTRO, UNSURE_INTRO
from bot.chat.response_view import COMPOSED_NOTE
from bot.domain.interactions import Clarification, Escalation, Reply
from bot.domain.messages import Refusal
from rag.parts import paragraph
from tests.contract.platforms import actions, consent, handovers, same_question, scenario
from tests.contract.platforms.actions import (
    OPTION,
    Action,
    Asks,
    AsksForPerson,
    AsksWhy,
    Chooses,
    Declines,
    HandsOn,
    IsOrdered,
    IsReplied,
    Marks,
    Shares,
    Votes,
    Whispers,
)
from tests.contract.platforms.corrections import IsCorrected
from tests.contract.platforms.handovers import Guesses, Hears, PeopleSee, Practises
from tests.contract.platforms.parts import PARTS
from tests.contract.platforms.scenario import OpensDesk, repeats, says
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, OFFERED, VPN


@dataclass(frozen=True)
class Case:
    """What is done, and what stands behind the platform while it is.

    ``refusal``: admission turns every question away. ``full``: the inbox takes none.
    ``open_spaces``: what people from outside are answered from. ``mended`` names the finding that
    it keeps mended.
    """

    name: str
    desk: OpensDesk
    play: Action
    refusal: Refusal | None = None
    full: bool = False
    open_spaces: frozenset[str] = frozenset()
    mended: str = ""


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
    Case("one message with its sources and buttons", says(ANSWER), actions.answers_in_one),
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
        Asks("vpn?", ("> Restart the client. [1]", "From the wiki"), absent=(COMPOSED_NOTE,)),
    ),
    Case(
        "composed by a model: said below the answer",
        says(replace(ANSWER, parts=(paragraph("Turn it off and on.", (1,)),))),
        Asks("vpn?", ("Turn it off and on.", COMPOSED_NOTE)),
    ),
    Case(
        "sure: nothing is said to be missing",
        scenario.is_sure,
        Asks(_809, ("From the wiki", BLOCKED, "VPN guide"), absent=(UNSURE_INTRO, MISSING_INTRO)),
    ),
    Case(
        "partial: with what the wiki doesn't say",
        scenario.knows_a_part,
        Asks(
            _809,
            (re.compile(f"{MISSING_INTRO}.*{scenario.LACKS}"), BLOCKED),
            absent=(UNSURE_INTRO,),
        ),
    ),
    Case(
        "translated: the quotation first, then a translation that is marked as one",
        scenario.translates,
        Asks(
            _809,
            (
                re.compile(rf"{BLOCKED}.*nicht gepr\u00fcft.*{scenario.IN_GERMAN}", re.DOTALL),
                "VPN guide",
            ),
        ),
    ),
    Case(
        "unsure: said to be a guess, and nobody is asked",
        scenario.guesses,
        Guesses(_809, (UNSURE_INTRO, BLOCKED, "VPN guide")),
    ),
    Case(
        "unsure in private: said to be a guess, and nobody is asked",
        scenario.guesses,
        Guesses(_809, (UNSURE_INTRO, BLOCKED, "VPN guide"), private=True),
    ),
    Case(
        "remarks below the answer",
        says(ANSWER, None, *REMARKS),
        Asks("vpn, see my plan", (RESTART, "VPN guide", *map(re.compile, READ))),
    ),
    Case(
        "the question as it was read, where its spelling was corrected",
        scenario.corrects("vpn down?"),
        Asks("vpn donw?", (RESTART, "I read it as \u201cvpn down?\u201d")),
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
    Case("why this answer", scenario.explained(), AsksWhy("VPN guide")),
    Case(
        "an option is chosen by a button",
        scenario.then(Clarification("Which one?", options=("Booking leave", OPTION)), ANSWER),
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
        actions.refuses_outsiders,
    ),
    Case(
        "where spaces are open to people from outside, these alone are searched",
        says(ANSWER),
        actions.answers_outsiders,
        open_spaces=actions.OPEN,
    ),
    Case(
        "a file that comes with a question is read",
        scenario.reads(),
        Shares(("vpn.log", b"error 809"), read="error 809"),
    ),
    Case(
        "a file that can't be read is said",
        scenario.reads(),
        Shares(("plan.docx", b"PK"), said=(re.compile(r"plan.{0,2}docx"),)),
    ),
    Case(
        "a picture alone: a person is offered",
        scenario.is_sure,
        actions.shows_picture,
    ),
    Case(
        "its page has changed since: the answer says so, with the date",
        says(ANSWER),
        IsCorrected((RESTART, "VPN guide")),
    ),
    Case(
        "its page has changed since, in private",
        says(ANSWER),
        IsCorrected((RESTART,), private=True),
    ),
    Case(
        "its page has changed since: a long answer says so, too",
        says(replace(ANSWER, text=LONG)),
        IsCorrected(("Step 1.", "Step 89.", "VPN guide")),
    ),
    Case(
        "its page was closed since: the posted answer is taken away",
        says(replace(ANSWER, text=LONG)),
        IsCorrected(("Step 1.", "Step 89.", "VPN guide"), closed=True),
    ),
)


FEEDBACK = (
    Case("feedback: up", says(ANSWER), Votes(("up",))),
    Case("feedback: down", says(ANSWER), Votes(("down",))),
    Case("feedback: changed", says(ANSWER), Votes(("up", "down"))),
    Case("feedback: removed", says(ANSWER), Votes(("up",), taken_back=True)),
)


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
        scenario.hands_over,
        handovers.UNRELATED,
        mended="teams-1",
    ),
    Case(
        "what another asked in the same thread: people don't see it",
        scenario.hands_over,
        handovers.OF_ANOTHER,
        mended="teams-1",
    ),
    Case(
        "human, after another's question: people don't see that",
        scenario.hands_over,
        handovers.WISH_AFTER_ANOTHERS,
        mended="teams-1",
    ),
    Case(
        "a person's reply reaches the thread, marked as a person's",
        says(ASKED_FOR),
        Hears("reply", THEIRS, (THEIRS, re.compile(r"Anna Lopez\W{0,3}replied"))),
    ),
    Case(
        "claimed is told",
        says(ASKED_FOR),
        Hears("claim", "", (re.compile(r"Anna Lopez\W{0,3}is working on"),)),
    ),
    Case(
        "declined is told with the reason",
        says(ASKED_FOR),
        Hears(
            "decline",
            "Ask facilities.",
            ("Ask facilities.", re.compile(r"Anna Lopez\W{0,3}can't help with")),
        ),
    ),
    Case("all steps are told in their order", says(ASKED_FOR), handovers.hears_in_order),
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
        handovers.hears_once_though_the_answer_is_lost,
    ),
    Case("told, then deleted", says(ASKED_FOR), handovers.hears_no_more),
    Case("unclaimed: people are reminded", says(ASKED_FOR), handovers.is_reminded_of),
    Case(
        "a guest's question is marked as a guest's where people are asked",
        says(ASKED_FOR),
        actions.marks_outsiders,
        open_spaces=actions.OPEN,
    ),
    Case(
        "a person is asked for by a button",
        scenario.then(ANSWER, ASKED_FOR),
        AsksForPerson(HANDED_OVER.text),
    ),
    Case(
        "a person asked below a part of an answer sees what it lacks",
        scenario.knows_a_part,
        HandsOn(re.compile(f"{MISSING_INTRO}.*{scenario.LACKS}")),
    ),
    Case(
        "a person is asked below a guess",
        scenario.guesses,
        HandsOn(re.compile("guess")),
    ),
    Case(
        "claimed by a button: one has it, and the card says who",
        says(ASKED_FOR),
        actions.is_claimed,
    ),
    Case(
        "a reply by button reaches who asked",
        says(ASKED_FOR),
        IsReplied(THEIRS, (THEIRS, re.compile(r"Anna Lopez\W{0,3}replied"))),
    ),
    Case(
        "a reply below the card reaches who asked, once its author says so",
        says(ASKED_FOR),
        IsReplied(THEIRS, (THEIRS, re.compile(r"Anna Lopez\W{0,3}replied")), below=True),
    ),
    Case(
        "given to a colleague: who asked reads who has it, and not why",
        says(ASKED_FOR),
        handovers.hears_who_has_it,
    ),
    Case("a note of those who answer is not for who asked", says(ASKED_FOR), handovers.is_noted),
    Case(
        "a reply that was corrected: who asked reads the new words alone",
        says(ASKED_FOR),
        handovers.hears_the_correction,
    ),
    Case(
        "a reply below the card is sent as edited, also where the edit comes first",
        says(ASKED_FOR),
        IsReplied(THEIRS, (THEIRS,), before="Take the green socket."),
    ),
    Case(
        "seeing more of the conversation: if who asked agrees, and once",
        scenario.then(ANSWER, ASKED_FOR),
        consent.is_agreed_to,
    ),
    Case("seeing more: who asked says no", scenario.then(ANSWER, ASKED_FOR), consent.is_refused),
    Case("seeing more: an old button says so", scenario.then(ANSWER, ASKED_FOR), consent.is_over),
    Case(
        "seeing more: by buttons of the card, for the eyes of who has it",
        scenario.then(ANSWER, ASKED_FOR),
        consent.is_seen_alone,
    ),
    Case("my cases: found again by who asked", says(ASKED_FOR), actions.lists_own_cases),
    Case(
        "the same question of two: one card, and each reads the answer where they asked",
        says(same_question.HANDED_ON),
        same_question.is_one_case,
    ),
    Case(
        "the same question of two: whoever is left is answered when the other withdraws",
        says(same_question.HANDED_ON),
        same_question.leads_when_the_other_goes,
    ),
    Case(
        "the same question of two: each is told once although processes died in between",
        says(same_question.HANDED_ON),
        same_question.is_told_to_each_once,
    ),
)


CONVERSATIONS = (
    Case("follow-up", repeats(), actions.follows_up),
    Case("another thread", repeats(), actions.begins_anew),
    Case("edited while it is worked on", repeats(), actions.edits_in_time),
    Case("edited after the answer", repeats(), actions.edits_too_late),
    Case(
        "edited after the answer: asked again, and the answer replaced",
        repeats(),
        actions.edits_to_ask_again,
    ),
    Case("deleted while it is worked on", repeats(), actions.deletes_in_time),
    Case("deleted after the answer", repeats(), actions.deletes_afterwards),
    Case("delivered three times", repeats(), actions.delivers_again),
    Case(
        "a follow-up without a mention, where that is allowed",
        repeats(),
        actions.follows_up_unaddressed,
    ),
    Case("overheard and not sure: silent", scenario.is_unsure, actions.overhears_unsurely),
    Case("overheard and only a guess: silent", scenario.guesses, actions.overhears_unsurely),
    Case(
        "overheard and only a part known: silent", scenario.knows_a_part, actions.overhears_unsurely
    ),
    Case("other bots are left alone", repeats(), actions.hears_no_bots),
)


RUNNING = (
    Case("help: what can be ordered", says(ANSWER), IsOrdered("help", "status")),
    Case("status: what it answers from", says(ANSWER), IsOrdered("status", "I answer from 1 page")),
    Case(
        "reindex is refused to who is no admin",
        says(ANSWER),
        IsOrdered("reindex IT", "Only Frontdesk"),
    ),
    Case("reindex by an admin is shown to its end", says(ANSWER), actions.reindexes),
    Case("a welcome where it is added, once", says(ANSWER), actions.welcomes_once),
    Case("removed: nothing is sent any more", says(ANSWER), actions.is_removed),
    Case(
        "shadow mode: a reviewer alone sees and judges", scenario.is_sure, Practises(_809, BLOCKED)
    ),
    Case(
        "shadow mode: a withdrawn question takes its draft along",
        scenario.is_sure,
        Practises(_809, BLOCKED, withdrawn=True),
    ),
)


HOSTILE = (
    "<!channel> <!here> <@U0CEO0000> <at>Everyone</at> [click](https://evil.example/a) "
    "![p](https://evil.example/?d=1) <https://evil.example|b> https://evil.example/c "
    "`x` ` https://evil.example/d [1]: https://evil.example/e <img src=https://evil.example/f> "
    "<script>alert(1)</script> javascript:alert(1)"
)
BLOCKS = "\n\n<script>alert(2)</script>\n\n<img src=x onerror=alert(3)>\n\n<div onclick=x>y</div>"
BUSY = Refusal("You have asked a lot today. Ask me again tomorrow.", "20 of 20 questions")
MEAN = "<!channel> <@U0CEO0000> <at>Everyone</at> <img src=x> <script>alert(1)</script> @here"

SAFETY = (
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
    Case("what a person writes is not live", says(ASKED_FOR), Hears("reply", MEAN, ("@here",))),
    Case(
        "a question that is too long",
        says(Reply("Shorter, please.", "generic")),
        Asks(
            "why " * 2000,
            ("Shorter, please.",),
            refused=re.compile(r"at most 4,000|to 4000|maximum is 4,?000"),
        ),
    ),
    Case(
        "an empty question",
        says(Reply("Ask me something.", "generic")),
        Asks("", ("Ask me something.",), refused=re.compile(r"Type a question|1 to 4000")),
    ),
    Case(
        "the desk is down",
        scenario.breaks(),
        Asks("vpn down?", ("can't answer this right now",), absent=("boom",)),
    ),
    Case(
        "the model is down",
        scenario.without_a_model,
        Asks("error 809?", ("I can't look this up right now.", UNCONFIRMED, "VPN guide")),
    ),
    Case(
        "the index is down",
        scenario.without_an_index,
        Asks("error 809?", ("I can't look this up right now.",), absent=("gone", "VPN guide")),
    ),
    Case("rate-limited", says(ANSWER), Declines(BUSY.text), refusal=BUSY),
    Case("the inbox is full", says(ANSWER), actions.is_not_kept, full=True),
)


TOPICS: Mapping[str, tuple[Case, ...]] = MappingProxyType(
    {
        "Answers": ANSWERS,
        "Parts of answers": tuple(Case(name, says(reply), play) for name, reply, play in PARTS),
        "Feedback": FEEDBACK,
        "People": PEOPLE,
        "Conversations": CONVERSATIONS,
        "Commands, joining and leaving": RUNNING,
        "Safety and failures": SAFETY,
    }
)
CASES = tuple(case for cases in TOPICS.values() for case in cases)

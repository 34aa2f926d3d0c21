"""What is hostile, and what is down."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain.interactions import Reply
from bot.domain.messages import Refusal
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, VPN
from tests.conformance import desks, plays
from tests.conformance.case import Case
from tests.conformance.desks import says
from tests.conformance.people import Hears
from tests.conformance.plays import Asks, Declines

HOSTILE = (
    "<!channel> <!here> <@U0CEO0000> <at>Everyone</at> [click](https://evil.example/a) "
    "![p](https://evil.example/?d=1) <https://evil.example|b> https://evil.example/c "
    "`x` ` https://evil.example/d [1]: https://evil.example/e <img src=https://evil.example/f> "
    "<script>alert(1)</script> javascript:alert(1)"
)
BLOCKS = "\n\n<script>alert(2)</script>\n\n<img src=x onerror=alert(3)>\n\n<div onclick=x>y</div>"
RESTART = "Restart the client [1]."
UNCONFIRMED = re.compile(r"not confirmed|haven't confirmed")
BUSY = Refusal("You have asked a lot today. Ask me again tomorrow.", "20 of 20 questions")
ASKED_FOR = replace(HANDED_OVER, reason="asked_for_human")
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
        Asks("why " * 2000, ("Shorter, please.",), refused=re.compile(r"at most 4,000|to 4000")),
    ),
    Case(
        "an empty question",
        says(Reply("Ask me something.", "generic")),
        Asks("", ("Ask me something.",), refused=re.compile(r"Type a question|1 to 4000")),
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
)

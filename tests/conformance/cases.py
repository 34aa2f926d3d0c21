"""What a platform must show, whatever the platform: one table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.types import Clarification, Escalation, Reply, Response
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, LOCAL, OFFERED, VPN

HOSTILE = (
    "<!channel> <!here> <@U0CEO0000> <at>Everyone</at> [click](https://evil.example/a) "
    "![p](https://evil.example/?d=1) <https://evil.example|b> https://evil.example/c "
    "`x` ` https://evil.example/d [1]: https://evil.example/e"
)
LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))


@dataclass(frozen=True)
class Case:
    """A question, what the desk makes of it, and what is then seen.

    ``response`` None: the desk fails. ``times`` is how often the platform delivers the question.
    ``asked`` is what reaches the desk; ``people`` is what the people's channel is shown.
    """

    name: str
    question: str
    response: Response | None
    shown: tuple[str, ...]
    absent: tuple[str, ...] = ()
    private: bool = False
    times: int = 1
    asked: str | None = None
    people: str | None = None


CASES = (
    Case("answered", "vpn down?", ANSWER, ("Restart the client [1].", "VPN guide")),
    Case("answered in private", "vpn?", ANSWER, ("Restart the client [1].",), private=True),
    Case(
        "cited",
        "vpn and offices?",
        replace(ANSWER, text="Restart [1], or come by [2].", sources=(VPN, LOCAL)),
        (
            "Restart [1], or come by [2].",
            "VPN guide",
            "https://wiki.example.com/vpn?a=1&b=2",
            "Offices",
        ),
        absent=("/pages/offices",),
    ),
    Case(
        "quoted",
        "vpn?",
        replace(ANSWER, tone="found", text="From the wiki:\n\n> Restart the client. [1]"),
        ("> Restart the client. [1]", "human"),
    ),
    Case(
        "escalated",
        "what is the code?",
        HANDED_OVER,
        ("I've asked the people", "not confirmed", "VPN guide"),
        people="vpn down?",
    ),
    Case(
        "escalation offered in private",
        "what is the code?",
        OFFERED,
        ("Shall I ask a person?",),
        private=True,
    ),
    Case(
        "clarified",
        "holiday?",
        Clarification("Which one?", options=("Booking leave", "Public holidays")),
        ("Which one?", "- Booking leave", "- Public holidays"),
    ),
    Case(
        "generic", "hello", Reply("Hello! Ask me.", tone="generic"), ("Hello! Ask me.",), ("human",)
    ),
    Case(
        "human",
        "human",
        Escalation("Of course.", "asked_for_human", question="the printer is on fire"),
        ("Of course.",),
        people="the printer is on fire",
    ),
    Case(
        "a question that is too long",
        "why " * 2000,
        Reply("Shorter, please.", "generic"),
        ("Shorter, please.",),
    ),
    Case(
        "an empty question",
        "",
        Reply("Ask me something.", "generic"),
        ("Ask me something.",),
        asked="",
    ),
    Case(
        "an answer that is too long",
        "all?",
        replace(ANSWER, text=LONG),
        ("Step 1.", "Step 89.", "VPN guide"),
    ),
    Case(
        "hostile text",
        "vpn?",
        replace(ANSWER, text=f"Beware. {HOSTILE}", sources=(replace(VPN, title=HOSTILE),)),
        ("Beware.", "click"),
    ),
    Case(
        "other writing",
        "\u4f60\u597d \U0001f600?",
        Reply("\u4f60\u597d \U0001f600", "generic"),
        ("\u4f60\u597d \U0001f600",),
    ),
    Case("delivered three times", "vpn down?", ANSWER, ("Restart the client [1].",), times=3),
    Case("the desk is down", "vpn down?", None, ("can't answer this right now",), ("boom",)),
    Case(
        "the model is down",
        "vpn down?",
        Escalation("I can't look this up right now.", "unavailable", question="vpn down?"),
        ("I can't look this up right now.",),
        people="vpn down?",
    ),
)

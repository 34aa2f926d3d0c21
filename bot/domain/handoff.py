"""Word what an asker reads when a question is handed, or offered, to a person.

It promises only what happens on the asker's platform: a channel of people, the help desk's list,
or nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.interactions import Delivery, Escalation, EscalationReason, Response
from bot.domain.messages import Platform

_UNAVAILABLE = "I can't look this up right now."
_UNSUPPORTED = "I found pages on this, but nothing in them that supports an answer."
HANDOFF_QUESTION = "Shall I ask a person?"
"""What an offered hand-over says; the router takes agreement with it as a wish for one."""

_WHAT = "What is it about?"
ASK_TOPIC = f"{_WHAT} Write it here, and I will ask a person."
ASK_TOPIC_IN_CHANNEL = f"{_WHAT} Mention me with it, and I will ask a person."
"""What is asked back where somebody wants a person and has named no question."""

PERSON_REQUEST = "I'd like to ask a person, please."
"""What a button that asks for a person says for whoever pressed it; they wrote none of it."""

_BY_WORD = " Reply \u201cyes\u201d."
_BY_WORD_BELOW = " Reply \u201cyes\u201d in this thread."
_WITH_EARLIER = " and the earlier ones that it refers to"
_WITH_ANSWER = " and what we said about it"
_ALONE = ", nothing else"
_HERE = "they'll answer here."
_DIRECTLY = "they'll answer you in a direct message."
_ASKED = "I've asked the people who look after this."
ON_HELP_DESK_LIST = "I've put your question on the help desk's list for a person to answer."
"""What is said where people see a question on the board, and not in a channel of theirs."""

HANDOFF_OFFER = f"{HANDOFF_QUESTION} They'd see this question and my answer{_ALONE}.{_BY_WORD}"
"""An offer in private, about a question that stands alone."""


@dataclass(frozen=True, slots=True)
class HandoffWording:
    """The words of a hand-over.

    ``asks_people`` are the platforms whose channel shows the question to people at once;
    ``asks_named`` those that can do so where a channel's policy names its people. Elsewhere it is
    kept on the help desk's list (``python -m bot escalations``), and that is what is
    said; the command line keeps nothing and says so.
    """

    not_found: str
    uncertain: str
    asks_people: frozenset[Platform] = frozenset()
    asks_named: frozenset[Platform] = frozenset()

    def text(
        self,
        reason: EscalationReason,
        *,
        private: bool,
        platform: Platform,
        people: str = "",
        leaned: bool = False,
    ) -> str:
        """Return what the asker reads; in private a hand-over is offered, not made.

        It says what people see: the question, and where it ``leaned`` on earlier ones, those too.
        ``people`` is where the channel's policy says that people are asked.
        """
        if platform == "cli":
            why = self.statement(reason) or "Nobody can be asked from here."
            return f"{why} Please ask your help desk."
        if reason == "asked_for_human":
            shown = f"your question{_WITH_ANSWER if leaned else ''}{_ALONE if private else ''}"
            return f"Of course. {self._handed_over(platform, people, shown)}"
        if private:
            if not leaned:
                return f"{self.statement(reason)} {HANDOFF_OFFER}"
            seen = f"They'd see this question{_WITH_EARLIER}, with my answers{_ALONE}."
            return f"{self.statement(reason)} {HANDOFF_QUESTION} {seen}{_BY_WORD}"
        shown = f"this question{_WITH_EARLIER if leaned else ''}"
        return f"{self.statement(reason)} {self._handed_over(platform, people, shown)}"

    def statement(self, reason: EscalationReason) -> str:
        """Return why there is no answer; "" where none was asked for, but a person."""
        match reason:
            case "nothing_found":
                return self.not_found
            case "unsupported":
                return _UNSUPPORTED
            case "unavailable" | "undelivered":
                return _UNAVAILABLE
            case "low_confidence":
                return self.uncertain
            case "asked_for_human":
                return ""

    def _handed_over(self, platform: Platform, people: str, shown: str) -> str:
        if platform in self.asks_people or (people and platform in self.asks_named):
            return f"{_ASKED} They see {shown}; {_HERE}"
        return f"{ON_HELP_DESK_LIST} They see {shown}."


def asks_topic(said: str) -> bool:
    """Tell whether something that the bot said asks what a person is wanted for."""
    return said in {ASK_TOPIC, ASK_TOPIC_IN_CHANNEL}


def person_request(question: str) -> str:
    """Return what a button says that asks for a person about a question.

    "" is the question that was asked last; the conversation tells which that is.
    """
    return f"{PERSON_REQUEST}\n\n{question}" if question else PERSON_REQUEST


def requested_question(said: str) -> str:
    """Return the question that a wish names, "" where it names none or is no such wish."""
    return said.removeprefix(PERSON_REQUEST).strip() if said.startswith(PERSON_REQUEST) else ""


def as_ephemeral(response: Response) -> Response:
    """Return what is said to one person alone, below which nobody can write.

    A button alone takes the offer of a person, and people answer in a direct message.
    """
    if not isinstance(response, Escalation):
        return response
    text = response.text.replace(_BY_WORD, "").replace(_HERE, _DIRECTLY)
    return replace(response, text=text)


def as_thread_reply(response: Response) -> Response:
    """Return what is said where each message beside the thread begins another one.

    A "yes" there would be taken for a greeting: nothing was asked before it.
    """
    if not isinstance(response, Escalation):
        return response
    return replace(response, text=response.text.replace(_BY_WORD, _BY_WORD_BELOW))


def people_channel(delivery: Delivery, usual: str | None) -> str | None:
    """Return the channel where people are asked about a delivery; None where they are not.

    It is the one that the policy of the question's own channel names, else the ``usual`` one.
    """
    response = delivery.outcome.response
    if not isinstance(response, Escalation) or response.consent_needed:
        return None
    return response.people or usual


def as_list_only(response: Response) -> Response:
    """Return what is said when people's channel can't be reached: the board alone has the case."""
    if not isinstance(response, Escalation):
        return response
    text = response.text.replace(_ASKED, ON_HELP_DESK_LIST)
    for where in (_HERE, _DIRECTLY):
        text = text.replace(f"; {where}", ".")
    return replace(response, text=text if ON_HELP_DESK_LIST in text else ON_HELP_DESK_LIST)

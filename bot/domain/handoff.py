"""Hand a question to a person: the texts for its asker, and the button that asks for a person.

The texts promise only what happens on the asker's platform: a channel of experts, the help desk's
list, or nothing. The button below an answer and a typed "yes" are equivalent; experts are asked
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.domain.interactions import (
    Clarification,
    Delivery,
    Escalation,
    EscalationReason,
    Interaction,
    Reply,
    Response,
)
from bot.domain.messages import InteractionId, Message, Platform, chosen_section, is_chosen_option

_UNAVAILABLE = "I can't look this up right now."
_UNSUPPORTED = "I found pages on this, but nothing in them that supports an answer."
HANDOFF_QUESTION = "Shall I ask a person?"
"""Text that offers a hand-over; the router reads a "yes" to it as a request for a person.

languages.toml has it in other languages.
"""

_WHAT = "What is it about?"
ASK_TOPIC = f"{_WHAT} Write it here, and I will ask a person."
ASK_TOPIC_IN_CHANNEL = f"{_WHAT} Mention me with it, and I will ask a person."
"""Question back to an asker who wants a person and has not named a question."""

PERSON_REQUEST = "I'd like to ask a person, please."
"""Message text of the button that asks for a person; the presser typed none of it."""

SECTION_OF_PAGE = "A section of a page in the wiki"
"""Names a section that was chosen beside an answer, once nobody knows below which question."""

_BY_WORD = " Reply \u201cyes\u201d."
_BY_WORD_BELOW = " Reply \u201cyes\u201d in this thread."
_ASK_HELP_DESK = "Please ask your help desk."
_WITH_EARLIER = " and the earlier ones that it refers to"
_WITH_ANSWER = " and what we said about it"
_ALONE = ", nothing else"
_HERE = "they'll answer here."
_DIRECTLY = "they'll answer you in a direct message."
_PROMISE = "I've asked"
_ASKED = f"{_PROMISE} the people who look after this."
ON_HELP_DESK_LIST = "I've put your question on the help desk's list for a person to answer."
"""Text for a platform where experts see the question on the board only, not in a channel."""

HANDOFF_OFFER = f"{HANDOFF_QUESTION} They'd see this question and my answer{_ALONE}.{_BY_WORD}"
"""Offer in a private conversation, for a question without context from earlier ones."""


PICTURE_OFFER = f"I can't read pictures. {HANDOFF_QUESTION}"
"""Beginning of the reply to pictures without a word."""


def is_picture_offer(response: Response) -> bool:
    """Return whether a response offers a person for a picture."""
    return response.text.startswith(PICTURE_OFFER)


@dataclass(frozen=True, slots=True)
class HandoffClosing:
    """The end of a hand-over's text in another language, below why there is no answer.

    ``offer`` asks in private whether to ask a person, and ``seen`` says what they would see.
    ``passed_on`` tells a channel, or whoever accepted the offer; it is true of experts and of the
    help desk's list. ``help_desk`` is for where nobody can be asked. No text asks for a typed
    reply, as there is a button.
    """

    offer: str
    seen: str
    passed_on: str
    help_desk: str


@dataclass(frozen=True, slots=True)
class HandoffWording:
    """Texts of a hand-over, by reason and platform.

    ``closing`` is what follows ``not_found`` and ``uncertain`` in another language than English,
    and what somebody is told who accepts its offer.
    ``wiki_language`` is the tag of the language that can be searched in.
    ``asks_people`` are the platforms with a channel that shows the question to experts at once;
    ``asks_named`` those that do so only if the channel's policy names such a channel. Elsewhere the
    question is put on the help desk's list (``python -m bot escalations``), and the text says so;
    the command line stores nothing and says so.
    """

    not_found: str
    uncertain: str
    closing: HandoffClosing | None = None
    wiki_language: str = "en"
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
        """Return the text for the asker; in private a hand-over is offered, not made.

        The text states what experts will see: the question, and the earlier ones if it ``leaned``
        on them. ``people`` is the experts' channel that the channel's policy names.
        """
        worded = {"nothing_found", "low_confidence", "asked_for_human"}
        closing = self.closing if reason in worded else None
        if platform == "cli":
            why = self.statement(reason) or "Nobody can be asked from here."
            return f"{why} {closing.help_desk if closing else _ASK_HELP_DESK}"
        if reason == "asked_for_human" and closing:
            return closing.passed_on
        if reason == "asked_for_human":
            shown = f"your question{_WITH_ANSWER if leaned else ''}{_ALONE if private else ''}"
            return f"Of course. {self._handed_over(platform, people, shown)}"
        if closing:
            end = f"{closing.offer} {closing.seen}" if private else closing.passed_on
        elif private:
            end = _offered(leaned=leaned)
        else:
            shown = f"this question{_WITH_EARLIER if leaned else ''}"
            end = self._handed_over(platform, people, shown)
        return f"{self.statement(reason)} {end}"

    def statement(self, reason: EscalationReason) -> str:
        """Return why there is no answer; "" if the asker requested a person."""
        match reason:
            case "nothing_found":
                return self.not_found
            case "unsupported":
                return _UNSUPPORTED
            case "unavailable" | "waited" | "undelivered":
                return _UNAVAILABLE
            case "low_confidence":
                return self.uncertain
            case "asked_for_human":
                return ""

    def _handed_over(self, platform: Platform, people: str, shown: str) -> str:
        if platform in self.asks_people or (people and platform in self.asks_named):
            return f"{_ASKED} They see {shown}; {_HERE}"
        return f"{ON_HELP_DESK_LIST} They see {shown}."


def _offered(*, leaned: bool) -> str:
    seen = f"{_WITH_EARLIER}, with my answers" if leaned else " and my answer"
    return f"{HANDOFF_QUESTION} They'd see this question{seen}{_ALONE}.{_BY_WORD}"


def asks_topic(said: str) -> bool:
    """Return whether a text of the bot is the question back for a topic."""
    return said in {ASK_TOPIC, ASK_TOPIC_IN_CHANNEL}


def person_request(question: str) -> str:
    """Return the message text of a button that asks for a person about ``question``.

    "" means the question asked last, which the conversation determines.
    """
    return f"{PERSON_REQUEST}\n\n{question}" if question else PERSON_REQUEST


def typed_question(asked: Interaction, there: Sequence[Interaction]) -> str:
    """Return the words that somebody typed: of a chosen option, the question that it makes clear.

    ``there`` are messages of the thread, oldest first. An option has a page's words, which nobody
    is told whom the page is closed to, now or later; one whose question is not there gives "".
    """
    before = (each for each in reversed(there) if each.number < asked.number)
    typed = _typed_message(asked.message, before)
    return "" if is_chosen_option(typed) else typed.text


def own_words(asked: Message, before: Iterable[Interaction]) -> str:
    """Return what an asker wrote: of a chosen option the question that it makes clear.

    ``before`` are the earlier messages of the thread, newest first. An option whose question is not
    there is returned as it is, but for a section beside an answer.
    """
    typed = _typed_message(asked, before)
    return typed.text if chosen_section(typed) is None else SECTION_OF_PAGE


def _typed_message(asked: Message, before: Iterable[Interaction]) -> Message:
    """Return the message that offered a chosen option, and so on; ``before`` is newest first."""
    said = asked
    for each in before:
        response = each.outcome.response if each.outcome else None
        offered = isinstance(response, Clarification) and said.text in response.options
        beside = isinstance(response, Reply) and bool(response.sources)
        if offered or (beside and chosen_section(said) is not None):
            said = each.message
    return said


def requested_question(said: str) -> str:
    """Return the question in the text of such a button, "" if there is none or it is other text."""
    return said.removeprefix(PERSON_REQUEST).strip() if said.startswith(PERSON_REQUEST) else ""


def as_ephemeral(response: Response) -> Response:
    """Return the response worded for an ephemeral message, which nobody can reply below.

    Only a button can accept the offer of a person, and experts answer in a direct message.
    """
    if not isinstance(response, Escalation):
        return response
    text = response.text.replace(_BY_WORD, "").replace(_HERE, _DIRECTLY)
    return replace(response, text=text)


def as_thread_reply(response: Response) -> Response:
    """Return the response worded for a channel where messages outside the thread start another.

    A "yes" outside the thread would be read as a greeting: nothing was asked before it.
    """
    if not isinstance(response, Escalation):
        return response
    return replace(response, text=response.text.replace(_BY_WORD, _BY_WORD_BELOW))


def people_channel(delivery: Delivery, usual: str | None) -> str | None:
    """Return the channel where experts are asked about a delivery; None if they are not asked.

    It is the one that the policy of the question's channel names, else the ``usual`` one.
    """
    response = delivery.outcome.response
    if not isinstance(response, Escalation) or response.consent_needed:
        return None
    return response.people or usual


def as_list_only(response: Response) -> Response:
    """Return the response worded for a case that only the board shows: the channel failed.

    A text that does not say who was asked, as in other languages, stays.
    """
    if not isinstance(response, Escalation):
        return response
    text = response.text.replace(_ASKED, ON_HELP_DESK_LIST)
    for where in (_HERE, _DIRECTLY):
        text = text.replace(f"; {where}", ".")
    return replace(response, text=ON_HELP_DESK_LIST if _PROMISE in text else text)


THREAD_MESSAGES_CHECKED = 20
"""Number of the thread's last messages that are checked."""

_PERSON_SUFFIX = ":person"
ASKED_ALREADY = "A person was asked about this already, so I haven't asked a second time."


def is_person_request(message: Message) -> bool:
    """Return whether a message comes from a button that asks for a person."""
    return message.text.startswith(PERSON_REQUEST)


def person_request_id(asked_id: str) -> str:
    """Return the message id of the button below a message; one for each message."""
    return f"{asked_id}{_PERSON_SUFFIX}"


def person_request_below(asked: Message) -> InteractionId:
    """Return the interaction id of the button below a question, whether it was pressed or not."""
    return replace(asked, id=person_request_id(asked.id)).interaction_id


def question_of_person_request(wish: Message) -> InteractionId | None:
    """Return the question's interaction id of a button message; None for a typed message."""
    if not is_person_request(wish) or not wish.id.endswith(_PERSON_SUFFIX):
        return None
    return replace(wish, id=wish.id.removesuffix(_PERSON_SUFFIX)).interaction_id


def asked_already(message: Message, before: Sequence[Interaction]) -> bool:
    """Return whether an earlier message already asked a person what a button message asks.

    ``before`` are the earlier messages of the thread, oldest first. A button without a question
    refers to the one asked last.
    """
    question = requested_question(message.text)
    handed = [
        each
        for each in before
        if each.outcome is not None
        and not each.outcome.silent
        and not each.outcome.is_kept_without_text
    ]
    if not question:
        handed = handed[-1:]
    return any(_asked_people(each, question) for each in handed)


def _asked_people(interaction: Interaction, question: str) -> bool:
    """Return whether a message asked for a person, about ``question`` or, with "", about any."""
    outcome = interaction.outcome
    response = outcome.response if outcome else None
    if not isinstance(response, Escalation) or response.reason != "asked_for_human":
        return False
    return not question or f"{response.question}\n".startswith(f"{question}\n")

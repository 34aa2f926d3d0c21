"""Messages of the bot and of people, streamed ones too, and what Teams takes of an activity."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.fakes.teams import cards
from tests.fakes.teams.cards import attached, card_problems
from tests.fakes.teams.exchange import Refused
from tests.fakes.teams.people import place_of, thread_of

MESSAGE_ENTITY = "https://schema.org/Message"


@dataclass(frozen=True)
class Sent:
    """An activity as it arrived over the wire, under the id that it was given.

    ``conversation`` is where it is, thread and all.
    """

    id: str
    conversation: str
    reply_to: str | None
    activity: Mapping[str, Any]
    authorization: str

    @property
    def place(self) -> str:
        """The chat or channel, without the thread."""
        return place_of(self.conversation)

    @property
    def thread(self) -> str:
        """The id of the message that began the thread, "" outside of channels."""
        return thread_of(self.conversation)

    @property
    def is_root(self) -> bool:
        """Whether it begins a thread, or is in a place without threads."""
        return self.thread in {"", self.id}

    def over(self, card: Sent) -> Sent:
        """Return these words with the card that is right below them."""
        hung = {"attachments": card.activity["attachments"]}
        return replace(self, activity={**self.activity, **hung})

    @property
    def text(self) -> str:
        """Its text, or the paragraphs of the card that is a whole answer."""
        return str(self.activity.get("text") or "") or cards.paragraphs(self.activity)

    @property
    def shown(self) -> str:
        """What a person reads: the text, the citations, and the cards below it."""
        text = str(self.activity.get("text") or "")
        return "\n".join([*([text] if text else []), *self._cited(), *map(cards.words, self.cards)])

    @property
    def cards(self) -> Sequence[Mapping[str, Any]]:
        """The Adaptive Cards below the text."""
        return cards.attached(self.activity)

    @property
    def labels(self) -> list[str]:
        """What is written on the buttons of its cards, in order."""
        return [label for card in self.cards for label in cards.labels(card)]

    def _cited(self) -> list[str]:
        entities = self.activity.get("entities") or []
        roots = [each for each in entities if each["type"] == MESSAGE_ENTITY]
        return [
            f"[{claim['position']}] {claim['appearance']['name']} "
            f"{claim['appearance'].get('url', '')} {claim['appearance']['abstract']}"
            for root in roots
            for claim in root.get("citation", [])
        ]


@dataclass
class Written:
    """A message of a person. ``typed`` is what they typed, ``activity`` how Teams tells of it."""

    id: str
    conversation: str
    person: str
    typed: str
    activity: Mapping[str, Any]
    deleted: bool = False

    @property
    def place(self) -> str:
        return place_of(self.conversation)

    @property
    def thread(self) -> str:
        return thread_of(self.conversation)


BUDGET = 100_000
"""Bytes of a whole activity as UTF-16, as Microsoft documents it."""

MOST_CITATIONS = 10
"""Teams takes 20, the playground as many as this."""

_NAME, _ABSTRACT, _KEYWORD, _KEYWORDS = 80, 160, 28, 3

Activity = Mapping[str, Any]


def check_activity(activity: Activity) -> None:
    """Raises Refused for what Teams does not take."""
    if is_too_big(activity):
        raise Refused("MessageSizeTooBig", "Message size too large.")
    if activity["type"] != "message":
        return
    wrong = [
        *_problems_of_content(activity),
        *_problems_of_entities(activity),
        *_problems_of_cards(activity),
    ]
    if wrong:
        raise Refused("BadRequest", "; ".join(wrong))


def is_too_big(activity: Activity) -> bool:
    return len(json.dumps(activity, ensure_ascii=False).encode("utf-16-le")) > BUDGET


def _problems_of_content(activity: Activity) -> Iterator[str]:
    if not (activity.get("text") or activity.get("attachments")):
        yield "Activity must have text or attachments"
    if activity.get("textFormat", "markdown") not in {"plain", "markdown", "xml"}:
        yield f"textFormat {activity['textFormat']!r} is not known"


def _problems_of_cards(activity: Activity) -> Iterator[str]:
    for card in attached(activity):
        yield from card_problems(card)


def _problems_of_entities(activity: Activity) -> Iterator[str]:
    text = str(activity.get("text") or "")
    entities = activity.get("entities") or []
    roots = [each for each in entities if each["type"] == MESSAGE_ENTITY]
    if len(roots) > 1:
        yield "Multiple root message entities found in the bot activity"
    for root in roots:
        yield from _problems_of_root(root, text)
    for mention in entities:
        if mention["type"] == "mention" and mention.get("text", "\0") not in text:
            yield "a mention is not in the text"


def _problems_of_root(root: Mapping[str, Any], text: str) -> Iterator[str]:
    if root.get("@type") != "Message" or root.get("@context") != "https://schema.org":
        yield "the message entity lost its fields"
    if root.get("additionalType", ["AIGeneratedContent"]) != ["AIGeneratedContent"]:
        yield "additionalType is not known"
    if "usageInfo" in root and not root["usageInfo"].get("name"):
        yield "usageInfo has no name"
    cited = root.get("citation", [])
    if len(cited) > MOST_CITATIONS:
        yield f"more than {MOST_CITATIONS} citations"
    positions = [claim.get("position") for claim in cited]
    if len(set(positions)) < len(positions):
        yield "two citations have one position"
    for claim in cited:
        yield from _problems_of_claim(claim, text)


def _problems_of_claim(claim: Mapping[str, Any], text: str) -> Iterator[str]:
    appearance = claim["appearance"]
    if f"[{claim['position']}]" not in text:
        yield f"the text does not mark [{claim['position']}]"
    if not 0 < len(appearance["name"]) <= _NAME:
        yield f"a citation's name has {len(appearance['name'])} characters"
    if not 0 < len(appearance["abstract"]) <= _ABSTRACT:
        yield f"a citation's abstract has {len(appearance['abstract'])} characters"
    if not str(appearance.get("url", "https://")).startswith(("https://", "http://")):
        yield "a citation's url is none"
    keywords = appearance.get("keywords", [])
    if len(keywords) > _KEYWORDS or any(len(word) > _KEYWORD for word in keywords):
        yield "a citation has too many or too long keywords"


LONGEST_STREAM_SECONDS = 120.0
LONGEST_INFORMATIVE = 1_000
_NOT_ALLOWED = "Content stream is not allowed."
_OVER: Mapping[str, str] = {
    "completed": "Content stream is not allowed on an already completed streamed message.",
    "exceeded": "Content stream finished due to exceeded streaming time.",
    "stopped": "Content stream was canceled by user.",
}

StreamState = Literal["open", "completed", "exceeded", "stopped"]
StreamInfo = Mapping[str, Any]


@dataclass
class Stream:
    """One stream. ``shown`` is what its reader saw, in order; ``text`` what is written so far."""

    id: str
    conversation: str
    began: float
    reply_to: str | None = None
    sequence: int = 0
    state: StreamState = "open"
    text: str = ""
    shown: list[str] = field(default_factory=list)
    newest: Activity = field(default_factory=dict)

    def take(self, activity: Activity, info: StreamInfo) -> None:
        """Go on, or end. Raises Refused."""
        if self.state != "open":
            raise stream_refusal(_OVER[self.state])
        if is_too_big(activity):
            raise stream_refusal("Message size too large")
        if info["streamType"] == "final":
            self._end(activity, info)
        else:
            self._grow(activity, info)

    def _end(self, activity: Activity, info: StreamInfo) -> None:
        if "streamSequence" in info:
            raise Refused("BadRequest", "The final message of a stream has no sequence.")
        check_activity(activity)
        self._show(activity)
        self.state = "completed"

    def _grow(self, activity: Activity, info: StreamInfo) -> None:
        number, text = info.get("streamSequence"), str(activity.get("text") or "")
        if not isinstance(number, int) or number < 1:
            raise Refused("BadRequest", "streamSequence is missing")
        if number <= self.sequence:
            raise Refused(
                "ContentStreamSequenceOrderPreConditionFailed",
                "PreCondition failed exception when processing streaming activity.",
            )
        _check_part(activity, info)
        if info["streamType"] == "streaming":
            if not text.startswith(self.text):
                raise Refused("BadRequest", "The text of a stream is cumulative.")
            self.text = text
        self.sequence = number
        self._show(activity)

    def _show(self, activity: Activity) -> None:
        self.newest = activity
        self.shown.append(str(activity.get("text") or ""))


def stream_info(activity: Activity) -> StreamInfo | None:
    """Return what an activity says of its stream, None for one of no stream."""
    entities = activity.get("entities") or []
    found = [each for each in entities if each["type"] == "streaminfo"]
    if not found:
        return None
    info = found[0]
    kinds = {"informative": "typing", "streaming": "typing", "final": "message"}
    if kinds.get(str(info.get("streamType"))) != activity["type"]:
        raise Refused("BadRequest", f"{info} is not for an activity of type {activity['type']}")
    return dict(info)


def stream_refusal(message: str = _NOT_ALLOWED) -> Refused:
    return Refused("ContentStreamNotAllowed", message)


def check_first_part(activity: Activity, info: StreamInfo) -> None:
    """Raises Refused for what cannot begin a stream."""
    if info["streamType"] == "final" or info.get("streamSequence") != 1:
        raise Refused("BadRequest", "A stream begins with streamSequence 1.")
    if not activity.get("text"):
        raise Refused("BadRequest", "Start streaming activities should include text")


def _check_part(activity: Activity, info: StreamInfo) -> None:
    text = str(activity.get("text") or "")
    if info["streamType"] == "informative" and len(text) > LONGEST_INFORMATIVE:
        raise Refused("BadRequest", "An informative update has at most 1,000 characters.")
    if activity.get("attachments") or "feedbackLoop" in (activity.get("channelData") or {}):
        raise Refused("BadRequest", "Attachments and feedback come with the final message.")
    if len(activity["entities"]) > 1:
        raise Refused("BadRequest", "Citations and labels come with the final message.")

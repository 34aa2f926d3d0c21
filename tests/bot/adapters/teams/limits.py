"""What Teams, and the stricter playground, take of an activity."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.bot.adapters.teams.tenant.answers import Refused
from tests.bot.adapters.teams.tenant.card_rules import problems
from tests.bot.adapters.teams.tenant.cards import attached
from tests.bot.adapters.teams.tenant.posts import MESSAGE_ENTITY

BUDGET = 25_000
"""Bytes of a whole activity as UTF-16. Teams says 100 KB, and fails earlier."""

MOST_CITATIONS = 10
"""Teams takes 20, the playground as many as this."""

_NAME, _ABSTRACT, _KEYWORD, _KEYWORDS = 80, 160, 28, 3

Activity = Mapping[str, Any]


def check(activity: Activity) -> None:
    """Raises Refused for what Teams does not take."""
    if is_too_big(activity):
        raise Refused("MessageSizeTooBig", "Message size too large.")
    if activity["type"] != "message":
        return
    wrong = [*_of_content(activity), *_of_entities(activity), *_of_cards(activity)]
    if wrong:
        raise Refused("BadRequest", "; ".join(wrong))


def is_too_big(activity: Activity) -> bool:
    return len(json.dumps(activity, ensure_ascii=False).encode("utf-16-le")) > BUDGET


def _of_content(activity: Activity) -> Iterator[str]:
    if not (activity.get("text") or activity.get("attachments")):
        yield "Activity must have text or attachments"
    if activity.get("textFormat", "markdown") not in {"plain", "markdown", "xml"}:
        yield f"textFormat {activity['textFormat']!r} is not known"


def _of_cards(activity: Activity) -> Iterator[str]:
    for card in attached(activity):
        yield from problems(card)


def _of_entities(activity: Activity) -> Iterator[str]:
    text = str(activity.get("text") or "")
    entities = activity.get("entities") or []
    roots = [each for each in entities if each["type"] == MESSAGE_ENTITY]
    if len(roots) > 1:
        yield "Multiple root message entities found in the bot activity"
    for root in roots:
        yield from _of_root(root, text)
    for mention in entities:
        if mention["type"] == "mention" and mention.get("text", "\0") not in text:
            yield "a mention is not in the text"


def _of_root(root: Mapping[str, Any], text: str) -> Iterator[str]:
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
        yield from _of_claim(claim, text)


def _of_claim(claim: Mapping[str, Any], text: str) -> Iterator[str]:
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

"""The check that nothing in an activity, card or dialog works that code did not build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.fakes.hostile_wiki import PAGES
from tests.fakes.teams.cards import CARD_TYPE

Json = Mapping[str, Any]

_ADDRESSES = (PAGES, "https://teams.microsoft.com/l/message/", "https://desk.example.com/")
_LABEL = r"(?<![!\\])\[(?:\\.|[^\[\]\\])*\]"
_OURS = re.compile(rf"{_LABEL}\((?:{'|'.join(map(re.escape, _ADDRESSES))})[^\s()<>]*\)")
_SAID = re.compile(r"\[(https://(?:\\.|[^\[\]\\\s])*)\]\((https://[^\s()<>]*)\)")
"""An address that a colleague wrote in a reply: it leads to where it says."""

_AT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_TIME = re.compile(rf"\{{\{{DATE\({_AT}, SHORT\)\}}\}} \{{\{{TIME\({_AT}\)\}}\}}")
"""A time as code writes it, alone."""

_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_BARE = r"://|(?<![^\W\u02cb])(?<!@)(?:www\.)?evil\.example(?![^\W\u02cb])"
_LIVE = re.compile(
    rf"(?<!\\)\]\(|(?<!\\)!\[|^ *\[[^\]]+\]:|<|{_BARE}", re.IGNORECASE | re.MULTILINE
)
_LIVE_ON_CARD = re.compile(rf"{_LIVE.pattern}|\{{\{{", re.IGNORECASE | re.MULTILINE)
_TOLD = re.compile(r"\*\*Anna Lopez\*\* (?:replied|can't help with your question):")
_TAG = re.compile(r"<\s*/?\s*(?:at|attachment|quoted)\b", re.IGNORECASE)

_KEYS = frozenset(
    "type id channelId conversation from recipient replyToId serviceUrl locale text textFormat "
    "summary entities attachments channelData".split()
)
"""What an activity may have; no suggested action, no value, no speech."""

_ENTITIES = {"https://schema.org/Message", "streaminfo"}
_ACTS_BY_ITSELF = {
    "selectAction",
    "backgroundImage",
    "iconUrl",
    "poster",
    "refresh",
    "inlineAction",
}
_LOADS = {"Image", "ImageSet", "Media", "Data.Query", "Action.OpenUrl"}


def wrong_in(sent: Iterable[Json]) -> list[str]:
    """Return what works in any activity though code did not build it."""
    return [one for activity in sent for one in _wrong_in_activity(activity)]


def wrong_in_answers(answers: Iterable[Json]) -> list[str]:
    """Return the same of what presses were answered with: cards, dialogs, and words."""
    return [one for answer in answers for one in _wrong_in_answer(answer)]


def joined_text(sent: Iterable[Json]) -> str:
    """Return all of it, as one text."""
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in sent)


def _wrong_in_activity(activity: Json) -> Iterator[str]:
    for key in activity.keys() - _KEYS:
        yield f"a field {key!r}"
    text = str(activity.get("text") or "")
    if activity.get("textFormat", "markdown") not in {"plain", "markdown"}:
        yield f"textFormat {activity['textFormat']!r}"
    yield from (f"text {each!r} in {text!r:.300}" for each in live_markdown(text))
    yield from _computed("summary", activity.get("summary"))
    for key in (activity.get("channelData") or {}).keys() - {"feedbackLoop", "tenant"}:
        yield f"channelData {key!r}"
    for entity in activity.get("entities") or []:
        yield from _wrong_in_entity(entity)
    for attached in activity.get("attachments") or []:
        yield from _wrong_in_attachment(attached)


def _wrong_in_answer(answer: Json) -> Iterator[str]:
    task = answer.get("task") or {}
    shown: Any = task.get("value") if task else answer.get("value")
    if isinstance(shown, str):
        yield from (f"words {each!r} in {shown!r:.300}" for each in _LIVE.findall(shown))
    elif task:
        yield from (f"a dialog's {key!r}" for key in shown.keys() - _DIALOG)
        yield from _computed("title", shown.get("title"))
        yield from _wrong_in_attachment(shown["card"])
    elif shown:
        yield from _wrong_on_card(shown)


_DIALOG = {"title", "height", "width", "card"}


def live_markdown(text: str) -> list[str]:
    """Return what works in a text of Markdown: links, images, tags and addresses."""
    prose = _OURS.sub("", _CODE.sub(" ", text))
    own = _SAID.sub(_unless_honest, prose) if _TOLD.match(text) else prose
    return _LIVE.findall(own) + _TAG.findall(text)


def _unless_honest(link: re.Match[str]) -> str:
    """Return nothing of a link that leads to the host that it shows."""
    shown = re.sub(r"\\(.)", r"\1", link[1])
    same = _host(shown) == _host(link[2])
    return "" if same else link[0]


def _host(address: str) -> str:
    return unquote(urlsplit(address).netloc).casefold()


def _wrong_in_entity(entity: Json) -> Iterator[str]:
    if entity.get("type") not in _ENTITIES:
        yield f"an entity {entity.get('type')!r}"
    for claim in entity.get("citation", []):
        shown = claim["appearance"]
        if not str(shown.get("url", PAGES)).startswith(PAGES):
            yield f"a citation's url {shown['url']!r}"
    for key, value in _fields(entity):
        if key in {"url", "image", "icon", "encodingFormat"} and not value.startswith(PAGES):
            yield f"{key} {value!r}"


def _wrong_in_attachment(attached: Json) -> Iterator[str]:
    if attached.get("contentType") != CARD_TYPE or set(attached) - {"contentType", "content"}:
        yield f"an attachment {attached!r:.200}"
    yield from _wrong_on_card(attached["content"])


def _wrong_on_card(card: Json) -> Iterator[str]:
    for part in _card_parts(card):
        kind = part.get("type", "")
        if kind in _LOADS or part.keys() & _ACTS_BY_ITSELF or part.get("url"):
            yield f"{kind} {dict(part)!r:.200}"
        yield from _live_on_card(str(part.get("fallbackText", "")))
        if kind == "TextBlock" and not _TIME.fullmatch(part["text"]):
            yield from _live_on_card(part["text"])
            yield from _computed(kind, part["text"])
        elif kind not in {"TextBlock", "CodeBlock"}:
            for key in ("text", "title", "label", "placeholder", "errorMessage"):
                yield from _computed(f"{kind}.{key}", part.get(key))
        if kind == "FactSet":
            facts = [fact[key] for fact in part["facts"] for key in ("title", "value")]
            yield from (
                f"a fact {each!r}" for fact in facts for each in _LIVE_ON_CARD.findall(fact)
            )
        if (part.get("msteams") or {}).keys() - {"width", "type"}:
            yield f"msteams {part['msteams']!r}"


def _live_on_card(text: str) -> Iterator[str]:
    shown = _OURS.sub("", text)
    yield from (f"{each!r} in {shown!r:.300}" for each in _LIVE_ON_CARD.findall(shown))


def _computed(key: str, text: object) -> Iterator[str]:
    """Yield what steers a card or names somebody in words that are plain to Teams."""
    if isinstance(text, str) and "{{" in text:
        yield f"{key} {text!r:.200}"


def _card_parts(payload: object) -> Iterator[Json]:
    """Yield every object of a card, also below fallbacks and in what buttons unfold."""
    if isinstance(payload, Mapping):
        yield payload
        for key, value in payload.items():
            if key != "data":
                yield from _card_parts(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from _card_parts(value)


def _fields(payload: object) -> Iterator[tuple[str, str]]:
    if isinstance(payload, Mapping):
        for key, value in payload.items():
            if isinstance(value, str):
                yield str(key), value
            yield from _fields(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from _fields(value)

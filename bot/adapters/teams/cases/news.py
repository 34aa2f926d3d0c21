"""What an asker is told later in Teams: pure JSON, each activity within what Teams takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.adapters.teams.showing.elements import card, press, text_block, with_card
from bot.adapters.teams.showing.sizes import ROOM, size
from bot.adapters.teams.wire.actions import ASKERS
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_label, teams_markdown, teams_plain
from bot.chat.response_view import web_url
from bot.domain.cases import Notice
from bot.domain.text.markdown import clip, disarm, plain_code, split
from bot.domain.types import InteractionId, Message
from bot.escalations.asker_notices import notice_text
from bot.escalations.case_view import CaseButton

_BELOW = 2_000
"""Bytes kept for the buttons, and for the mark of a part."""

_NAME_LENGTH = 80
_QUESTION_LENGTH = 200
_ADDRESS = re.compile(r"`(https://[^`\s]+)`")


def told(
    message: Message, notice: Notice, offers: Sequence[CaseButton] = (), remark: str = ""
) -> tuple[Json, ...]:
    """Return the activities that tell an asker: who did what, in our words, then theirs.

    In a chat, which has no threads, the question is recalled. Nothing marks it as made by an AI:
    it is a person's. Several say which of how many they are. What the asker may do then, and
    ``remark``, a word of ours, are in a message of their own at the end, for Teams can't edit words
    and a card in one.
    """
    news = notice_text(notice)
    opening = f"**{teams_plain(clip(news.name, _NAME_LENGTH))}** {news.did}"
    about = f"> {_recalled(message.text)}" if message.private else ""
    whole = "\n\n".join(part for part in (about, opening, live(news.words)) if part)
    parts = split(whole, ROOM - _BELOW, size)
    said_so = [_activity(part, number, len(parts)) for number, part in enumerate(parts, start=1)]
    if not (offers or remark):
        return tuple(said_so)
    named = ", ".join([*filter(None, [remark]), *(offer.label for offer in offers)])
    shown: Json = {"type": "message", "summary": named}
    return (*said_so, with_card(shown, below(notice.interaction_id, offers, remark)))


def below(case_id: InteractionId, offers: Sequence[CaseButton], remark: str = "") -> Json:
    """Return the card with what an asker may do, and a word of ours above it."""
    remarks = [text_block(remark, isSubtle=True)] if remark else []
    return card(remarks, [_button(offer, case_id) for offer in offers])


def live(words: str) -> str:
    """Return a person's words in which plain https addresses are links, and nothing else is."""
    return _ADDRESS.sub(_link, _inert(words))


def _button(offer: CaseButton, case_id: InteractionId) -> Json:
    return press(offer.label, ASKERS[offer.act], case_id, first=offer.first)


def _link(found: re.Match[str]) -> str:
    url = web_url(found[1])
    return found[0] if url is None else f"[{teams_label(found[1])}]({url})"


def _recalled(question: str) -> str:
    return _inert(clip(question, _QUESTION_LENGTH))


def _inert(words: str) -> str:
    """Return a person's Markdown; what is code in it is code to every client."""
    return teams_markdown(plain_code(disarm(words)))


def _activity(text: str, number: int, of: int) -> Json:
    shown = text if of == 1 else f"_({number} of {of})_\n\n{text}"
    return {"type": "message", "text": shown, "textFormat": "markdown"}

"""The notes of a trace in words; the record keeps them in English.

Notes have no words of users or pages. A note of an older version is shown as it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bot.domain.outcomes import DRAFTED
from bot.domain.texts import tr, trn

LIMITS: Final[Mapping[str, str]] = {
    "pause": tr("answering was paused"),
    "queue_full": tr("too many questions were waiting"),
    "rate_per_user_per_minute": tr("one person sent too many messages within a minute"),
    "rate_per_channel_per_minute": tr("too many messages came within a minute in one channel"),
    "model_tokens_per_day": tr("the day's tokens were used up"),
    "model_usd_per_day": tr("the day's budget was used up"),
    "model_tokens_per_user_per_day": tr("one person's tokens for the day were used up"),
    "bot_turns_per_thread": tr("bots were answering each other"),
    "card_thread": tr("it was written below a card, where nobody reads it"),
    "channel_off": tr("answers are turned off in this channel"),
    "channel_shadow": tr("the bot only practises in this channel"),
    "asked_already": tr("a person was asked about this already"),
    "stopped": tr("the asker stopped the answer"),
    "outsiders": tr("people from outside are not answered"),
    "outsiders_not_known": tr("it could not be found out whether people from outside read along"),
}
"""Why a message was refused, by the name that the record and the metrics have for it."""

_AS_STORED: Final = (
    tr("no language model is configured"),
    tr("the model did not say how it understood the message"),
    tr("the model's reading of the message was not used"),
    tr("the model's translation of the question was not used"),
    tr(
        "the model that was named is not configured (OPENAI_CHANNEL_MODELS, MODELS__NAME__MODEL): "
        "the usual one was used"
    ),
    tr("the question names a page, a section or a term of the wiki"),
    tr("one word that titles name was taken for a new question"),
    tr("the spelling of the question was corrected"),
    tr("the answer could not be composed"),
    tr("the index did not answer"),
    tr("the planning of the search was cut short: the model failed"),
)
NOTES: Final[Mapping[str, str]] = {
    **{note: note for note in _AS_STORED},
    "It waited longer than FRONTDESK_LONGEST_WAIT_MINUTES.": tr(
        "it waited longer than FRONTDESK_LONGEST_WAIT_MINUTES"
    ),
    "The desk stopped; the log says why.": tr("an error stopped the work; the log says why"),
    "An older version gave it up.": tr("an older version gave it up"),
    "The work failed again and again; see the log.": tr(
        "the work failed again and again; see the log"
    ),
    DRAFTED: tr("a draft: the bot only practises in this channel"),
}
_LIMIT: Final = "limit:"
_PATTERNS: Final = (
    re.compile(r"the model failed \((?P<code>\w+)\): answered without one"),
    re.compile(r"pages that failed the last check were left out: (?P<n>\d+)"),
    re.compile(r"standard answer: (?P<page>.+)"),
    re.compile(
        r"people from outside ask or read along: answered from the spaces open to them, "
        r"(?P<spaces>.*)"
    ),
)


def note_text(note: str) -> str:
    """Return a note as a text, in lower case and without a full stop."""
    if note.startswith(_LIMIT):
        return LIMITS.get(note.removeprefix(_LIMIT), note)
    return NOTES.get(note) or _filled(note)


def _filled(note: str) -> str:
    found = next(filter(None, (each.fullmatch(note) for each in _PATTERNS)), None)
    match found.groupdict() if found else {}:
        case {"code": code}:
            return tr("the model failed ({code}): answered without one", code=code)
        case {"n": number}:
            return trn(
                "{n} page that failed the last check was left out",
                "{n} pages that failed the last check were left out",
                int(number),
            )
        case {"page": page}:
            return tr("standard answer: {page}", page=page)
        case {"spaces": spaces}:
            return tr(
                "people from outside ask or read along: answered from the spaces open to them, "
                "{spaces}",
                spaces=spaces,
            )
    return note

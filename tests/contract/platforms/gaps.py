"""What a platform does not do, and why: the only place where this is declared."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.contract.platforms.parts import PARTS

_PEOPLE = ("escalated: people see it", "escalation offered: people don't see it yet")
_ASKED_FOR = "human: people see it"
_WHISPER = "permission-limited, with a private addition"

_IN_ORDER = "all steps are told in their order"
_REMINDED = "unclaimed: people are reminded"

_NO_PEOPLE = "no people's channel: `python -m bot escalations` lists the question"
_NO_PLACE = "no people's channel: the board shows what waits"
_AS_IT_STANDS = "the page shows how it stands now and what was said, not every step"
_ALONE = "only the asker reads the thread: the answer itself has all that they may read"
_ASKED_AGAIN = "an edited question is asked again there, in the place of the old one"
_STAYS = "an answer stays as it was given; the changed question is asked anew"
_AT_THE_BOARD = "people act at the board"
_ADDRESSED = "all that is sent there is for the bot, by who is signed in"
_NO_CHANNELS = "there are no channels: who asks is alone with the bot"
_ORDERED_ELSEWHERE = "ordered at the board and by the API's own operations"
_ON_A_PAGE = "the page /cases lists them"
_LISTED = (
    "the API lists what went to people for those who answer; an asker reads their own by its id"
)
_NOT_POSTED = "nothing is posted: it is read when somebody looks"
_UNASKABLE = "Teams can't be asked what was posted: better told twice than never"
_NOT_INSTALLED = "nothing is installed: it is there while the server runs"
_NO_LABEL = "only Teams shows such a mark"
_ALL_RIGHTS = "the client has an expert's rights, and reads the whole history; an asker does not"
_IN_WORDS = "the API has no buttons: a client asks for it in words"
_COMPOSED = "composed by a model: said below the answer"
_NAMES_CALLS = "the API lists the model's calls behind an answer: a client says it in its own words"
_SMALL = "the example is kept small"

_UNADDRESSED = (
    "a follow-up without a mention, where that is allowed",
    "overheard and not sure: silent",
    "overheard and only a guess: silent",
    "overheard and only a part known: silent",
    "other bots are left alone",
)
_REPLACED = "edited after the answer: asked again, and the answer replaced"
_ANSWER_LOST = "a notice is told once although the platform's answer to it was lost"
_OTHERS = (
    "what another asked in the same thread: people don't see it",
    "human, after another's question: people don't see that",
)
_SAME = (
    "the same question of two: one card, and each reads the answer where they asked",
    "the same question of two: whoever is left is answered when the other withdraws",
    "the same question of two: each is told once although processes died in between",
)
_OUTSIDERS = (
    "people from outside are refused, and colleagues where they read along",
    "where spaces are open to people from outside, these alone are searched",
    "a guest's question is marked as a guest's where people are asked",
)
_FILES = (
    "a file that comes with a question is read",
    "a file that can't be read is said",
    "a picture alone: a person is offered",
)
_CARD = (
    "claimed by a button: one has it, and the card says who",
    "a reply by button reaches who asked",
    "a reply below the card reaches who asked, once its author says so",
    "a reply below the card is sent as edited, also where the edit comes first",
    "seeing more: by buttons of the card, for the eyes of who has it",
)
_MORE = (
    "seeing more of the conversation: if who asked agrees, and once",
    "seeing more: who asked says no",
    "seeing more: an old button says so",
)
_OWN_CASES = "my cases: found again by who asked"
_FOR_EXPERTS = (
    "given to a colleague: who asked reads who has it, and not why",
    "a note of those who answer is not for who asked",
)
_REVISED = "a reply that was corrected: who asked reads the new words alone"
_ORDERS = (
    "help: what can be ordered",
    "status: what it answers from",
    "reindex is refused to who is no admin",
    "reindex by an admin is shown to its end",
)
_PRACTISE = (
    "shadow mode: a reviewer alone sees and judges",
    "shadow mode: a withdrawn question takes its draft along",
)
_INSTALLING = ("a welcome where it is added, once", "removed: nothing is sent any more")
_MARKED = "how sensitive it is, by the labels of its pages"
_WHY = "why this answer"
_CLOSED = "its page was closed since: the posted answer is taken away"
_CORRECTED = (
    "its page has changed since: the answer says so, with the date",
    "its page has changed since, in private",
    "its page has changed since: a long answer says so, too",
    _CLOSED,
)
_EACH_VIEW = "nothing is posted: each view asks the index what its reader may read"
_BUTTONS = (
    "a person is asked for by a button",
    "a person asked below a part of an answer sees what it lacks",
    "a person is asked below a guess",
    "an option is chosen by a button",
)


def _because(reasons: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    return MappingProxyType({name: why for why, names in reasons.items() for name in names})


MISSING: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "web": _because(
            {
                _NO_PEOPLE: (*_PEOPLE, _ASKED_FOR),
                _ALONE: (_WHISPER,),
                _ASKED_AGAIN: ("edited after the answer",),
                _AS_IT_STANDS: (_IN_ORDER,),
                _NO_PLACE: (_REMINDED,),
                _AT_THE_BOARD: _CARD,
                _ADDRESSED: _UNADDRESSED,
                _NO_CHANNELS: (*_OUTSIDERS, *_OTHERS, *_SAME, *_PRACTISE),
                _ORDERED_ELSEWHERE: _ORDERS,
                _ON_A_PAGE: (_OWN_CASES,),
                _NOT_INSTALLED: _INSTALLING,
                _NOT_POSTED: (_ANSWER_LOST,),
                _EACH_VIEW: (_CLOSED,),
                _NO_LABEL: (_MARKED,),
            }
        ),
        "rest": _because(
            {
                _NO_PEOPLE: (*_PEOPLE, _ASKED_FOR),
                _ALONE: (_WHISPER,),
                _NO_PLACE: (_REMINDED,),
                _AT_THE_BOARD: _CARD,
                _ADDRESSED: _UNADDRESSED,
                _NO_CHANNELS: (*_OUTSIDERS, *_OTHERS, *_SAME, *_PRACTISE),
                _ORDERED_ELSEWHERE: _ORDERS,
                _LISTED: (_OWN_CASES,),
                _NOT_INSTALLED: _INSTALLING,
                _NOT_POSTED: (_ANSWER_LOST,),
                _EACH_VIEW: (_CLOSED,),
                _NO_LABEL: (_MARKED,),
                _NAMES_CALLS: (_COMPOSED,),
                _IN_WORDS: _BUTTONS,
                _ALL_RIGHTS: _FOR_EXPERTS,
                _STAYS: (_REPLACED,),
            }
        ),
        "slack": _because({_NO_LABEL: (_MARKED,), _STAYS: (_REPLACED,)}),
        "teams": _because({_UNASKABLE: (_ANSWER_LOST,), _STAYS: (_REPLACED,)}),
        "example": _because(
            {
                _SMALL: (
                    _WHY,
                    *_BUTTONS,
                    *_CORRECTED,
                    _MARKED,
                    *_OUTSIDERS,
                    *_OTHERS,
                    *_SAME,
                    *_FILES,
                    *_CARD,
                    _REVISED,
                    *_MORE,
                    _OWN_CASES,
                    _REPLACED,
                    *_UNADDRESSED,
                    *_ORDERS,
                    *_INSTALLING,
                    *_PRACTISE,
                    *(name for name, *_ in PARTS),
                ),
            }
        ),
    }
)
"""By platform, by case."""

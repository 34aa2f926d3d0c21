"""Hears that somebody may harm themselves: then a person is needed, whatever else is asked."""

from __future__ import annotations

import re

_MEANS_TO = (
    r"(?:want|wanna|going|gonna|plan\w*|about|need|wish|like|might|will|could|should|thinking"
    r"|think|ready|have|cant wait|tempted|decided|hope)"
)
_HARM = (
    r"(?:(?:kill|cut|hurt|harm|hang|shoot|drown|burn|stab|poison|starve)(?:ting|ing|ning|ming)?"
    r" my ?self|commit(?:ting)? suicide|overdos\w+|end(?:ing)? (?:it all|my (?:own )?life)"
    r"|tak(?:e|ing) my (?:own )?life|(?:take|swallow) (?:\w+ ){0,3}pills|die|be dead|drown"
    r"|jump (?:off|from|out of|in front of) (?:\w+ )?(?:bridge|building|roof|window|train|cliff))"
)
_DISTRESS = re.compile(
    rf"\b(?:i|im|id|ill|ive) (?:\w+ ){{0,6}}?(?:to )?{_MEANS_TO} (?:\w+ ){{0,4}}?{_HARM}\b"
    r"|\b(?:i|im|ive)(?: \w+){0,6} (?:suicidal|kill(?:ing)? my ?self)\b"
    rf"|\bshould i (?:just )?{_HARM}\b|\blife (?:isnt|is not) worth\b|\bif i (?:was|were) dead\b"
    r"|\bi wish (?:that )?i (?:was|were|am) (?:dead|never born)\b|\bbetter off dead\b"
    r"|\bi (?:dont|do not) want to (?:live|be alive|exist|wake up|be here anymore)\b"
    r"|\bno reason to (?:live|go on)\b|\b(?:want|need) the pain to (?:end|stop)\b"
    r"|\b(?:wont|not) be alive (?:much )?long|\bbeing dead would\b|\bi (?:welcome|want) death\b"
)


def speaks_of_self_harm(clause: str) -> bool:
    """Whether the asker speaks of dying or of hurting themselves."""
    return bool(_DISTRESS.search(clause))

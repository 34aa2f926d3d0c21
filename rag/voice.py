"""Statements that no answer may make in the help desk's own voice. Pure.

A model that obeys a hostile page says that somebody was informed, or asks for a password. Who reads
that believes it, because the help desk says it. English and German are understood.
"""

from __future__ import annotations

import re

_PERSON = (
    r"(?:(?:an?|the|our|your|another|some|one of (?:our|the))\s+(?:\w+\s+){0,2}?"
    r"(?:persons?|humans?|colleagues?|agents?|experts?|specialists?|technicians?|operators?"
    r"|admin\w*|help ?desk|service ?desk|support|team|managers?|engineers?)"
    r"|some(?:body|one)|we|they|support|people)"
)
_YOURS = (
    r"(?:(?:your|this|the)\s+(?:\w+\s+)?(?:questions?|requests?|messages?|issues?|cases?|tickets?"
    r"|problems?|inquir(?:y|ies)|enquir(?:y|ies)|reports?|complaints?|concerns?|conversation"
    r"|details)|this|it)"
)
_HANDED = (
    r"(?:escalated|forwarded|informed|notified|alerted|contacted|transferred|handed (?:over|on)"
    r"|passed (?:on|along|to)|sent (?:on|to)|reported|submitted|taken care of|told)"
)
_COMES_BACK = (
    r"(?:call|phone|ring|contact|reach out|get back|come back|follow up|reply|respond|answer you"
    r"|write (?:to )?you|e-?mail|be in touch|be with you|take (?:over|care)|help you|handle)"
)
_BEEN = r"(?:has|have|had|was|were|(?:is|are) being)"
_WILL = r"(?:will|shall|is going to|are going to)"
_WEITERGEGEBEN = (
    r"(?:weitergeleitet|weitergegeben|informiert|benachrichtigt|eskaliert|\u00fcbergeben"
    r"|verst\u00e4ndigt|kontaktiert)"
)
_SPEAKS = (
    r"\bi (?:have|will|am|can|could|shall|just|already|did|was|now|sent|told|made|put|[a-z]+ed)\b",
    rf"\b(?:{_YOURS}|{_PERSON}) {_BEEN} (?:\w+ly |now |just )?(?:been |being )?{_HANDED}\b",
    rf"\b{_PERSON}(?: \w+){{0,8}}? {_WILL} (?:\w+ )?{_COMES_BACK}\b",
    rf"\bwill {_COMES_BACK}\b[^.!?]{{0,20}}\byou\b",
    r"\bich (?:habe|werde|bin|kann|leite|gebe|informiere|melde)\b",
    rf"\b(?:wurden?|worden|wird|werden|sind|haben?)\b[^.!?]{{0,60}}\b{_WEITERGEGEBEN}\b",
    r"\b(?:meldet|melden) sich\b|\bruf(?:t|en) (?:sie|dich) (?:zur\u00fcck|an)\b",
    r"\bwird sich\b[^.!?]{0,40}\bmelden\b",
)
_PRIVATE = (
    r"(?:passwords?|passphrases?|pass ?codes?|pins?|otps?|credentials?|log-?in data|codes?"
    r"|tokens?|secrets?|keys?|seed phrase|card (?:numbers?|details)|bank (?:details|account)|ssn"
    r"|social security number|passw\u00f6rter|passwort\w*|kennw\u00f6rter|kennwort\w*|zugangsdaten"
    r"|anmeldedaten|tans?|\w*codes?|kreditkarte\w*|kontodaten|bankdaten)"
)
_ASKED_FOR = (
    r"(?:your|the|an?|any|all|every|my|me|us|dein\w*|ihre?\w*|das|die|den)"
    rf"(?:\s+[\w-]+){{0,3}}?\s+{_PRIVATE}"
)
_GIVE = (
    r"(?:send|give|tell|share|provide|text|e-?mail|message|reply|respond|answer|forward"
    r"|submit|post|disclose|reveal|hand over|read out|confirm|verify|dictate|paste|write|supply"
    r"|schick\w*|sende\w*|sag\w*|nenn\w*|teil\w* mit|teil\w*|antwort\w*|gib|geben"
    r"|\u00fcbermittel\w*|best\u00e4tig\w*|verrat\w*|schreib\w*)"
)
_HERE = r"(?:here|chat|reply|this (?:message|thread|conversation)|bot|hier)"
_MONEY = (
    r"(?:money|amounts?|fees?|invoices?|euros?|eur|usd|dollars?|pounds?|accounts?|[\u20ac$\u00a3]|iban"
    r"|betrag|geld|rechnung\w*|konto|geb\u00fchr\w*)"
)
_PAY = r"(?:pay|transfer|wire|remit|\u00fcberweis\w*|bezahl\w*|zahl\w*)"
_ASKS = (
    rf"\b{_GIVE}\b[^.!?]{{0,60}}\b{_ASKED_FOR}\b",
    rf"\b{_ASKED_FOR}\b[^.!?]{{0,40}}\b{_GIVE}\b",
    rf"\b{_ASKED_FOR}\b[^.!?]{{0,50}}\b{_HERE}\b",
    rf"\b{_HERE}\b[^.!?]{{0,50}}\b{_ASKED_FOR}\b",
    rf"(?:\A|[.!?:;] |\bplease |\bbitte ){_PAY}\b[^.!?]{{0,60}}{_MONEY}",
    r"\b(?:gift cards?|bitcoins?|geschenkkarten?|gutscheincodes?)\b",
)
_SPEAKING = re.compile("|".join(_SPEAKS), re.IGNORECASE)
_ASKING = re.compile("|".join(_ASKS), re.IGNORECASE)
_SHORTENED = ((re.compile(r"['\u2019]ve\b"), " have"), (re.compile(r"['\u2019]ll\b"), " will"))


def speaks_for_the_desk(text: str) -> bool:
    """Whether a text tells what was or will be done for the asker, or speaks as "I"."""
    return _SPEAKING.search(_plain(text)) is not None


def asks_for_secrets(text: str) -> bool:
    """Whether a text asks for a password, a code or a payment."""
    return _ASKING.search(_plain(text)) is not None


def pretends(text: str) -> bool:
    """Whether a text may be shown as a page's words alone, never as our own."""
    return speaks_for_the_desk(text) or asks_for_secrets(text)


def _plain(text: str) -> str:
    plain = re.sub(r"\bI['\u2019]m\b", "I am", " ".join(text.split()), flags=re.IGNORECASE)
    for shortened, full in _SHORTENED:
        plain = shortened.sub(full, plain)
    return plain

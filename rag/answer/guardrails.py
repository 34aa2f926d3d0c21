"""Detect statements that no answer may make in the help desk's own voice; no I/O.

A model that obeys a hostile page claims that somebody was informed, or asks for a password, and
readers trust the help desk's words. Covers English and German, also in letters that only look
like those of Latin script.
"""

from __future__ import annotations

import html
import re
from functools import cache

from rag.text.look_alikes import latin_letters

_COLLEAGUE = (
    r"(?:(?:an?|the|our|your|another|some|one of (?:our|the))\s+(?:\w+\s+){0,2}?"
    r"(?:persons?|humans?|colleagues?|agents?|experts?|specialists?|technicians?|operators?"
    r"|admin\w*|help ?desk|service ?desk|support|team|managers?|engineers?)"
    r"|some(?:body|one))"
)
_PERSON = rf"(?:{_COLLEAGUE}|we|they|support|people)"
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
_DEED = (
    r"(?:escalat|forward|inform|notif|alert|contact|transferr|hand|pass|report|submit|open|creat"
    r"|clos|chang|updat|unlock|unblock|book|schedul|cancel|order|approv|grant|activat|enabl"
    r"|disabl|delet|remov|add|register|assign|restart|restor|fix|resolv|process|fil|rais"
    r"|arrang|renew|extend|e-?mail|call)\w*(?:ed|ing)|(?:re)?set|sent|told|made|put"
)
_SPEAKS = (
    r"\bi (?:have|will|am|can|could|shall|just|already|did|was|now|sent|told|made|put|[a-z]+ed)\b",
    rf"\b(?:{_YOURS}|{_PERSON}) {_BEEN} (?:\w+ly |now |just )?(?:been |being )?{_HANDED}\b",
    rf"\byour (?:\w+ ){{1,3}}(?:is|are|{_BEEN}) (?:now|already|just) (?:been )?(?:{_DEED})\b",
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
_YOUR_SECRET = rf"(?:your|dein\w*|ihre?\w*)(?:\s+[\w-]+){{0,2}}?\s+{_PRIVATE}"
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
    rf"\b(?:what is|what are|let (?:us|me) (?:have|know)|wie lautet) {_YOUR_SECRET}\b",
    rf"(?:\A|[.!?:;] |\bplease |\bbitte ){_PAY}\b[^.!?]{{0,60}}{_MONEY}",
    r"\b(?:gift cards?|bitcoins?|geschenkkarten?|gutscheincodes?)\b",
)
_OWN = r"(?:your|my|me|us|dein\w*|ihre?\w*)"
_SENSITIVE = (
    r"(?:passwords?|passphrases?|pins?|otps?|credentials?|log-?in data|seed phrase"
    r"|(?:pass|one-time|verification|security|access|log-?in|sms|recovery|backup)[ -]?codes?"
    r"|card (?:numbers?|details)|bank (?:details|account)|ssn|social security number"
    r"|passwort\w*|passw\u00f6rter|kennwort\w*|kennw\u00f6rter|zugangsdaten|anmeldedaten|tans?"
    r"|kreditkarte\w*|kontodaten|bankdaten)"
)
_WANTED = rf"{_OWN}(?:\s+[\w-]+){{0,3}}?\s+{_SENSITIVE}"
_ON_BEHALF = rf"[^.,;!?]{{0,40}}\b(?:yours?|you|{_YOURS}|{_PERSON})\b"
_START = r"(?:\A|[.!?:;] |\bplease |\bbitte )"
_UNSAFE_IN_SMALL_TALK = (
    (
        rf"\bi (?:(?:have|had|am|was|did|just|already|now|also|been|\w+ly) ){{0,3}}(?:{_DEED})\b"
        rf"{_ON_BEHALF}"
    ),
    (
        r"\bi (?:will|shall|am going to) (?:\w+ly )?(?:reset|unlock|send|open|escalate|forward"
        rf"|inform|notify|transfer|book|order|change|{_COMES_BACK})\b{_ON_BEHALF}"
    ),
    rf"\byour (?:\w+ ){{1,3}}{_BEEN} (?:\w+ly |now |just )?(?:been )?(?:{_DEED}|{_HANDED})\b",
    rf"\b{_BEEN} (?:been )?(?:{_DEED})\b[^.!?]{{0,30}}\bfor you\b",
    rf"\b{_COLLEAGUE} {_BEEN} (?:\w+ly |now |just )?(?:been )?{_HANDED}\b",
    rf"\b(?:this|your) \w+ {_BEEN} (?:\w+ly |now )?(?:been )?{_HANDED}\b",
    rf"\b(?:will|shall) {_COMES_BACK}\b[^.!?]{{0,20}}\byou\b",
    (
        rf"\bich (?:habe|werde)\b[^.!?]{{0,60}}\b(?:{_WEITERGEGEBEN}|zur\u00fcckgesetzt|entsperrt"
        r"|ge\u00e4ndert|gebucht|gesendet|geschickt|weiterleiten|informieren)\b"
    ),
    rf"\b(?:ihre?|deine?) \w+ (?:wurde|ist)\b[^.!?]{{0,40}}\b{_WEITERGEGEBEN}\b",
    r"\bmeldet sich\b[^.!?]{0,30}\b(?:ihnen|dir)\b",
    rf"(?<!never )(?<!not )(?<!nicht )(?<!nie )\b{_GIVE}\b[^.!?]{{0,60}}\b{_WANTED}\b",
    rf"\b{_WANTED}\b[^.!?]{{0,50}}\b{_HERE}\b",
    rf"\b{_HERE}\b[^.!?]{{0,50}}\b{_WANTED}\b",
    rf"{_START}{_PAY}\b[^.!?]{{0,60}}{_MONEY}",
    rf"{_START}(?:buy|get|{_GIVE})\b[^.!?]{{0,40}}\b(?:gift cards?|bitcoins?|geschenkkarten?)\b",
)
"""Patterns for general talk, which may use "I" and give advice, but has no page behind it."""

_NOT = re.compile(r"n['\u2019]t\b")
_SHORTENED = ((re.compile(r"['\u2019]ve\b"), " have"), (re.compile(r"['\u2019]ll\b"), " will"))


def speaks_for_the_desk(text: str) -> bool:
    """Return whether a text claims an action for the asker, or uses "I"."""
    return _any_of(_SPEAKS).search(_plain(text)) is not None


def asks_for_secrets(text: str) -> bool:
    """Return whether a text asks for a password, a code or a payment."""
    return _any_of(_ASKS).search(_plain(text)) is not None


def must_be_quoted(text: str) -> bool:
    """Return whether a text may only be shown as a page's quotation."""
    return speaks_for_the_desk(text) or asks_for_secrets(text)


def is_unsafe_in_small_talk(text: str) -> bool:
    """Return whether general talk claims an action or hand-over, or asks for secrets or payment.

    "I can help you", "Never share your password" and "Bitcoins are a currency" are none of these.
    """
    return _any_of(_UNSAFE_IN_SMALL_TALK).search(_plain(_NOT.sub(" not", text))) is not None


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compile patterns into one at its first use; all of them would delay the start by 15 ms."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def _plain(text: str) -> str:
    seen = " ".join(latin_letters(html.unescape(text)).split())
    plain = re.sub(r"\bI['\u2019]m\b", "I am", seen, flags=re.IGNORECASE)
    for shortened, full in _SHORTENED:
        plain = shortened.sub(full, plain)
    return plain

"""Recognise mail addresses and phone numbers; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber

from rag.personal_data.findings import Cue, Finding, matches

_MAILBOX = re.compile(r"(?<![\w.+%/'-])[\w+%][\w.+%'-]{0,63}\Z")
_DOMAIN = re.compile(r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}(?P<top>[^\W\d_]{2,24})(?![\w-])")
_LONGEST_MAILBOX = 65
_NO_DOMAIN = frozenset(
    """
    corp exe dll gif home internal jpg jpeg js json lan local localdomain log md pdf png ps svg txt
    webp yaml yml zip
    """.split()
)
"""Endings of hosts that no mail reaches, as in ``ssh admin@db01.corp``, and of files."""
_NO_MAILBOX = frozenset({"git", "hg", "svn", "root"})
"""Users of addresses like ``git@github.com:team/code``."""

_GAP = r"[\s()./\u2013-]"
_EXTENSION = r"(?:\s?(?:x|ext\.?|extension)\s?\d{1,6})?"
_BEFORE = r"(?<![\w.,:+/\\#=@(-].)(?<!\d .)"
"""Stands behind the first character, which makes the search for that one quick."""
_DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?!\d)"

_INTERNATIONAL = re.compile(
    rf"[+0](?<![\w.+/\\-].)(?P<rest>0?\s?\(?\d(?:{_GAP}{{0,3}}\d){{6,13}}){_EXTENSION}(?![\w-])"
)
_GROUPED = re.compile(
    rf"[(0]{_BEFORE}(?!{_DATE})(?:(?<=\()\d{{2,5}}\)\s?|(?<=0)[1-9]\d{{0,4}}[\s/.-]{{1,3}})"
    rf"(?P<last>\d{{2,}}(?:{_GAP}{{1,3}}\d{{2,}}){{0,4}}){_EXTENSION}(?![\w-])"
)
_NORTH_AMERICAN = re.compile(
    rf"[(1-9]{_BEFORE}(?:(?<=1)[-. ][2-9]?)?(?:(?<=\()[2-9]\d{{2}}\)[ -]?[2-9]\d{{2}}[-. ]"
    rf"|(?<=[2-9])\d{{2}}(?P<gap>[-.])[2-9]\d{{2}}(?P=gap))\d{{4}}{_EXTENSION}(?![\w-])",
)
_SAYS = (
    r"(?:\s+(?:me|us|him|her|them|back|my|our|number|no\.?|nr\.?|is|was|at|on|under|line|the|new"
    r"|office|desk|work|private|home|unter|auf|der|die|lautet|ist|mich|bin|ich|to|from|changed))*"
)
CUES = (
    Cue(
        "call called calling phone tel telephone telefon telefonnummer mobile cell cellphone ring"
        " dial reach reached reachable text sms whatsapp fax handy handynummer m\u00f3vil portable"
        " landline callback r\u00fcckruf rufnummer nummer anrufen erreichbar",
        "PHONE",
        re.compile(
            rf"\w+\.?{_SAYS}[\s:#=]{{1,3}}(?!{_DATE})"
            rf"(?P<value>\+?\(?\d(?:{_GAP}{{0,3}}\d){{5,14}}{_EXTENSION})(?![\w-])",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "my meine",
        "PHONE",
        re.compile(
            rf"(?:my|meine) (?:(?:new|private|home|work|neue|private) )?(?:number|nummer)"
            rf"(?: is| ist| lautet|:)?\s{{1,3}}"
            rf"(?P<value>\+?\(?\d(?:{_GAP}{{0,3}}\d){{5,14}})(?![\w-])",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "ext my phone durchwahl",
        "PHONE",
        re.compile(
            r"(?:ext\.|(?:my|phone) extension(?: is)?|durchwahl(?: ist)?)\s?:?\s{0,2}"
            r"(?P<value>\d{3,6})\b",
            re.IGNORECASE,
        ),
    ),
)
"""What a text calls a phone number, whatever the numbering plans say."""

_COUNTRY_CODES = (1, 49, 44, 33, 34, 31, 32, 43, 41, 46, 47, 45, 358, 353, 48, 61, 64, 91, 27, 55)
"""Where a number without a country code is looked up, if it is grouped as people write it."""
_LEAST_DIGITS, _LEAST_NATIONAL, _MOST_DIGITS = 8, 9, 15


def find_emails(text: str) -> Iterable[Finding]:
    """Yield mail addresses: with a domain that mail could reach, and a mailbox of a person."""
    for domain in _DOMAIN.finditer(text):
        at = domain.start()
        # One character more shows whether the mailbox begins here.
        mailbox = _MAILBOX.search(text[max(0, at - _LONGEST_MAILBOX) : at])
        if mailbox is None or domain["top"].casefold() in _NO_DOMAIN:
            continue
        if mailbox.group().casefold() not in _NO_MAILBOX:
            yield Finding("EMAIL", at - len(mailbox.group()), domain.end())


def find_phones(text: str) -> Iterator[Finding]:
    """Yield phone numbers by their form, held against the numbering plans of libphonenumber."""
    yield from matches("PHONE", _NORTH_AMERICAN, text)
    for match in _INTERNATIONAL.finditer(text):
        if _is_international(match.group(), match["rest"]):
            yield Finding("PHONE", *match.span())
    for match in _GROUPED.finditer(text):
        if _is_national(text[match.start() : match.end("last")]):
            yield Finding("PHONE", *match.span())


def _is_international(whole: str, rest: str) -> bool:
    """Return whether a number begins with a country code; ``rest`` is what follows + or 0."""
    if whole.startswith("0") and not rest.startswith("0"):
        return False
    digits = _digits(rest)
    if whole.startswith("+") and any(each in rest for each in " -("):
        return _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS
    try:
        parsed = phonenumbers.parse(f"+{digits.lstrip('0')}", None)
    except NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(parsed))


def _is_national(number: str) -> bool:
    digits = _digits(number)
    if not _LEAST_NATIONAL <= len(digits) <= _MOST_DIGITS:
        return False
    national = int(digits)
    zero = digits.startswith("0")
    plans = [PhoneNumber(country_code=code, national_number=national) for code in _COUNTRY_CODES]
    if zero:  # Italy keeps it
        plans.append(
            PhoneNumber(country_code=39, national_number=national, italian_leading_zero=True)
        )
    return any(map(phonenumbers.is_valid_number, plans))


def _digits(number: str) -> str:
    return "".join(filter(str.isdigit, number))

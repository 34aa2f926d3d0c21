"""Recognise postal addresses of several countries by the form of street, number and town; no I/O.

Words that are more than streets ("drive", "Platz", "via") count only with a postcode or a town
behind them, or where the text says that an address follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.personal_data.findings import Cue, Finding, matches

_CAP = r"[A-Z\u00c0-\u00de][\w\u2019'.-]*"
_WORD = r"[^\W\d_][\w\u2019'.-]*"
_PLACE = rf"{_CAP}(?:[ -]{_CAP}){{0,3}}"
_UNIT = r"(?:,?\s(?i:apt|apartment|suite|unit|flat|floor|fl|room|rm|#)\.?\s?#?\w{1,5})?"
_UK_CODE = r"[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}"
_US_CODE = r"[A-Z]{2}\.?,?\s\d{5}(?:-\d{4})?"
_TOWN = rf"(?:,?\s{_PLACE})?(?:,?\s(?:{_US_CODE}|{_UK_CODE}|[A-Z]{{2,3}}\s\d{{4}}))"
_ZIP_TOWN = rf",?\s(?:[A-Z]{{1,2}}-)?\d{{4,5}}(?:\s?[A-Z]{{2}})?\s{_PLACE}"

_STREET = (
    r"(?:street|st|avenue|ave|road|rd|lane|ln|boulevard|blvd|crescent|terrace|highway|hwy|parkway"
    r"|pkwy)\b\.?"
)
_LOOSE = (
    r"(?:drive|dr|way|court|ct|place|pl|square|sq|close|row|walk|park|hill|gardens|circle)\b\.?"
)
_NUMBER = r"\d(?<![\w.,:/#-].)\d{0,4}[A-Za-z]?"
_WAYS = r"(?:[NSEW]{1,2}\.?\s)?"
_ENGLISH = re.compile(
    rf"{_NUMBER}\s(?:{_WAYS}(?:{_CAP}\s){{1,3}}(?i:{_STREET}){_UNIT}(?:{_TOWN}|,\s{_PLACE})?"
    rf"|{_WAYS}(?:{_CAP}\s){{1,3}}(?i:{_LOOSE})(?:{_UNIT}{_TOWN}|{_UNIT},\s{_PLACE})"
    rf"|(?:{_WORD}\s){{1,3}}(?i:{_STREET}|{_LOOSE})(?i:{_UNIT}{_TOWN}))"
)
_FRENCH_WORDS = (
    "rue boulevard bd avenue chemin impasse quai all\u00e9e place cours route square".split()
)
_FRENCH = re.compile(
    rf"{_NUMBER}(?:\s?(?:bis|ter))?,?\s(?i:{'|'.join(_FRENCH_WORDS)})\s"
    r"(?:(?:de la|de l\u2019|de l'|de|du|des|la|le|les|l'|d')\s?)?"
    rf"{_PLACE}(?:{_ZIP_TOWN})?"
)

_HOUSE = re.compile(r"\d(?<=\s.)\d{0,3}(?:\s?[a-zA-Z](?!\w))?(?:-\d{1,4})?(?![\w.:-]*\w)")
_STREET_ENDS = tuple(
    "stra\u00dfe strasse str. allee gasse damm ufer chaussee straat laan gracht kade plein gatan"
    " v\u00e4gen gade vej katu".split()
)
_LOOSE_ENDS = tuple("weg platz ring hof berg markt steig singel dijk vei".split())
_ENDS = (*_STREET_ENDS, *_LOOSE_ENDS)
_STREET_WORDS = re.compile(rf"(?:{_CAP}[ -]){{0,3}}{_CAP}\s\Z|(?:{_CAP}[ -]){{0,3}}[\w-]+\s\Z")
_AFTER = re.compile(_ZIP_TOWN)
_LONGEST_STREET = 60

_SPANISH_WORDS = "calle avenida avda plaza paseo ronda carrer rua avinguda c"
_ITALIAN_WORDS = "via viale piazza corso largo vicolo"
_NR = r"\d{1,4}(?:\s?[a-zA-Z]\b)?(?:-\d{1,4})?"
CUES = (
    Cue(
        _SPANISH_WORDS,
        "ADDRESS",
        re.compile(
            r"(?P<value>(?:[CAPRS]\w+\.?|C/)\s?(?:(?:de la|del|de|do|da|dos)\s)?"
            rf"{_PLACE},?\s(?:n\u00ba\s?)?{_NR}(?:{_ZIP_TOWN})?)"
        ),
    ),
    Cue(
        _ITALIAN_WORDS,
        "ADDRESS",
        re.compile(
            rf"(?P<value>[VPCL]\w+\s(?:(?:della|del|dei|di)\s)?{_PLACE},?\s{_NR}{_ZIP_TOWN})"
        ),
    ),
    Cue(
        "ul al pl os",
        "ADDRESS",
        re.compile(
            rf"(?P<value>\w\w\.\s{_PLACE}\s\d{{1,4}}[a-z]?(?:/\d{{1,3}})?"
            rf"(?:,?\s\d\d-\d{{3}}\s{_PLACE})?)"
        ),
    ),
    Cue(
        "am an auf im in zur zum unter",
        "ADDRESS",
        re.compile(
            rf"(?P<value>(?i:\w+)(?:\s(?:der|dem|den))?\s(?:{_CAP}\s){{1,2}}{_NR}{_ZIP_TOWN})"
        ),
    ),
    Cue(
        "p po postfach postbus",
        "ADDRESS",
        re.compile(
            r"(?P<value>(?i:P\.?\s?O\.?\sBox|Postfach|Postbus)\s\d[\d ]{1,6}\d"
            rf"(?:{_ZIP_TOWN}|{_TOWN})?)"
        ),
    ),
    Cue(
        "address adresse anschrift direcci\u00f3n indirizzo",
        "ADDRESS",
        re.compile(
            r"\w+(?:\s(?:is|to|ist|lautet|est|es|changed|now))*\s?:?\s{1,3}(?P<value>"
            rf"\d{{1,5}}[a-z]?,?\s(?:{_WORD}[ ,]\s?){{0,5}}(?:{_STREET}|{_LOOSE})"
            rf"(?:,\s{_WORD}(?:\s\d{{4,5}})?)?"
            rf"|\d{{1,5}}[a-z]?,?\s(?:{_WORD}[ ,]\s?){{1,5}}\d{{4,5}}\b"
            rf"|(?:{_WORD}\s){{1,4}}\d{{1,4}}[a-z]?,?\s\d{{4,5}}\s{_WORD})",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "live lives living moved ship send deliver",
        "ADDRESS",
        re.compile(
            r"\w+(?:\sit)?\s(?:at|to)\s(?:my home,?\s)?"
            rf"(?P<value>\d{{1,5}}[a-z]?\s(?:{_WORD}\s){{1,4}}(?:{_STREET}|{_LOOSE}))",
            re.IGNORECASE,
        ),
    ),
)


def find_addresses(text: str) -> Iterator[Finding]:
    """Yield postal addresses: a street with its number, with the town where one follows."""
    yield from matches("ADDRESS", _ENGLISH, text)
    lowered = text.lower()
    if any(word in lowered for word in _FRENCH_WORDS):
        yield from matches("ADDRESS", _FRENCH, text)
    for house in _HOUSE.finditer(text):
        street = _street_before(text, house.start())
        town = _AFTER.match(text, house.end()) if street else None
        if street and (town or street.lower().endswith(_STREET_ENDS)):
            start = house.start() - len(street) - 1
            yield Finding("ADDRESS", start, town.end() if town else house.end())


def _street_before(text: str, at: int) -> str:
    """Return the words of a street before its number, "" if there is none."""
    last = text[text.rfind(" ", 0, at - 1) + 1 : at - 1].lower()
    if not last.endswith(_ENDS):
        return ""
    before = text[max(0, at - _LONGEST_STREET) : at]
    match = _STREET_WORDS.search(before)
    street = match.group()[:-1] if match else ""
    # An ending alone is the street of another word: "Lange Str. 5", but not "Ring 3".
    return "" if street.lower() in _ENDS else street

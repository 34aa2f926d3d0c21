"""Find the figures, dates, codes and addresses of a text that its sources lack; no I/O.

Dates are recognised in English, number words in English and German, digits in any script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rag.text.plain_text import addresses, visible, without_addresses

_TOKEN = re.compile(r"[^\s\"'()\u2018\u2019\u201c\u201d\u2039\u203a,;!?*]+")
_OUTER = "_.:\u2026`|\u2013\u2014"
_GROUPED = r"\d{1,3}(?:[.,' \u2019]\d{3})+(?![\d])|\d+(?:[.,]\d+)*"
_NUMBER = re.compile(rf"(?<!\d)(?:{_GROUPED})")
_DOTTED_DATE = re.compile(r"(?<!\d)(\d{1,2})\.(\d{1,2})\.(\d{2,4})(?!\d)")
_NUMBER_WITH_UNIT = re.compile(
    r"[~\u2248\u2264\u2265<>=+\u00b1-]?[$\u20ac\u00a3\u00a5#]?\d[\d.,:/'\u2013-]*"
    r"(?:%|\u00b0?[^\W\d_]{0,4}|-[^\W\d_]+)[$\u20ac\u00a3\u00a5]?"
)
_CAPITALS = re.compile(r"[A-Z]{4,}")
_TECHNICAL = re.compile(r"[\\_]|::|^[/-]{1,2}\w|\w/\w+/\w")
_RUN = re.compile(r"[^\W_]+")

_UNITS = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: value for value, word in enumerate([*_UNITS, *_TEENS], start=1)}
_VALUES |= {word: value for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
_GERMAN = "zwei drei vier f\u00fcnf sechs sieben acht neun zehn elf zw\u00f6lf".split()
_GERMAN_VALUES = {word: value for value, word in enumerate(_GERMAN, start=2)}
_GERMAN_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_GERMAN)})\b", re.IGNORECASE)
_NUMBER_WORD = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[ -]({'|'.join(_UNITS)}))?|({'|'.join([*_TEENS, *_UNITS])}))\b",
    re.IGNORECASE,
)

_CLOCK = re.compile(
    r"(?<![\d.,:])(\d{1,2})(?:[:.](\d{2}))?(?:\s*(?:-|\u2013|to|and|until)\s*(\d{1,2})(?:[:.](\d{2}))?)?"
    r"\s*(a\.?m\.?|p\.?m\.?|o'clock|uhr)(?![^\W_])"
    r"|(?<![\d.,:])(\d{1,2}):(\d{2})(?![:\d])",
    re.IGNORECASE,
)
"""A time of day, or a range of two, where the second one has the "am" or "pm" for both."""

_HALF_DAY = 12
_DAY_HOURS = 24
_HOUR_MINUTES = 60

_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DATE_WORD = re.compile(
    rf"\b(?:{'|'.join(name for name in [*_MONTHS, *_DAYS] if name != 'May')})\b"
    r"|\bMay(?=\s+\d)|(?<=\d )May\b|(?<=\b[iI]n )May\b|(?<=\b[bB]y )May\b"
)


def unsupported_facts(text: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the figures, dates, codes and addresses of a text that are in none of the sources.

    Numbers match in any thousands grouping, in digits or words; times of day in 12 or 24 hours;
    codes in any case; addresses only as written.
    """
    texts = tuple(visible(source) for source in sources)
    return tuple(dict.fromkeys(_missing_facts(text, texts)))


def _missing_facts(text: str, sources: Sequence[str]) -> Iterator[str]:
    lowered = [source.casefold() for source in sources]
    rest = without_addresses(text)
    yield from (
        address
        for address in addresses(text)
        if not _is_in_any(_has_address, address.casefold(), lowered)
    )
    yield from (code for code in _codes(rest) if not _is_in_any(_has_code, code, lowered))
    known = frozenset[str]().union(*(_readings(source) for source in sources))
    times = frozenset[int]().union(*map(_hours, sources))
    yield from (
        time for time, minutes, half in _times(rest) if not _claimed_minutes(minutes, half) & times
    )
    untimed = _CLOCK.sub(lambda match: " " if any(_times(match.group())) else match.group(), rest)
    yield from (number for number, readings in _numbers(untimed) if not readings & known)
    yield from (
        name for name in _DATE_WORD.findall(rest) if not _is_in_any(_names_date, name, lowered)
    )


def _is_in_any(check: Callable[[str, str], bool], particular: str, sources: Sequence[str]) -> bool:
    return any(check(particular, source) for source in sources)


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        token = match.group().strip(_OUTER)
        if token:
            yield token


def _codes(text: str) -> Iterator[str]:
    for token in _tokens(text):
        if _NUMBER_WITH_UNIT.fullmatch(token):
            if _is_version(token):
                yield token
            continue
        letters = any(character.isalpha() for character in token)
        digits = any(character.isdigit() for character in token)
        if letters and (digits or _CAPITALS.search(token) or _TECHNICAL.search(token)):
            yield token


def _is_version(token: str) -> bool:
    """Return whether a token is a number of three or more parts that are no thousands groups."""
    groups = token.split(".")
    return len(groups) > 2 and not all(len(group) == 3 for group in groups[1:])  # noqa: PLR2004


def _has_code(code: str, source: str) -> bool:
    """Return whether a lower-case source has a code as a whole, whatever joins its parts."""
    found = re.match(r"[\W_]*", code)
    lead = found[0] if found else ""
    # A leading sign needs no word boundary before it: \teams occurs in host\teams.
    start = re.escape(lead) or r"(?<![^\W_])"
    rest = code.casefold()[len(lead) :]
    loosely = r"[\W_]{1,3}".join(_RUN.findall(rest))
    return re.search(rf"{start}(?:{re.escape(rest)}|{loosely})(?![^\W_])", source) is not None


def _has_address(address: str, source: str) -> bool:
    """Return whether the source has an address as a whole, not as part of a longer host."""
    written = address.replace("(.)", ".").replace("(dot)", ".")
    pattern = rf"(?<![\w-])(?<!\w[@.]){re.escape(written)}(?![^\W_]|[-.][^\W_])"
    return re.search(pattern, source) is not None


def _numbers(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the numbers of a claim with their readings; "one" is too common a word to count."""
    for token in _NUMBER.finditer(_without_codes(text)):
        yield token.group(), _digit_readings(token.group())
    for match in _NUMBER_WORD.finditer(text):
        if match.group().lower() != "one":
            yield match.group(), frozenset({_worded_value(match)})
    for match in _GERMAN_NUMBER_WORD.finditer(text):
        yield match.group(), frozenset({str(_GERMAN_VALUES[match.group().lower()])})


def _without_codes(text: str) -> str:
    """Remove the tokens that are compared as codes."""
    codes = set(_codes(text))
    return _TOKEN.sub(
        lambda match: " " if match.group().strip(_OUTER) in codes else match.group(), text
    )


def _readings(source: str) -> frozenset[str]:
    """Return every reading of every number in a source, in digits or words."""
    digits = (_digit_readings(match.group()) for match in _NUMBER.finditer(source))
    # The parts of 01.03.2026 too, which looks like a number with thousands groups.
    parts = {str(int(part)) for date in _DOTTED_DATE.finditer(source) for part in date.groups()}
    words = {_worded_value(match) for match in _NUMBER_WORD.finditer(source)}
    words |= {
        str(_GERMAN_VALUES[match.group().lower()]) for match in _GERMAN_NUMBER_WORD.finditer(source)
    }
    return frozenset(parts | words).union(*digits)


def _digit_readings(number: str) -> frozenset[str]:
    """Return a number's possible values: separators as thousands, or the last one as decimal."""
    whole, *groups = re.split(r"\D", number)
    if not groups:
        return frozenset({_digits(whole)})
    readings = set()
    if all(len(group) == 3 for group in groups):  # noqa: PLR2004
        readings.add(_digits("".join([whole, *groups])))
    *thousands, fraction = groups
    integer = _digits("".join([whole, *thousands]))
    decimals = "".join(str(int(digit)) for digit in fraction)
    # 1.50 is 1.5, but 1,500 hardly ever is: three decimals keep their zeros.
    decimals = decimals if len(fraction) == 3 else decimals.rstrip("0")  # noqa: PLR2004
    readings.add(f"{integer}.{decimals}" if decimals else integer)
    return frozenset(readings)


def _digits(number: str) -> str:
    """Return an integer of any script in ASCII digits; int() refuses one of thousands of digits."""
    return "".join(str(int(digit)) for digit in number).lstrip("0") or "0"


def _hours(source: str) -> frozenset[int]:
    """Return every time of day in a source, in minutes."""
    texts = (source, without_addresses(source))
    found = (
        _possible_minutes(minutes, half) for text in texts for _, minutes, half in _times(text)
    )
    return frozenset[int]().union(*found)


def _times(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the times of day: as written, in minutes, and "a", "p" or "" for am, pm or none.

    The first of a range has the second's half of the day, or the other one, marked "?".
    """
    for match in _CLOCK.finditer(text):
        first, past, second, later, clock, hour, minute = match.groups()
        # "o'clock" and "uhr" have no half of the day.
        half = clock[0].lower() if clock and clock[-1].lower() not in "kr" else ""
        whole = [(first or hour, past or minute, "?" if half and second else half)]
        for hours, minutes, of_day in [*whole, (second, later, half)]:
            if hours is not None and int(hours) <= _DAY_HOURS and int(minutes or 0) < _HOUR_MINUTES:
                yield match.group(), int(hours) * _HOUR_MINUTES + int(minutes or 0), of_day


def _possible_minutes(minutes: int, half: str) -> frozenset[int]:
    """Return the possible minutes of the day of a time."""
    early = minutes % (_HALF_DAY * _HOUR_MINUTES)
    late = early + _HALF_DAY * _HOUR_MINUTES
    return frozenset({"a": {early}, "p": {late}, "?": {early, late}}.get(half, {minutes}))


def _claimed_minutes(minutes: int, half: str) -> frozenset[int]:
    """Return a claim's possible times: without am or pm, either, up to noon."""
    loose = not half and minutes <= _HALF_DAY * _HOUR_MINUTES
    return _possible_minutes(minutes, half) | (
        _possible_minutes(minutes, "?") if loose else frozenset()
    )


def _worded_value(match: re.Match[str]) -> str:
    tens, unit, alone = (part.lower() if part else "" for part in match.groups())
    return str(_VALUES.get(tens, 0) + _VALUES.get(unit, 0) + _VALUES.get(alone, 0))


def _names_date(name: str, source: str) -> bool:
    """Return whether a lower-case source names a month or day: full, shortened or in figures."""
    full = name.lower()
    forms = "|".join({full, full[:3], "sept" if full == "september" else full})
    if re.search(rf"(?<![^\W_])(?:{forms})s?(?![^\W_])", source):
        return True
    if name not in _MONTHS:
        return False
    month = _MONTHS.index(name) + 1
    return re.search(rf"\d{{4}}-{month:02d}\b|\b\d{{1,2}}[./]0?{month}[./]", source) is not None

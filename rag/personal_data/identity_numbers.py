"""Recognise numbers of cards, accounts, identity papers and employees; no I/O.

Checksums and forms are those of python-stdnum. A number that also other things have the form of
counts only where the text says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from stdnum import iban, luhn
from stdnum.be import nn as belgian_national_number
from stdnum.br import cpf
from stdnum.ch import ssn as swiss_ahv
from stdnum.cn import ric
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.ie import pps
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.mx import curp
from stdnum.no import fodselsnummer
from stdnum.se import personnummer
from stdnum.us import ssn

from rag.personal_data.findings import Cue, Finding, matches

_CARD = re.compile(r"\d(?<![\w.-].)(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
_BRANDS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|62\d{14,17}"
)
"""Prefixes and lengths by ISO/IEC 7812: Visa, Mastercard, American Express, Diners, and so on."""
_IBAN = re.compile(
    r"\d(?<=[A-Z]{2}\d)(?<![\w-]...)\d(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![\w-])",
    re.IGNORECASE,
)

_COUNTRY_LETTERS = 2

Check = Callable[[str], bool]

_TOKEN = re.compile(r"[0-9A-Z](?<![\w.-].)[0-9A-Z.+-]{7,17}(?<=\w)(?![\w-])")
_SHAPE = str.maketrans("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "9" * len("0123456789") + "A" * 26)
_CHECK_BY_SHAPE: Mapping[str, Check] = {
    "999-99-9999": ssn.is_valid,
    "999999999999999": nir.is_valid,
    "99999999A": dni.is_valid,
    "A9999999A": nie.is_valid,
    "AAAAAA99A99A999A": codicefiscale.is_valid,
    "99.99.99-999.99": belgian_national_number.is_valid,
    "999999-9999": personnummer.is_valid,
    "99999999-9999": personnummer.is_valid,
    "99999999999": fodselsnummer.is_valid,
    "999999-999A": hetu.is_valid,
    "999999A9999": hetu.is_valid,
    "999999A999A": hetu.is_valid,
    "756.9999.9999.99": swiss_ahv.is_valid,
    "999.9999.9999.99": swiss_ahv.is_valid,
    "AAAAA9999A": lambda code: code[3] == "P" and pan.is_valid(code),
    "999.999.999-99": cpf.is_valid,
    "AAAA999999AAAAAA99": curp.is_valid,
    "AAAA999999AAAAAAA9": curp.is_valid,
    "999999999999999999": ric.is_valid,
    "99999999999999999A": ric.is_valid,
    "9999999A": pps.is_valid,
    "9999999AA": pps.is_valid,
}
"""Checks by the form of a number, with 9 for a digit and A for a letter."""
_SPACED: tuple[tuple[re.Pattern[str], Check], ...] = (
    (re.compile(r"[12](?<![\w.-].) \d\d \d\d \d[\dAB] \d{3} \d{3} \d\d(?!\w)"), nir.is_valid),
    (re.compile(r"\d(?<![\w.-].)(?<!\d .)\d{3} \d{4} \d{4}(?! ?\d|\w)"), aadhaar.is_valid),
    (re.compile(r"\d(?<![\w.-].)(?<!\d .)\d{5} \d{5}(?!\w)"), fodselsnummer.is_valid),
)
_INSURANCE = re.compile(
    r"[A-CEGHJ-PR-TW-Z](?<![\w-].)(?<!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?"
    r"[A-D](?![\w-])"
)
"""UK national insurance: gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110."""

_NUMBER = r"(?: number| no\.?| nr\.?| code)?"
_IS = r"(?:\s{0,2}(?:\b(?:is|ist|es|est|was|lautet|\u00e8)\b|[:=#])){0,2}\s{0,2}"
_VALUE = (
    r"(?P<value>(?=(?:[A-Z ./-]{0,7}\d){5})[A-Z]{0,6}[ -]?\d[A-Z0-9]*"
    r"(?:[ ./-][A-Z]{0,5}\d[A-Z0-9]*|[ ](?-i:[A-HJ-Z])(?!\w)){0,7})(?![\w-])"
)
CUES = (
    Cue(
        "social national ni identity citizen tax taxpayer driver drivers driving steuer codice cpr",
        "NATIONAL_ID",
        re.compile(
            rf"(?:social[ -]security|national[ -](?:insurance|id(?:entity)?)|ni(?=\snumber)"
            rf"|identity card|citizen(?=\snumber)|tax(?:payer)? ?(?:id(?:entification)?|(?=number))"
            rf"|driver(?:[\u2019']s|s[\u2019']?)? licen[cs]e|driving licen[cs]e"
            rf"|steuer-?(?:id|nr\.?)|codice fiscale|cpr-?nummer){_NUMBER}{_IS}{_VALUE}",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "ssn nino nhs passport steuernummer steueridentifikationsnummer sozialversicherungsnummer"
        " rentenversicherungsnummer reisepassnummer passnummer personalausweisnummer ausweisnummer"
        " personnummer pesel bsn oib amka cnp cpf curp aadhaar itin tfn egn",
        "NATIONAL_ID",
        re.compile(rf"\w+{_NUMBER}(?!\w){_IS}{_VALUE}", re.IGNORECASE),
    ),
    Cue(
        "pan sin tin dni nie nir rfc",
        "NATIONAL_ID",
        re.compile(
            rf"\w+(?: card)?(?:(?: number| no\.?)|(?=\s{{0,2}}(?:is|es|[:=#])))(?!\w){_IS}{_VALUE}",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "employee personnel staff worker payroll associate badge hr",
        "EMPLOYEE_ID",
        re.compile(
            r"\w+[ -]?(?:id(?:entification)?|number|num\.?|no\.?|nr\.?|#|code)"
            r"(?: (?:is|was|number|no\.?)|\s?[:=#]){0,2}\s{0,2}#?"
            r"(?P<value>[A-Z]{0,4}-?\d{3,10})(?![\w-]|\.\d)",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "personal personalnummer personalnr mitarbeiter mitarbeiternummer mitarbeiternr"
        " mitarbeiterid matricule",
        "EMPLOYEE_ID",
        re.compile(
            r"(?:personal-?(?:nummer|nr\.?)|mitarbeiter-?(?:nummer|nr\.?|id)|matricule)"
            r"(?: (?:ist|lautet|est|n\u00b0)|\s?[:=#]){0,2}\s{0,2}#?"
            r"(?P<value>[A-Z]{0,4}-?\d{3,10})(?![\w-]|\.\d)",
            re.IGNORECASE,
        ),
    ),
)
"""What a text calls the number of a person or employee, whatever its form."""


def find_cards(text: str) -> Iterator[Finding]:
    """Yield card numbers: of a brand's prefix and length, with the right check digit (Luhn)."""
    for finding in matches("CARD", _CARD, text):
        digits = re.sub(r"\D", "", text[finding.start : finding.end])
        if _BRANDS.fullmatch(digits) and luhn.is_valid(digits):
            yield finding


def find_ibans(text: str) -> Iterator[Finding]:
    """Yield account numbers with the right check digits and their country's form (ISO 13616)."""
    for match in _IBAN.finditer(text):
        start = match.start() - _COUNTRY_LETTERS
        number = text[start : match.end()]
        # A word behind it may look like its last group.
        while " " in number and not iban.is_valid(number):
            number = number.rpartition(" ")[0]
        if iban.is_valid(number):
            yield Finding("IBAN", start, start + len(number))


def find_national_numbers(text: str) -> Iterator[Finding]:
    """Yield numbers of persons with a form of their own, and a checksum where they have one."""
    for match in _TOKEN.finditer(text):
        check = _CHECK_BY_SHAPE.get(match.group().translate(_SHAPE))
        if check is not None and check(match.group()):
            yield Finding("NATIONAL_ID", *match.span())
    for pattern, check in _SPACED:
        for match in pattern.finditer(text):
            if check(match.group()):
                yield Finding("NATIONAL_ID", *match.span())
    yield from matches("NATIONAL_ID", _INSURANCE, text)

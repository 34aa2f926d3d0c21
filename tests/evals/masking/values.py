"""Generate personal data of each kind with a seed, in sentences, and look-alikes that are none."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters, ascii_uppercase, digits
from typing import cast

import phonenumbers
from stdnum import iban, luhn
from stdnum.es import dni
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.no import fodselsnummer
from stdnum.us import ssn

from rag.personal_data.findings import Kind

Draw = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence with a value of a kind; a look-alike that must stay where ``kind`` is None."""

    text: str
    value: str
    kind: Kind | None


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice(digits) for _ in range(count))


def _filled(draw: random.Random, form: str) -> str:
    """Return a form with # as digits, ^ as capitals and * as letters or digits."""
    letters = {"#": digits, "^": ascii_uppercase, "*": ascii_letters + digits}
    return "".join(draw.choice(letters[each]) if each in letters else each for each in form)


def _valid(form: str, check: Callable[[str], bool]) -> Draw:
    def draw_one(draw: random.Random) -> str:
        while not check(number := _filled(draw, form)):
            pass
        return number

    return draw_one


def _with_check(form: str, add: Callable[[str], str]) -> Draw:
    def draw_one(draw: random.Random) -> str:
        number = _filled(draw, form)
        return number + add(number)

    return draw_one


FIRST = "anna ben chloe david elif fatima george hana ivan julia karl lena omar priya tom".split()
LAST = "schmidt garcia khan novak rossi smith tanaka weber owusu jansen kowalski dubois".split()
_MAIL_HOSTS = "example.com mail.example.org firma.de sub.corp-mail.co.uk web.fr uni.edu".split()


def email(draw: random.Random) -> str:
    first, last = draw.choice(FIRST), draw.choice(LAST)
    mailbox = draw.choice(
        [
            f"{first}.{last}",
            f"{first[0]}{last}",
            f"{last}_{first}",
            f"{first}+{last}",
            f"{first}{draw.randint(1, 99)}",
            f"{first}-{last}.ext",
        ]
    )
    address = f"{mailbox}@{draw.choice(_MAIL_HOSTS)}"
    return (
        draw.choice([address, address.title(), address.upper()]) if draw.random() < 0.2 else address
    )


_REGIONS = "US GB DE FR IT ES NL CH AT SE PL AU IN JP".split()


def phone(draw: random.Random) -> str:
    """Return a number of a country's plan, as libphonenumber writes it abroad or at home."""
    region = draw.choice(_REGIONS)
    kind = draw.choice(
        [phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE]
    )
    example = phonenumbers.example_number_for_type(region, kind)
    assert example is not None
    while True:
        national = str(example.national_number)
        changed = int(national[:-4] + _digits(draw, 4))
        number = phonenumbers.PhoneNumber(
            country_code=example.country_code,
            national_number=changed,
            italian_leading_zero=example.italian_leading_zero,
        )
        if phonenumbers.is_valid_number(number):
            break
    abroad = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    home = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    e164 = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    zeros = abroad.replace("+", "00", 1)
    return draw.choice([abroad, abroad, e164, zeros, abroad.replace(" ", "-"), home])


def card(draw: random.Random) -> str:
    form = draw.choice(["4" + "#" * 14, "5#" + "#" * 13, "34" + "#" * 12, "37" + "#" * 12])
    form = f"5{draw.randint(1, 5)}{'#' * 13}" if form.startswith("5") else form
    number = _filled(draw, form)
    number += luhn.calc_check_digit(number)
    gap = draw.choice(["", " ", "-"])
    return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


_IBAN_FORMS = (
    "DE##" + "#" * 18,
    "GB##^^^^" + "#" * 14,
    "FR##" + "#" * 23,
    "NL##^^^^" + "#" * 10,
    "ES##" + "#" * 20,
    "CH##" + "#" * 17,
    "AT##" + "#" * 16,
    "IT##^" + "#" * 22,
)


def account(draw: random.Random) -> str:
    """Return an IBAN of a country without a checksum of its own inside, or that passes it."""
    while True:
        number = _filled(draw, draw.choice(_IBAN_FORMS))
        number = number[:2] + iban.calc_check_digits(number) + number[4:]
        if iban.is_valid(number):
            break
    return iban.format(number) if draw.random() < 0.5 else number


NATIONAL: Sequence[Draw] = (
    _valid("###-##-####", ssn.is_valid),
    _with_check("########", dni.calc_check_digit),
    _with_check("1" + "8" + "1" + "0675" + "###" + "###", nir.calc_check_digits),
    _valid("1#0#9#-###^", hetu.is_valid),
    _valid("#### #### ####", aadhaar.is_valid),
    _valid("1#0#8#####" + "#", fodselsnummer.is_valid),
    _with_check("RSSMRA8#A0#H50#", codicefiscale.calc_check_digit),
    lambda draw: _filled(draw, "JX ## ## ## C"),
)
CALLED_NATIONAL = (
    ("my passport number is {}", "^#######"),
    ("Passport no. {} expires", "C##X##T##"),
    ("tax id: {}", "## ### ### ###"),
    ("Meine Steuer-ID ist {}", "###########"),
    ("driver's license number is {}", "#########"),
    ("Social security number {}", "#########"),
    ("NHS number {}", "### ### ####"),
    ("my PESEL is {}", "###########"),
    ("BSN: {}", "#########"),
    ("National Insurance number {}", "JX ## ## ## ^"),
    ("Sozialversicherungsnummer {}", "## ###### ^ ###"),
)
EMPLOYEE = (
    ("my employee number is {}", "######"),
    ("Employee ID: {}", "E#####"),
    ("staff no. {}", "#####"),
    ("personnel number {}", "00######"),
    ("Personalnummer {}", "######"),
    ("badge id {}", "B-####"),
    ("payroll number: {}", "#######"),
    ("HR number {}", "P######"),
    ("worker id is {}", "W#######"),
    ("Mitarbeiternummer: {}", "#####"),
    ("matricule {}", "######"),
    ("staff ID #{}", "####"),
)
_SECRETS = (
    "xoxb-############-############-************************",
    "ghp_************************************",
    "AKIA" + "^#^#^#^#^#^#^#^#",
    "sk-proj-********************************#",
    "glpat-*******************#",
    "eyJ***************.*****************.**********************",
    "hf_********************************#",
    "AIza***********************************",
    "npm_***********************************#",
    "SG.**********************.*******************************************",
    "github_pat_**********************_****************************",
)
_CALLED_SECRETS = (
    ("my password is {}", "Summer##!"),
    ("password: {}", "Aa#*****#"),
    ("pw: {}", "Qwer##ty#"),
    ("Passwort: {}", "Geheim##$x"),
    ("token={}", "************#***"),
    ("api key: {}", "#*******************"),
    ("Authorization: Bearer {}", "#***********************"),
    ("my PIN is {}", "####"),
    ("client secret: {}", "#***~*****_*****"),
    ("postgresql://{}@db/app", "app:Aa#*****#"),
)
_STREETS = "Main Oak Church Station Victoria Mill Park Lincoln Cedar Elm".split()
_TOWNS = "Springfield Bristol Denver Leeds Austin Boston".split()
_GERMAN = (
    "Hauptstra\u00dfe",
    "Bahnhofstr.",
    "Lindenallee",
    "M\u00fchlgasse",
    "Schillerstra\u00dfe",
    "Goethestrasse",
)
_GERMAN_TOWNS = ("10115 Berlin", "80331 M\u00fcnchen", "50667 K\u00f6ln", "20095 Hamburg")


def address(draw: random.Random) -> str:
    number, street, town = draw.randint(1, 999), draw.choice(_STREETS), draw.choice(_TOWNS)
    zip_code = _digits(draw, 5)
    unit = draw.choice(["", f", Apt {draw.randint(1, 99)}", f" Suite {draw.randint(100, 999)}"])
    way = draw.choice(["Street", "St", "Avenue", "Ave.", "Road", "Lane", "Blvd"])
    loose = draw.choice(["Drive", "Way", "Court", "Place"])
    house = f"{draw.randint(1, 140)}{draw.choice(['', '', 'a'])}"
    return draw.choice(
        [
            f"{number} {street} {way}{unit}, {town}, {draw.choice(['CO', 'TX', 'IL'])} {zip_code}",
            f"{number} {street} {way}",
            f"{number} {street} {loose}, {town}",
            f"{house} {street} Road, {town} {_filled(draw, 'BS# #AA')}",
            f"{draw.choice(_GERMAN)} {house}, {draw.choice(_GERMAN_TOWNS)}",
            f"{draw.choice(_GERMAN)} {house}",
            f"Am Alten Markt {house}, {draw.choice(_GERMAN_TOWNS)}",
            f"{number} rue de la R\u00e9publique, 69002 Lyon",
            f"{house} avenue Victor Hugo, 75016 Paris",
            f"Calle Mayor {number}, 28013 Madrid",
            f"Via Garibaldi {house}, 20121 Milano",
            f"Keizersgracht {house}, 1015 CJ Amsterdam",
            f"ul. D\u0142uga {house}, 00-238 Warszawa",
            f"P.O. Box {draw.randint(100, 99999)}",
        ]
    )


def _texts(name: str) -> Mapping[Kind, Sequence[str]]:
    read = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return cast("Mapping[Kind, Sequence[str]]", read)


_SAY = _texts("sentences.toml")
NEGATIVES = _texts("look_alikes.toml")
_AROUND = ("{}", "Hi, {}", "{} - any idea?", "{} since yesterday")


def samples(kind: Kind, count: int, seed: int = 7) -> Iterator[Sample]:
    """Yield as many values of a kind, each in a sentence."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311 - a fixed draw
    for _ in range(count):
        say, value = _said(kind, draw)
        yield Sample(draw.choice(_AROUND).format(say.format(value)), value, kind)


def look_alikes(kind: Kind, count: int, seed: int = 7) -> Iterator[Sample]:
    """Yield as many sentences that look like ones with a value of a kind, and have none."""
    draw = random.Random(f"no {kind} {seed}")  # noqa: S311 - a fixed draw
    for _ in range(count):
        text = "".join(
            draw.choice(digits) if each == "#" else each for each in draw.choice(NEGATIVES[kind])
        )
        yield Sample(draw.choice(_AROUND).format(text), text, None)


_VALUES: Mapping[Kind, Draw] = {
    "EMAIL": email, "PHONE": phone, "CARD": card, "IBAN": account, "ADDRESS": address,
}  # fmt: skip
_FORMS: Mapping[Kind, Sequence[tuple[str, str]]] = {
    "NATIONAL_ID": CALLED_NATIONAL, "EMPLOYEE_ID": EMPLOYEE, "CREDENTIAL": _CALLED_SECRETS,
}  # fmt: skip


def _said(kind: Kind, draw: random.Random) -> tuple[str, str]:
    """Return a sentence with a gap, and the value for it."""
    called = _FORMS.get(kind)
    if called is not None and (kind == "EMPLOYEE_ID" or draw.random() < 0.5):
        say, form = draw.choice(called)
        return say, _filled(draw, form)
    say = draw.choice(_SAY[kind])
    if kind == "NATIONAL_ID":
        return say, draw.choice(NATIONAL)(draw)
    if kind == "CREDENTIAL":
        return say, _filled(draw, draw.choice(_SECRETS))
    return say, _VALUES[kind](draw)


GENERATED: tuple[Kind, ...] = tuple(NEGATIVES)
"""The kinds with values to generate: all but names, which a directory lists."""

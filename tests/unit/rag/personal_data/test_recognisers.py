"""Forms of personal data that are found, and what looks like them."""

from __future__ import annotations

import pytest

from rag.personal_data.findings import Finding, without_overlaps
from rag.personal_data.masking import Masker
from rag.personal_data.names import DirectoryNames

MASKER = Masker(DirectoryNames())
LOGIN = "app:pass1"


def found(text: str) -> list[tuple[str, str]]:
    return [(each.kind, text[each.start : each.end]) for each in MASKER.find(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("mail j.o'neil+it@mail.example.co.uk.", "EMAIL", "j.o'neil+it@mail.example.co.uk"),
        ("phone +1-555-0123, how", "PHONE", "+1-555-0123"),
        ("call me back on 0171 234567", "PHONE", "0171 234567"),
        ("my new number is 512 345 889", "PHONE", "512 345 889"),
        ("fax: 030/901820", "PHONE", "030/901820"),
        ("(415) 555-2671 x12", "PHONE", "(415) 555-2671 x12"),
        ("ring ext. 4711", "PHONE", "4711"),
        ("4111 1111 1111 1111", "CARD", "4111 1111 1111 1111"),
        (
            "pay to gb82 west 1234 5698 7654 32 this week",
            "IBAN",
            "gb82 west 1234 5698 7654 32",
        ),
        ("123-45-6789", "NATIONAL_ID", "123-45-6789"),
        ("Steuer-ID: 12 345 678 901", "NATIONAL_ID", "12 345 678 901"),
        ("my passport is C01X00T47", "NATIONAL_ID", "C01X00T47"),
        ("12345678Z", "NATIONAL_ID", "12345678Z"),
        ("employee no. 0045321", "EMPLOYEE_ID", "0045321"),
        ("Personalnummer: A-12345", "EMPLOYEE_ID", "A-12345"),
        ("12 Main Street, Apt 4, Denver, CO 80202", "ADDRESS", None),
        ("Hauptstra\u00dfe 5a, 10115 Berlin", "ADDRESS", None),
        ("Lange Str. 7", "ADDRESS", None),
        ("I live at 12 main street", "ADDRESS", "12 main street"),
        ("Postfach 12 34", "ADDRESS", None),
        ("my password is hunter22", "CREDENTIAL", "hunter22"),
        ("password Winter2024! fails", "CREDENTIAL", "Winter2024!"),
        ("the PIN is 4711", "CREDENTIAL", "4711"),
        (f"postgresql://{LOGIN}@db/x", "CREDENTIAL", LOGIN),
    ],
)
def test_it_is_found_as_its_kind(text: str, kind: str, value: str | None) -> None:
    assert found(text) == [(kind, text if value is None else value)]


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "123-45-678",
        "12345678K",
        "my password is right??",
        "password: where?",
        "call 2026-11-24 10:00",
        "git@github.com:team/code",
        "admin@db01.internal",
        "Arbeitsplatz 12",
        "500 GB hard drive",
        "reset the password 3 times",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_of_two_findings_that_overlap_the_surer_kind_is_kept() -> None:
    mail, phone, name = Finding("EMAIL", 0, 9), Finding("PHONE", 5, 14), Finding("PERSON", 20, 24)

    assert without_overlaps([name, phone, mail]) == [mail, name]

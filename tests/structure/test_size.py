"""Files, functions and protocols stay within the bounds of docs/adr/0019."""

from __future__ import annotations

from tests.structure.size import LONG_FUNCTION, LONGEST_FILE, MOST_PROTOCOLS, ninth_decile
from tests.structure.source import PRODUCT, source_files


def test_no_file_of_the_product_is_too_long() -> None:
    assert [file.path for file in source_files(*PRODUCT) if file.lines > LONGEST_FILE] == []


def test_nine_of_ten_functions_are_short() -> None:
    assert ninth_decile(source_files(*PRODUCT)) <= LONG_FUNCTION


def test_there_are_no_more_protocols_than_agreed() -> None:
    assert sum(file.protocols for file in source_files(*PRODUCT)) <= MOST_PROTOCOLS

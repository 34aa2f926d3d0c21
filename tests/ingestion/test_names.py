from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.errors import DocumentRefused
from ingestion.validation import LONGEST_NAME, document_name, is_space_key, space_key


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "..",
        ".",
        ".hidden",
        "../up.md",
        "a/b.md",
        "a\\b.md",
        "C:\\x.md",
        "a\x00b",
        "a\nb",
        "a\u202egpj.md",
        "a\u200bb",
        "\ud800",
        "ends.",
        "x" * 201,
        "ü" * 125,
    ],
)
def test_names_with_tricks_are_refused_with_the_cure(name: str) -> None:
    with pytest.raises(DocumentRefused, match=r"The name .*\. ?") as refused:
        document_name(name)

    assert str(refused.value).isprintable()
    assert str(refused.value).isascii() or name.isprintable()


@pytest.mark.parametrize("name", ["a", "ü #1?%2F&.pdf", "表.docx", "a..b", "x" * LONGEST_NAME])
def test_other_names_are_taken(name: str) -> None:
    assert document_name(f" {name} ") == name


def test_a_name_has_one_spelling() -> None:
    assert document_name("u\u0308.md") == "\u00fc.md"


@given(st.text(max_size=300))
def test_no_name_that_is_taken_leaves_its_folder(text: str) -> None:
    try:
        name = document_name(text)
    except DocumentRefused:
        return

    assert not set(name) & set("/\\\0")
    assert not name.startswith(".")
    assert len(name.encode()) <= 240
    assert document_name(name) == name


@pytest.mark.parametrize("key", ["", ".", "-x", "a b", "a/b", "ü", "x" * 101, "a\n"])
def test_a_space_is_named_plainly(key: str) -> None:
    assert not is_space_key(key)
    with pytest.raises(DocumentRefused, match="no name of a space"):
        space_key(key)

"""Tests of writing front matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.documents.front_matter import join_front_matter, split_front_matter
from ingestion.errors import DocumentRefused
from ingestion.text import clean

pytestmark = pytest.mark.attack

LINES = st.from_regex(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]{1,30}", fullmatch=True)


def on_one_line(text: str) -> str:
    return " ".join(clean(text).split())


@given(LINES.filter(on_one_line), st.lists(LINES, max_size=3))
def test_what_is_written_is_read_back(title: str, labels: list[str]) -> None:
    read = split_front_matter(join_front_matter("Text\n---\n", title=title, labels=labels))

    assert (read.title, read.body) == (on_one_line(title), "Text\n---\n")
    assert read.labels == tuple(dict.fromkeys(filter(None, map(on_one_line, labels))))
    assert read.readers is None
    assert read.notes == ()


@pytest.mark.parametrize("mark", ["", "\ufeff", "\n"])
def test_a_body_with_readers_of_its_own_is_refused(mark: str) -> None:
    for body in ("---\nreaders: user:x\n---\nText", "---\nreaders: user:x\nText", "---\na: b\n---"):
        with pytest.raises(DocumentRefused):
            join_front_matter(mark + body, title="T", labels=[])

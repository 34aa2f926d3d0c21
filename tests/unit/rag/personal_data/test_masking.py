"""Placeholders go in and come out again, whatever the text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.personal_data.findings import KINDS
from rag.personal_data.masking import Masker
from rag.personal_data.names import DirectoryNames
from tests.evals.masking.names import TRAPS, directory, messages
from tests.evals.masking.values import GENERATED, samples

PEOPLE = directory(100)
MASKER = Masker(DirectoryNames(each.display for each in PEOPLE))
SENTENCES = [
    *(each.text for each in messages(PEOPLE, 60)),
    *(each.text for kind in GENERATED for each in samples(kind, 12)),
    *TRAPS[:40],
]
PLACEHOLDERS = [f"[{kind}_{number}]" for kind in KINDS for number in (1, 2, 11)]
texts = st.lists(
    st.sampled_from(SENTENCES) | st.sampled_from(PLACEHOLDERS) | st.text(max_size=20), max_size=6
).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=4))
def test_masking_and_putting_back_gives_every_text_as_it_was(asked: list[str]) -> None:
    masking = MASKER.mask(asked)

    assert [masking.restored(each) for each in masking.texts] == asked


@given(texts, texts)
def test_no_masked_text_has_a_value_that_was_found(asked: str, before: str) -> None:
    masking = MASKER.mask([asked, before])

    for text, masked in zip((asked, before), masking.texts, strict=True):
        outside = [text[each.start : each.end] for each in MASKER.find(text)]
        assert len(outside) == sum(masked.count(f"[{name}]") for name in masking.values)


@given(texts)
def test_what_is_found_does_not_overlap_and_is_inside_the_text(asked: str) -> None:
    found = MASKER.find(asked)

    ends = [0, *(each.end for each in found)]
    assert all(end <= each.start < each.end for end, each in zip(ends, found, strict=False))
    assert ends[-1] <= len(asked)


def test_a_value_has_one_placeholder_however_often_it_is_said() -> None:
    masking = MASKER.mask(["a@example.com, b@example.com", "and a@example.com again"])

    assert masking.texts == ("[EMAIL_1], [EMAIL_2]", "and [EMAIL_1] again")


def test_a_placeholder_that_somebody_wrote_stands_for_itself() -> None:
    masking = MASKER.mask(["[EMAIL_1] is not a@example.com"])

    assert masking.texts == ("[EMAIL_1] is not [EMAIL_2]",)
    assert masking.restored("EMAIL_1, EMAIL_2") == "EMAIL_1, a@example.com"
    assert not masking.has_unknown("[EMAIL_1]")


@pytest.mark.parametrize("said", ["[EMAIL_1]", "EMAIL_1", r"\[EMAIL_1\]", "mail [EMAIL_1]."])
def test_a_placeholder_is_known_however_a_model_writes_it(said: str) -> None:
    masking = MASKER.mask(["write to a@example.com"])

    assert "a@example.com" in masking.restored(said)
    assert "EMAIL" not in masking.restored(said)


@pytest.mark.parametrize("said", ["[EMAIL_2]", "PHONE_1", "[PERSON_1]"])
def test_a_placeholder_of_no_value_is_unknown(said: str) -> None:
    masking = MASKER.mask(["write to a@example.com"])

    assert masking.has_unknown(said)
    assert not masking.has_unknown("MY_EMAIL_2, EMAIL_, EMAIL_2nd")


def test_what_was_masked_is_not_in_the_representation() -> None:
    masking = MASKER.mask(["write to a@example.com"])

    assert "a@example.com" not in repr(masking)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.wiki import normalized_email


@pytest.mark.parametrize(
    ("one", "other"), [(" Ann@Acme.Example\n", "ann@acme.example"), ("ÄNN@x.de", "änn@x.de")]
)
def test_case_and_blanks_around_make_no_difference(one: str, other: str) -> None:
    assert normalized_email(one) == normalized_email(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann@straße.example", "ann@strasse.example"),
        ("\u212aarl@acme.example", "karl@acme.example"),
        ("\u017fam@acme.example", "sam@acme.example"),
        ("i\u0307da@acme.example", "ida@acme.example"),
        ("\u0130da@acme.example", "ida@acme.example"),
        ("\u0131da@acme.example", "ida@acme.example"),
        ("ﬁn@acme.example", "fin@acme.example"),
        ("ann+it@acme.example", "ann@acme.example"),
        ("ann@acme.example", "\uff41nn@acme.example"),
    ],
)
def test_letters_that_only_look_or_sort_alike_are_other_people(one: str, other: str) -> None:
    assert normalized_email(one) != normalized_email(other)


@given(st.text())
def test_what_was_folded_stays_as_it_is(email: str) -> None:
    assert normalized_email(normalized_email(email)) == normalized_email(email)

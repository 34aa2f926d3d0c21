"""Code stays code in every notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.text.markdown import plain_code, without_code


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("```\nrun `this`\n```", "```\nrun `this`\n```"),
        ("~~~\nrun\n~~~", "```\nrun\n```"),
        ("````sh\n```\nrun\n````", "```sh\n\u02cb\u02cb\u02cb\nrun\n```"),
        ("```\nopen", "```\nopen\n```"),
        ("use ``a ` b`` now", "use `a \u02cb b` now"),
        ("use `a` now", "use `a` now"),
        ("~struck~ and ~~more~~", "~struck~ and ~~more~~"),
    ],
)
def test_code_is_fenced_as_every_notation_knows_it(text: str, plain: str) -> None:
    assert plain_code(text) == plain


@given(st.text(alphabet="`~ab \n", max_size=60))
def test_writing_it_again_changes_nothing(text: str) -> None:
    assert plain_code(plain_code(text)) == plain_code(text)
    assert "`" not in without_code(text)

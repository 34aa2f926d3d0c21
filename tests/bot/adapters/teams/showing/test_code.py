"""Code of an answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.rendering.answer_blocks import Code, code_in
from bot.platforms.teams.rendering.text import size


@pytest.mark.parametrize(
    ("named", "language"),
    [
        ("py", "Python"),
        ("PS1", "PowerShell"),
        ("c++ x", "Cpp"),
        ("", "PlainText"),
        ("x", "PlainText"),
    ],
)
def test_the_language_is_as_teams_calls_it(named: str, language: str) -> None:
    assert code_in(f"```{named}\nx\n```") == Code("x", language)


def test_code_is_shown_letter_for_letter_also_where_code_cannot_be_shown() -> None:
    shown: Any = Code("if a_b:\n  curl https://x.example").element()
    assert shown["codeSnippet"] == "if a_b:\n  curl https://x.example"
    fallback = shown["fallback"]
    assert (fallback["type"], fallback["fontType"]) == ("TextBlock", "Monospace")
    assert fallback["text"] == ("if a\\_b:\n\n\u00a0\u00a0curl https:\u2060//x\u2060.example")


@given(st.lists(st.text(alphabet='ab ~\u4e16"', min_size=1, max_size=60), min_size=1, max_size=40))
def test_long_code_is_cut_between_lines_and_numbered_on(lines: list[str]) -> None:
    code = Code("\n".join(lines), "Go")
    parts = code.parts(lambda element: size(element) <= 2_000)
    assert "\n".join(part.text for part in parts) == code.text
    assert all(size(part.element()) <= 2_000 for part in parts)
    for part, following in pairwise(parts):
        assert following.first == part.first + part.text.count("\n") + 1


def test_a_line_that_fits_nowhere_is_cut() -> None:
    parts = Code("x" * 5_000).parts(lambda element: size(element) <= 2_000)
    assert "".join(part.text for part in parts) == "x" * 5_000
    assert all(size(part.element()) <= 2_000 for part in parts)

from __future__ import annotations

from bot.domain.record_search import Cursor
from bot.web.board.layout import list_link, next_link
from tests.builders import NOON


def test_a_link_keeps_the_filters_that_are_set() -> None:
    assert list_link("/p", {"words": "a & b", "kind": ""}) == "/p?words=a+%26+b"
    assert list_link("/p", {"words": ""}) == "/p"
    assert next_link("/p", {"words": "a"}, None) == ""
    assert next_link("/p", {}, Cursor(NOON, ("5",))).startswith("/p?after=")

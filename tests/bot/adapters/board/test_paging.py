from __future__ import annotations

from bot.adapters.board.paging import further, link
from bot.domain.record_search import Cursor
from tests.builders import NOON


def test_a_link_keeps_the_filters_that_are_set() -> None:
    assert link("/p", {"words": "a & b", "kind": ""}) == "/p?words=a+%26+b"
    assert link("/p", {"words": ""}) == "/p"
    assert further("/p", {"words": "a"}, None) == ""
    assert further("/p", {}, Cursor(NOON, ("5",))).startswith("/p?after=")

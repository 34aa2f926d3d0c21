from __future__ import annotations

from dataclasses import replace

import pytest

from bot.rendering.links import board_case, reachable_from_afar
from bot.types import Clarification, Escalation, InteractionId, Outcome, Reply, Response, Source
from tests.bot.fakes import replied

OURS = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", "q", None, 1.0, "folder", "vpn.md")
THEIRS = replace(OURS, url="https://wiki.example/pages/IT/vpn.md")
NOWHERE = replace(OURS, url="//evil.example/pages/x")


def outcome(response: Response, private: Reply | None = None) -> Outcome:
    return replace(replied("hi"), response=response, private=private)


def urls(response: Response) -> list[str]:
    shown = response.sources if isinstance(response, Reply) else response.suggestions
    return [source.url for source in shown]


@pytest.mark.parametrize(
    "response",
    [
        Reply("hi", "found", sources=(OURS, THEIRS, NOWHERE)),
        Clarification("which?", suggestions=(OURS, THEIRS, NOWHERE)),
        Escalation("asked", "low_confidence", "q", suggestions=(OURS, THEIRS, NOWHERE)),
    ],
)
def test_only_our_own_pages_get_the_public_address(response: Response) -> None:
    shown = reachable_from_afar(outcome(response), "https://help.example")

    assert urls(shown.response) == [
        "https://help.example/pages/IT/vpn.md",
        THEIRS.url,
        NOWHERE.url,
    ]


def test_a_private_reply_is_linked_too() -> None:
    private = Reply("hi", "found", sources=(OURS,))
    shown = reachable_from_afar(outcome(private, private), "https://help.example")

    assert shown.private is not None
    assert urls(shown.private) == ["https://help.example/pages/IT/vpn.md"]


def test_without_a_public_address_nothing_changes() -> None:
    asked = outcome(Reply("hi", "found", sources=(OURS,)))

    assert reachable_from_afar(asked, None) is asked


def test_a_case_opens_on_the_board_where_colleagues_have_an_address_of_it() -> None:
    case_id = InteractionId("i-1")

    assert board_case(case_id, "https://help.example") == (
        "https://help.example/board/escalations/i-1"
    )
    assert board_case(case_id, None) == ""

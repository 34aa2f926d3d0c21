from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.chat.response_view import web_url
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Source
from bot.domain.messages import InteractionId
from bot.domain.text.source_links import board_case, with_public_links
from bot.domain.urls import safe_redirect_path
from tests.bot.fakes import replied

OURS = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", "q", None, 1.0, "folder", "vpn.md")
THEIRS = replace(OURS, url="https://wiki.example/pages/IT/vpn.md")
NOWHERE = replace(OURS, url="//evil.example/pages/x")


def outcome(response: Response, private: Reply | None = None) -> Outcome:
    return replace(replied("hi"), response=response, private=private)


def urls(response: Response) -> list[str]:
    shown = response.sources if isinstance(response, Reply) else response.suggestions
    return [source.url for source in shown]


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize(
    "response",
    [
        Reply("hi", "found", sources=(OURS, THEIRS, NOWHERE)),
        Clarification("which?", suggestions=(OURS, THEIRS, NOWHERE)),
        Escalation("asked", "low_confidence", "q", suggestions=(OURS, THEIRS, NOWHERE)),
    ],
)
def test_only_our_own_pages_get_the_public_address(response: Response) -> None:
    shown = with_public_links(outcome(response), "https://help.example")

    assert urls(shown.response) == [
        "https://help.example/pages/IT/vpn.md?chunk=c1&quote=q#quote",
        THEIRS.url,
        NOWHERE.url,
    ]


@pytest.mark.mended(id="slack-4")
@pytest.mark.parametrize("line", ["Open the client.", "Wait " * 200, "\u00e4" * 140])
def test_a_link_leads_to_the_line_and_stays_short_enough_for_signing_in(line: str) -> None:
    reply = Reply("From the wiki:\n\n> all of it [1]", "found", (replace(OURS, line=line),))
    (url,) = urls(with_public_links(outcome(reply), "https://help.example").response)

    for quoted in parse_qs(urlsplit(url).query).get("quote", []):
        assert line.startswith(quoted)
    assert safe_redirect_path(url.removeprefix("https://help.example")) != "/"
    assert web_url(url) == url


def test_a_private_reply_is_linked_too() -> None:
    private = Reply("hi", "found", sources=(OURS,))
    shown = with_public_links(outcome(private, private), "https://help.example")

    assert shown.private is not None
    assert urls(shown.private) == ["https://help.example/pages/IT/vpn.md?chunk=c1&quote=q#quote"]


def test_without_a_public_address_nothing_changes() -> None:
    asked = outcome(Reply("hi", "found", sources=(OURS,)))

    assert with_public_links(asked, None) is asked


def test_a_case_opens_on_the_board_where_colleagues_have_an_address_of_it() -> None:
    case_id = InteractionId("i-1")

    assert board_case(case_id, "https://help.example") == (
        "https://help.example/board/escalations/i-1"
    )
    assert board_case(case_id, None) == ""

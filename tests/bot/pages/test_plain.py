"""A person's own words as HTML."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.pages.safe_html import plain_html


class Reader(HTMLParser):
    """Notes every tag and what a browser would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.shown = ""
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_an_https_address_is_a_link_without_the_sentence_around_it() -> None:
    html = plain_html("See (https://help.example/vpn?a=1&b=2), then call.\nAnna")

    assert Reader(html).links == ["https://help.example/vpn?a=1&b=2"]
    assert Reader(html).shown == "See (https://help.example/vpn?a=1&b=2), then call.\nAnna"
    assert 'rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize(
    "text",
    [
        "http://help.example",
        "javascript:alert(1)",
        "https://bank.example@evil.example/",
        "https://",
        "https://[::1",
        "https://b\u0430nk.example/",
        "//evil.example",
        "data:text/html,x",
        "[here](javascript:alert(1))",
    ],
)
def test_what_may_lead_elsewhere_than_it_says_is_no_link(text: str) -> None:
    assert Reader(plain_html(text)).tags == []


def test_what_turns_the_direction_of_the_text_is_left_out() -> None:
    assert plain_html("a\u202eb\x00c") == "abc"


@given(st.text(st.sampled_from("ab \n<>&\"'/:.@https\u202e\u200b()"), max_size=200))
def test_whatever_is_written_is_shown_as_it_is_and_links_only_where_it_says(text: str) -> None:
    html = plain_html(text)
    read = Reader(html)

    assert set(read.tags) <= {"a"}
    assert all(link.startswith("https://") and link in unescape(html) for link in read.links)
    assert read.shown == re.sub("\u202e", "", text)

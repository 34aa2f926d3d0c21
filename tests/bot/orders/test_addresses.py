from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.targets import url_variants


@pytest.mark.parametrize(
    ("given_as", "indexed"),
    [
        ("https://wiki.example/it/vpn", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn#Install", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn?src=mail#a", "https://wiki.example/it/vpn"),
        ("https://wiki.example/v?pageId=7#a", "https://wiki.example/v?pageId=7"),
        ("https://wiki.example/it/vpn/", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn", "https://wiki.example/it/vpn/"),
        ("https://wiki.example/it/my page", "https://wiki.example/it/my%20page"),
        ("https://wiki.example/it/caf\u00e9", "https://wiki.example/it/caf%C3%A9"),
        ("https://wiki.example/it/my%20page", "https://wiki.example/it/my page"),
        ("wiki.example/it/vpn", "https://wiki.example/it/vpn"),
        ("https://wiki.example/it/vpn.", "https://wiki.example/it/vpn"),
        ("https://desk.example/pages/HR/leave.md#a", "/pages/HR/leave.md"),
        ("/pages/HR/leave.md", "/pages/HR/leave.md"),
        ("https://[broken", "https://[broken"),
    ],
)
def test_a_page_is_found_however_its_address_was_copied(given_as: str, indexed: str) -> None:
    assert indexed in url_variants(given_as)


def test_only_the_pages_of_this_server_are_known_without_their_host() -> None:
    assert all("wiki.example" in form for form in url_variants("https://wiki.example/it/vpn"))


@given(st.text())
def test_whatever_is_given_has_few_forms_of_which_none_is_another_twice(url: str) -> None:
    forms = url_variants(url)

    assert 0 < len(forms) <= 16
    assert len(set(forms)) == len(forms)

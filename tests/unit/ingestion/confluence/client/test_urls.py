"""Which site a setting names, and which page an address names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.client.connection import Edition, address_of
from ingestion.confluence.client.urls import AddressTarget, address_target
from ingestion.errors import SettingInvalid
from tests.fakes.confluence.content import Content
from tests.fakes.confluence.payloads_v2 import tiny
from tests.fakes.confluence.site import Site

CLOUD = "https://acme.atlassian.net/wiki"
CENTER = "https://wiki.acme.example/confluence"


@pytest.mark.parametrize(
    ("url", "edition", "base"),
    [
        ("https://acme.atlassian.net", "cloud", CLOUD),
        ("https://acme.atlassian.net/", "cloud", CLOUD),
        ("https://ACME.atlassian.net/wiki/", "cloud", CLOUD),
        ("http://acme.atlassian.net/wiki", "cloud", CLOUD),
        ("https://acme.atlassian.net/wiki/spaces/IT/pages/12/VPN", "cloud", CLOUD),
        ("https://acme.atlassian.net/jira/your-work", "cloud", CLOUD),
        (
            "https://api.atlassian.com/ex/confluence/1-2",
            "cloud",
            "https://api.atlassian.com/ex/confluence/1-2/wiki",
        ),
        (
            "https://api.atlassian.com/ex/confluence/1-2/wiki/api/v2/spaces",
            "cloud",
            "https://api.atlassian.com/ex/confluence/1-2/wiki",
        ),
        (CENTER, "data-center", CENTER),
        (f"{CENTER}/", "data-center", CENTER),
        (f"{CENTER}/display/IT/VPN", "data-center", CENTER),
        (f"{CENTER}/pages/viewpage.action", "data-center", CENTER),
        (f"{CENTER}/spaces/IT/pages/1/x", "data-center", CENTER),
        (f"{CENTER}/rest/api", "data-center", CENTER),
        (f"{CENTER}/login.action", "data-center", CENTER),
        ("https://wiki.acme.example", "data-center", "https://wiki.acme.example"),
        ("https://wiki.acme.example/x/twBvI", "data-center", "https://wiki.acme.example"),
        ("http://wiki:8090/", "data-center", "http://wiki:8090"),
        ("http://127.0.0.1:8090/a/b", "data-center", "http://127.0.0.1:8090/a/b"),
        ("https://atlassian.net.evil.example", "data-center", "https://atlassian.net.evil.example"),
    ],
)
def test_a_site_is_named_by_any_address_of_it(url: str, edition: Edition, base: str) -> None:
    address = address_of(url)

    assert (address.edition, str(address.base)) == (edition, base)


def test_the_edition_is_as_said_where_it_is_said() -> None:
    assert str(address_of("https://wiki.acme.example", "cloud").base) == (
        "https://wiki.acme.example/wiki"
    )
    assert address_of(CENTER, "data-center").edition == "data-center"


@pytest.mark.parametrize(
    ("url", "cure"),
    [
        ("acme", "is no web address"),
        ("https://", "is no web address"),
        ("https://[::bad", "is no web address"),
        ("ftp://wiki.acme.example", "is no web address"),
        ("https://rita:secret@wiki.acme.example", "CONFLUENCE_TOKEN instead"),
        ("https://api.atlassian.com/", "ex/confluence/CLOUD-ID"),
    ],
)
def test_what_names_no_site_is_refused_with_the_cure(url: str, cure: str) -> None:
    with pytest.raises(SettingInvalid, match=cure) as refused:
        address_of(url)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        (f"{CLOUD}/spaces/IT/pages/123/VPN+FAQ", AddressTarget(page_id="123", space="IT")),
        (f"{CLOUD}/spaces/IT/pages/123", AddressTarget(page_id="123", space="IT")),
        (f"{CLOUD}/spaces/IT/pages/123/VPN?focusedCommentId=9#x", AddressTarget("123", "IT")),
        (f"{CLOUD}/spaces/~712020ab/pages/123/x", AddressTarget("123", "~712020ab")),
        (f"{CLOUD}/spaces/IT/pages/edit-v2/123", AddressTarget("123", "IT")),
        (f"{CLOUD}/spaces/IT/blog/2024/05/06/123/News", AddressTarget("123", "IT")),
        (f"{CLOUD}/spaces/IT/overview", AddressTarget(space="IT")),
        (f"{CLOUD}/spaces/IT", AddressTarget(space="IT")),
        (f"{CLOUD}/pages/viewpage.action?pageId=123", AddressTarget("123")),
        (f"{CLOUD}/pages/resumedraft.action?draftId=123", AddressTarget("123")),
        (
            f"{CLOUD}/pages/viewpageattachments.action?pageId=123&preview=%2F123%2F456%2Fa.pdf",
            AddressTarget("123", attachment_id="att456"),
        ),
        (
            f"{CLOUD}/pages/viewpageattachments.action?pageId=123&preview=%2F9%2F456%2Fa.pdf",
            AddressTarget("123"),
        ),
        (f"{CLOUD}/api/v2/pages/123", AddressTarget("123")),
        (f"{CENTER}/rest/api/content/123", AddressTarget("123")),
        (f"{CENTER}/display/IT/VPN+FAQ", AddressTarget(space="IT", title="VPN FAQ")),
        (f"{CENTER}/display/IT/Gr%C3%BC%C3%9Fe", AddressTarget(space="IT", title="Grüße")),
        (f"{CENTER}/display/IT/2024/05/06/News", AddressTarget(space="IT", title="News")),
        (f"{CENTER}/display/IT", AddressTarget(space="IT")),
        (f"{CENTER}/display/~rita/Notes", AddressTarget(space="~rita", title="Notes")),
        (
            f"{CENTER}/pages/viewpage.action?spaceKey=IT&title=A+%26+B",
            AddressTarget(space="IT", title="A & B"),
        ),
        (f"{CLOUD}/x/twBvI", AddressTarget("544145591")),
        (f"{CLOUD}/x/iABeIg", AddressTarget("576585864")),
        ("123", AddressTarget("123")),
        (" 123 ", AddressTarget("123")),
    ],
)
def test_an_address_names_a_page_or_a_space(url: str, named: AddressTarget) -> None:
    assert address_target(url) == named


@pytest.mark.parametrize(
    "url",
    [
        "",
        "VPN",
        "https://acme.example/",
        f"{CLOUD}/pages/viewpage.action?pageId=12x",
        f"{CLOUD}/pages/viewpage.action",
        f"{CLOUD}/x/",
        f"{CLOUD}/x/AAAA",
        f"{CLOUD}/home",
        "https://wiki.acme.example/pages/12345678901234567890123",
    ],
)
def test_what_names_no_page_is_none(url: str) -> None:
    assert address_target(url) is None


@given(st.integers(min_value=1, max_value=2**62))
def test_a_short_link_holds_the_page_that_it_was_made_of(number: int) -> None:
    site = Site()
    site.add_space("IT")
    page: Content = site.create("IT", "Page")
    page.id = str(number)

    assert address_target(f"{CLOUD}{tiny(page)}") == AddressTarget(page_id=str(number))


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    address_target(text)
    address_target(f"{CLOUD}/spaces/{text}")
    address_target(f"{CLOUD}/pages/viewpage.action?pageId={text}&preview={text}")

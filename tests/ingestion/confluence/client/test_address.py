"""Which site a setting names."""

from __future__ import annotations

import pytest

from ingestion.confluence.client.connection import Edition, address_of
from ingestion.errors import SettingInvalid

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

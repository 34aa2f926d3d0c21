"""Tests of addresses and redirect targets."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from bot.domain.urls import is_confidential, origin_of, path_of, safe_redirect_path

pytestmark = pytest.mark.attack

HERE = "https://desk.example/session"
ODD = st.text(st.sampled_from("/\\.:@?#&=%09aA évil\t\n\r\x00\x0b\u2028[]"), max_size=12)


@given(st.one_of(st.text(max_size=30), ODD))
@example("//evil.example")
@example("/\\evil.example")
@example("/\t/evil.example")
@example("https:evil.example")
@example("/./\\evil.example")
@example("javascript:alert(1)")
@example("/%0d%0aSet-Cookie: a=b")
def test_wherever_one_wants_to_go_it_is_this_server(wanted: str) -> None:
    place = safe_redirect_path(wanted)
    # Browsers drop these, and read a backslash as a slash.
    as_browsers = "".join(each for each in place if each not in "\t\n\r").replace("\\", "/")

    assert urlsplit(urljoin(HERE, as_browsers)).netloc == "desk.example"
    assert URL(HERE).join(URL(place, encoded=True)).host == "desk.example"
    assert place.startswith("/")
    assert not any(ord(each) <= 32 or ord(each) >= 127 for each in place)


@pytest.mark.parametrize(
    "path", ["/", "/board", "/board/questions?text=a%20b&x=[1]", "/a#b", "/~c"]
)
def test_a_path_of_ours_is_kept(path: str) -> None:
    assert safe_redirect_path(path) == path


@pytest.mark.parametrize(
    "wanted",
    [None, "", "board", "//x", "/\\x", "/a\\b", "/a b", "/é", "/session", "/session/oidc?next=/",
     "/session?next=/session", "/session#x", "/" + "a" * 1000],
)  # fmt: skip
def test_whatever_else_is_the_chat(wanted: str | None) -> None:
    assert safe_redirect_path(wanted) == "/"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://desk.example", "https://desk.example"),
        ("https://Desk.Example:443/path", "https://desk.example"),
        ("http://desk.example:80", "http://desk.example"),
        ("https://desk.example:8443", "https://desk.example:8443"),
        ("http://[::1]:3978", "http://[::1]:3978"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_an_address_without_a_host_has_no_origin() -> None:
    with pytest.raises(ValueError, match="names no host"):
        origin_of("https:///path")


@pytest.mark.parametrize(
    ("url", "path"),
    [("https://a.example/b?c=d#e", "/b?c=d"), ("https://a.example", "/"), ("https://[x", "/")],
)
def test_the_path_of_an_address_has_its_query(url: str, path: str) -> None:
    assert path_of(url) == path


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://login.example", True),
        ("http://127.0.0.1:8080/x", True),
        ("http://localhost", True),
        ("http://login.example", False),
        ("http://localhost.example", False),
        ("ftp://localhost", False),
        ("https://[x", False),
    ],
)
def test_plain_http_is_for_this_machine(url: str, *, expected: bool) -> None:
    assert is_confidential(url) is expected

"""Where the Confluence is: its edition and base address, out of what people paste; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from yarl import URL

from ingestion.errors import SettingInvalid

Edition = Literal["cloud", "data-center"]

_CLOUD = ".atlassian.net"
_GATEWAY = "api.atlassian.com"
_GATEWAY_PATH = re.compile(r"/ex/confluence/[^/]+")
_PAGES = re.compile(
    r"/(?:api/v2|rest/api|rest|display|pages|spaces|x|download|plugins|label|admin)(?:/.*)?$"
    r"|/[a-z]+\.action$"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A site. ``base`` ends without a slash, on Cloud with ``/wiki``; all we ask is below it."""

    edition: Edition
    base: URL

    @property
    def origin(self) -> URL:
        return self.base.origin()

    def below(self, path: str) -> URL:
        """Return an address of the site; ``path`` begins with a slash and is encoded."""
        return URL(f"{self.base}{path}", encoded=True)


def address_of(url: str, edition: Literal["auto", "cloud", "data-center"] = "auto") -> Address:
    """Return the site that a setting names; the address of any page there will do.

    Raises SettingInvalid.
    """
    given = _whole(url)
    kind = _edition(given) if edition == "auto" else edition
    path = _cloud_path(given) if kind == "cloud" else _context(given.path)
    if _is_atlassians(given):
        given = given.with_scheme("https")
    return Address(edition=kind, base=URL(f"{given.origin()}{path}"))


def _whole(url: str) -> URL:
    try:
        given = URL(url.strip())
    except ValueError:
        given = URL()
    if given.scheme not in {"http", "https"} or not given.host:
        raise SettingInvalid(
            f"CONFLUENCE_URL={url!r} is no web address. Write https://SITE.atlassian.net/wiki, or "
            "your Data Center's address."
        )
    if given.user or given.password:
        raise SettingInvalid(
            "CONFLUENCE_URL holds a name or password. Take it out; write CONFLUENCE_EMAIL and "
            "CONFLUENCE_TOKEN instead."
        )
    return given


def _edition(url: URL) -> Edition:
    return "cloud" if _is_atlassians(url) else "data-center"


def _is_atlassians(url: URL) -> bool:
    host = (url.host or "").lower()
    return host.endswith(_CLOUD) or host == _GATEWAY


def _cloud_path(url: URL) -> str:
    if found := _GATEWAY_PATH.match(url.path):
        return f"{found[0]}/wiki"
    if (url.host or "").lower() == _GATEWAY:
        raise SettingInvalid(
            f"CONFLUENCE_URL={str(url)!r} names no site. Write "
            "https://api.atlassian.com/ex/confluence/CLOUD-ID."
        )
    before, wiki, _ = f"{url.path}/".partition("/wiki/")
    return f"{before}/wiki" if wiki else "/wiki"


def _context(path: str) -> str:
    return _PAGES.sub("", path.rstrip("/")).rstrip("/")

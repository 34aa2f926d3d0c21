"""Read from the environment which proxy leads to an address, for those who call over aiohttp."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.request import getproxies_environment, proxy_bypass

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """The address of a proxy without its password, and the headers that authenticate with it."""

    url: URL
    headers: Mapping[str, str] = field(repr=False)


class Proxies:
    """The proxies that the environment configures.

    aiohttp's own ``trust_env`` would also read ``.netrc`` and send the credentials in it.
    """

    def __init__(self) -> None:
        self._known = getproxies_environment()

    def towards(self, url: URL) -> Proxy | None:
        """Return the proxy for an address; None for a direct connection."""
        known = self._known.get(url.scheme)
        if not known or proxy_bypass(f"{url.host}:{url.port}"):
            return None
        return _proxy(URL(known if "://" in known else f"http://{known}"))


def _proxy(url: URL) -> Proxy:
    if url.user is None:
        return Proxy(url=url, headers={})
    opened = base64.b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
    # aiohttp forwards the proxy's Authorization header as Proxy-Authorization.
    return Proxy(url=url.with_user(None), headers={"Authorization": f"Basic {opened}"})

"""Which proxy leads to a host, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.request import getproxies_environment, proxy_bypass

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where a proxy is, without its password, and the headers that open it."""

    url: URL
    headers: Mapping[str, str] = field(repr=False)


class Proxies:
    """The proxies of the environment.

    aiohttp's own ``trust_env`` would read ``.netrc`` as well and send what it finds there.
    """

    def __init__(self) -> None:
        self._known = getproxies_environment()

    def towards(self, url: URL) -> Proxy | None:
        """Return the proxy for an address; None for the direct way."""
        known = self._known.get(url.scheme)
        if not known or proxy_bypass(f"{url.host}:{url.port}"):
            return None
        return _proxy(URL(known if "://" in known else f"http://{known}"))


def _proxy(url: URL) -> Proxy:
    if url.user is None:
        return Proxy(url=url, headers={})
    opened = base64.b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
    # aiohttp sends what is given to the proxy as Authorization on as Proxy-Authorization.
    return Proxy(url=url.with_user(None), headers={"Authorization": f"Basic {opened}"})

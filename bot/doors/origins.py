"""From which pages, and under which names, requests are taken."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web

from bot.domain.urls import LOOPBACK_NAMES, is_local_host, origin_of
from bot.doors.problems import problem

UPLOADS = ("/api/v1/documents/", "/api/v2/documents/")
"""Where programs send forms; browsers say where a form comes from, and programs need not."""

READING = frozenset({"GET", "HEAD", "OPTIONS"})


def check_host(request: web.Request) -> None:
    """Refuse names that aren't ours: a page elsewhere can point its own name at 127.0.0.1.

    Raises Problem (403).
    """
    hosts = request.headers.getall("Host", [])
    if len(hosts) == 1 and _is_ours(request, hosts[0]):
        return
    raise problem(
        403,
        f"The host {', '.join(hosts)!r} is not this server's.",
        cure="Open it as http://127.0.0.1 or http://localhost with its port.",
    )


def check_public_host(request: web.Request, public_origin: str | None) -> None:
    """Refuse names that aren't ``public_origin``'s, nor this very machine's; None: all are taken.

    Raises Problem (403).
    """
    hosts = request.headers.getall("Host", [])
    if public_origin is None or (len(hosts) == 1 and _is_public(hosts[0], public_origin)):
        return
    raise problem(
        403,
        f"The host {', '.join(hosts)!r} is not this server's.",
        cure=f"Open it as {public_origin} (PUBLIC_URL). A proxy must pass the Host header on.",
    )


def check_origin(request: web.Request, public_origin: str | None = None) -> None:
    """Refuse other sites; a change without an Origin must be JSON, which no form can send.

    ``public_origin`` is what browsers call us, where that is set; beside it counts only this very
    machine's own name.
    Raises Problem (403 or 415).
    """
    origins = request.headers.getall("Origin", [])
    if origins:
        if not all(_is_our_page(request, origin, public_origin) for origin in origins):
            raise problem(
                403,
                f"Requests from {', '.join(origins)!r} are not taken.",
                cure="Use the page that this server itself serves.",
            )
        return
    if request.path.startswith(UPLOADS) and not _is_browser(request):
        return
    sends = request.method == "POST" or request.body_exists
    if request.method not in READING and sends and request.content_type != "application/json":
        raise problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def _is_ours(request: web.Request, host: str) -> bool:
    transport = request.transport
    own = transport.get_extra_info("sockname") if transport is not None else None
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port or 80
    except ValueError:
        return False
    plain = parts.username is None and not parts.path
    return plain and parts.hostname in LOOPBACK_NAMES and own is not None and port == own[1]


def _is_public(host: str, public_origin: str) -> bool:
    scheme = public_origin.partition("://")[0]
    try:
        address = f"{scheme}://{host}"
        return origin_of(address) == public_origin or is_local_host(address)
    except ValueError:
        return False


def _is_our_page(request: web.Request, origin: str, public_origin: str | None) -> bool:
    if origin == public_origin:
        return True
    return _is_same(request, origin) and (public_origin is None or is_local_host(origin))


def _is_browser(request: web.Request) -> bool:
    """Tell whether a page may be behind a request: no page can hide what its browser is."""
    named = request.headers.get("User-Agent", "").startswith("Mozilla/")
    return named or any(name.lower().startswith("sec-fetch-") for name in request.headers)


def _is_same(request: web.Request, origin: str) -> bool:
    """Compare host and port; behind a proxy the scheme differs."""
    scheme, _, place = origin.partition("://")
    return scheme in {"http", "https"} and place == request.headers.get("Host")

"""Who may come in: hosts, origins, tokens; and the headers that every answer carries."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from bot import sessions
from bot.config import Settings
from bot.errors import SettingInvalid
from bot.identity import (
    IDENTITIES,
    NEWCOMER,
    ClaimedUser,
    Identities,
    may_see,
    new_visitor,
    person_of,
)
from bot.platforms import is_endpoint
from bot.problems import MAX_BODY, Problem, problem, problems

__all__ = [
    "ClaimedUser",
    "Doors",
    "Problem",
    "may_see",
    "mount_doors",
    "person_of",
    "problem",
]


OPEN = frozenset({"/health", "/ready", sessions.PATH, sessions.STYLE})
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SHORTEST_TOKEN = 16
ADD_ONE = "FRONTDESK_ADMIN_TOKEN=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "frontdesk",
}


class Doors:
    """Checks every request before it reaches a route.

    On loopback alone, Host and Origin must be ours. Once others can reach the server (HOST is not
    loopback, or a platform needs a public address), the admin token is needed.
    """

    def __init__(self, settings: Settings, identities: Identities) -> None:
        self._identities = identities
        self._has_token = settings.admin_token is not None
        self.guarded = settings.exposed

    @property
    def advice(self) -> str | None:
        """What to print at the start when the page and the API are closed to everybody."""
        if not self.guarded or self._has_token:
            return None
        return (
            "The web page and the API are closed: others may reach this server and there is no "
            f"admin token. To open them, add one: {ADD_ONE}"
        )

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let a request through or refuse it."""
        if (request.content_length or 0) > MAX_BODY:
            raise problem(413)
        if not self.guarded:
            _check_host(request)
            _check_origin(request)
        elif not is_endpoint(request.path):
            self._check_caller(request)
        return await handler(request)

    @web.middleware
    async def recognise(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give a browser that comes for the first time an id of its own."""
        if not _is_page_view(request) or self._identities.visitor(request) is not None:
            return await handler(request)
        visitor = request[NEWCOMER] = new_visitor()
        response = await handler(request)
        self._identities.remember(request, response, visitor)
        return response

    async def dress(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add what every response carries; also to streams."""
        response.headers.update(HEADERS)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")

    def _check_caller(self, request: web.Request) -> None:
        if self._identities.has_token(request):
            return
        _check_origin(request)
        if request.path in OPEN or self._identities.is_admin(request):
            return
        if not self._has_token:
            raise problem(
                403,
                "This server has no admin token, so only the platforms' endpoints are open.",
                cure=f"Set one and start again: {ADD_ONE}",
            )
        if _is_page_view(request):
            raise web.HTTPSeeOther(sessions.PATH)
        raise problem(401, headers={"WWW-Authenticate": 'Bearer realm="frontdesk"'})


def mount_doors(app: web.Application, settings: Settings) -> Doors:
    """Put the doors before every route of an app. Raises SettingInvalid for a weak token.

    Call it first: what is mounted later is behind the doors.
    """
    token = settings.admin_token
    if token is not None and len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise SettingInvalid(
            f"FRONTDESK_ADMIN_TOKEN has fewer than {SHORTEST_TOKEN} characters and could be "
            f"guessed. Make one: {ADD_ONE}"
        )
    identities = Identities(settings)
    doors = Doors(settings, identities)
    app[IDENTITIES] = identities
    app.middlewares[:0] = [problems, doors.check, doors.recognise]
    app.on_response_prepare.append(doors.dress)
    sessions.mount(app, identities, has_token=token is not None, cure=ADD_ONE)
    return doors


def _check_host(request: web.Request) -> None:
    """Refuse names that aren't ours: a page elsewhere can point its own name at 127.0.0.1."""
    hosts = request.headers.getall("Host", [])
    if len(hosts) == 1 and _is_ours(request, hosts[0]):
        return
    raise problem(
        403,
        f"The host {', '.join(hosts)!r} is not this server's.",
        cure="Open it as http://127.0.0.1 or http://localhost with its port.",
    )


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


def _check_origin(request: web.Request) -> None:
    """Refuse other sites; a change without an Origin must be JSON, which no form can send."""
    origins = request.headers.getall("Origin", [])
    if origins:
        if not all(_same_origin(request, origin) for origin in origins):
            raise problem(
                403,
                f"Requests from {', '.join(origins)!r} are not taken.",
                cure="Use the page that this server itself serves.",
            )
        return
    sends = request.method == "POST" or request.body_exists
    if request.method not in READING and sends and request.content_type != "application/json":
        raise problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def _same_origin(request: web.Request, origin: str) -> bool:
    """Compare host and port; behind a proxy the scheme differs."""
    scheme, _, place = origin.partition("://")
    return scheme in {"http", "https"} and place == request.headers.get("Host")


def _is_page_view(request: web.Request) -> bool:
    return request.method == "GET" and "text/html" in request.headers.get("Accept", "")

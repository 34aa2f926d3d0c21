"""Who may come in: hosts, origins, tokens, sessions; and the headers that every answer carries."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.chat.adapters import is_platform_endpoint
from bot.domain.errors import SettingInvalid
from bot.domain.ports import Audits
from bot.domain.settings import Settings
from bot.domain.text.source_links import OWN_PAGES, QUOTE_MARK
from bot.domain.urls import path_of, safe_redirect_path
from bot.domain.users import Role
from bot.doors.demo import mount_demo, play
from bot.doors.forms import forms
from bot.doors.identity import (
    IDENTITIES,
    NEWCOMER,
    SIGNED_IN,
    Identities,
    needs,
    new_visitor,
)
from bot.doors.origins import check_host, check_origin, check_public_host
from bot.doors.problems import most_bytes, problem, problems, too_long
from bot.doors.sessions import KeepsSessions, Sessions
from bot.doors.signin.attempts import WrongTokens
from bot.doors.signin.doorkeeper import Doorkeeper
from bot.doors.signin.flow import flow_of
from bot.doors.signin.pages import OPEN_PATHS, PATH, SignInPages

_PROBED = frozenset({"/health", "/ready"})
"""Asked by what knows this server by an inner name."""
OPEN = frozenset({*_PROBED, *OPEN_PATHS})
_STATIC = "/static/"
_LEAST_ROLES: Mapping[str, Role] = {"/metrics": "expert"}
"""For what knows nothing of people; every other handler says itself whom it takes."""
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
    loopback, or a platform needs a public address), one must be signed in or have the admin token.

    Args:
        sessions: None where nobody can sign in: then only the token opens them.
    """

    def __init__(
        self,
        settings: Settings,
        identities: Identities,
        doorkeeper: Doorkeeper,
        sessions: Sessions | None,
    ) -> None:
        self._identities = identities
        self._doorkeeper = doorkeeper
        self._sessions = sessions
        self._can_open = settings.admin_token is not None or settings.oidc_issuer is not None
        self.guarded = settings.exposed

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let a request through or refuse it."""
        if (request.content_length or 0) > (most := most_bytes(request)):
            raise too_long(most)
        if self.guarded and is_platform_endpoint(request.path):
            return await handler(request)
        if not self.guarded:
            check_host(request)
            check_origin(request)
            await self._recognise_session(request)
            play(request)
        elif not await self._doorkeeper.check_bearer(request):
            if request.path not in _PROBED:
                check_public_host(request, self._identities.public_origin)
            check_origin(request, self._identities.public_origin)
            await self._recognise_session(request)
            self._check_caller(request)
        return await handler(request)

    @web.middleware
    async def recognise(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give a browser that comes for the first time an id of its own."""
        if not _is_page_view(request) or self._is_known(request):
            return await handler(request)
        visitor = request[NEWCOMER] = new_visitor()
        response = await handler(request)
        self._identities.remember(request, response, visitor)
        return response

    async def dress(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add what every response carries; also to streams."""
        response.headers.update(HEADERS)
        if not request.path.startswith(_STATIC):
            response.headers.setdefault("Cache-Control", "no-store")

    async def _recognise_session(self, request: web.Request) -> None:
        if self._sessions is None or request.path.startswith(_STATIC):
            return
        signed_in = await self._sessions.find(request)
        if signed_in is not None:
            request[SIGNED_IN] = signed_in

    def _is_known(self, request: web.Request) -> bool:
        signed_in = request.get(SIGNED_IN)
        named = signed_in is not None and signed_in.person is not None
        return named or self._identities.visitor(request) is not None

    def _check_caller(self, request: web.Request) -> None:
        if is_open(request.path):
            return
        if SIGNED_IN in request:
            needs(request, _LEAST_ROLES.get(request.path, "asker"))
            return
        if not self._can_open:
            raise problem(
                403,
                "This server has no admin token, so only the platforms' endpoints are open.",
                cure=f"Set one and start again: {ADD_ONE}",
            )
        raise _refused(request)


def is_open(path: str) -> bool:
    """Tell whether a path is reached without being signed in."""
    return path in OPEN or path.startswith(_STATIC)


def mount_doors(
    app: web.Application,
    settings: Settings,
    *,
    sessions: KeepsSessions | None = None,
    audits: Audits | None = None,
    sample: bool = False,
) -> Doors:
    """Put the doors before every route of an app. Raises SettingInvalid for a weak token.

    Call it first: what is mounted later is behind the doors. Without ``sessions`` nobody can sign
    in. With ``sample`` the sample company's colleagues may be played, where bot.doors.demo lets
    one.
    """
    _check_token(settings)
    identities = app[IDENTITIES] = Identities(settings)
    doorkeeper = Doorkeeper(identities, audits, settings.tenant, WrongTokens())
    kept = Sessions(sessions, settings) if sessions is not None else None
    doors = Doors(settings, identities, doorkeeper, kept)
    app.middlewares[:0] = [problems, doors.check, forms, doors.recognise]
    app.on_response_prepare.append(doors.dress)
    if kept is not None:
        SignInPages(
            sessions=kept,
            doorkeeper=doorkeeper,
            flow=flow_of(settings),
            issuer=settings.oidc_issuer,
            token_cure="" if settings.admin_token is not None else ADD_ONE,
        ).mount(app)
    if sample:
        mount_demo(app, settings)
    return doors


def _check_token(settings: Settings) -> None:
    token = settings.admin_token
    if token is not None and len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise SettingInvalid(
            f"FRONTDESK_ADMIN_TOKEN has fewer than {SHORTEST_TOKEN} characters and could be "
            f"guessed. Make one: {ADD_ONE}"
        )


def _refused(request: web.Request) -> Exception:
    """Return what somebody gets who is not signed in; a browser is led to the page for it."""
    if "HX-Request" in request.headers:
        shown = path_of(request.headers.get("HX-Current-URL", ""))
        return problem(401, headers={"HX-Redirect": _sign_in(shown)})
    if _is_page_view(request):
        return web.HTTPSeeOther(_sign_in(_wanted(request)))
    return problem(401, headers={"WWW-Authenticate": 'Bearer realm="frontdesk"'})


def _wanted(request: web.Request) -> str:
    """Return where a browser goes on to; what it never sends, the place on the page, is added."""
    at_quote = request.path.startswith(OWN_PAGES) and "quote" in request.query
    return f"{request.path_qs}{QUOTE_MARK}" if at_quote else request.path_qs


def _sign_in(wanted: str) -> str:
    """Return the sign-in page's address, with where to go on to."""
    place = safe_redirect_path(wanted)
    return PATH if place == "/" else f"{PATH}?next={quote(place, safe='/')}"


def _is_page_view(request: web.Request) -> bool:
    return request.method == "GET" and "text/html" in request.headers.get("Accept", "")

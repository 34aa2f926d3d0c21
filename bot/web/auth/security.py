"""Check every request before it reaches a route, and add security headers to every response.

On loopback only, Host and Origin must be this server's. Once others can reach the server, a caller
must be signed in or send the admin token; platform endpoints verify their own signatures.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, update_wrapper
from http import HTTPStatus
from urllib.parse import quote

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.chat.adapters import is_platform_endpoint
from bot.domain.errors import SettingInvalid
from bot.domain.ports import Audits
from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.domain.urls import (
    OWN_PAGES,
    QUOTE_MARK,
    is_local_host,
    is_loopback_host,
    origin_of,
    path_of,
    safe_redirect_path,
)
from bot.domain.users import Role
from bot.observability.tracing import TRACEPARENT, TRACESTATE, trace_continued_from
from bot.store.sessions import StoredSessions
from bot.web.auth.code_flow import code_flow
from bot.web.auth.credentials import AdminTokenCheck, WrongTokenLimit
from bot.web.auth.demo import apply_persona, mount_demo
from bot.web.auth.identity import (
    IDENTITIES,
    NEW_VISITOR,
    SESSION_IS_OPEN,
    SIGNED_IN,
    Identities,
    new_visitor,
    require_role,
)
from bot.web.auth.sessions import LapsedSession, Sessions
from bot.web.auth.sign_in import OIDC_PATH, PUBLIC_SIGN_IN_PATHS, SIGN_IN_PATH, SignInPages
from bot.web.forms import form_middleware
from bot.web.pages import accepts_html, wants_fragment
from bot.web.problems import Problem, body_too_long, max_body_bytes, problem, problem_middleware

UPLOAD_PATHS = ("/api/v1/documents/", "/api/v2/documents/", "/api/v1/ask", "/api/v2/ask")
"""Where paths of form uploads by programs begin.

Browsers send the Origin of a form; programs need not.
"""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def check_host(request: web.Request) -> None:
    """Reject Host headers other than loopback names: the defence against DNS rebinding.

    A foreign page can point its own name at 127.0.0.1. Raises Problem (403).
    """
    hosts = request.headers.getall("Host", [])
    if len(hosts) == 1 and _is_loopback_host(request, hosts[0]):
        return
    raise _foreign_host(
        hosts, tr("Open it as http://127.0.0.1 or http://localhost, with the port.")
    )


def check_public_host(request: web.Request, public_origin: str | None) -> None:
    """Reject Host headers other than ``public_origin``'s and this machine's; None accepts all.

    Raises Problem (403).
    """
    hosts = request.headers.getall("Host", [])
    if public_origin is None or (len(hosts) == 1 and _is_public_host(hosts[0], public_origin)):
        return
    cure = tr(
        "Open {address} (PUBLIC_URL) instead. A proxy must pass the Host header on.",
        address=public_origin,
    )
    raise _foreign_host(hosts, cure)


def _foreign_host(hosts: Sequence[str], cure: str) -> Problem:
    return problem(
        403, tr("{host} is not this server's address.", host=repr(", ".join(hosts))), cure=cure
    )


def check_origin(request: web.Request, public_origin: str | None = None) -> None:
    """Reject foreign origins; a change without Origin must be JSON, which no form can send.

    ``public_origin`` is the address that browsers use, where it is set; besides it, only this
    machine's own name is accepted. Raises Problem (403 or 415).
    """
    origins = request.headers.getall("Origin", [])
    if origins:
        if not all(_is_allowed_origin(request, origin, public_origin) for origin in origins):
            raise problem(
                403,
                tr("Requests from {origin} are not accepted.", origin=repr(", ".join(origins))),
                cure=tr("Use this server's own pages."),
            )
        return
    if request.path.startswith(UPLOAD_PATHS) and not _is_browser(request):
        return
    sends = request.method == "POST" or request.body_exists
    if request.method not in SAFE_METHODS and sends and request.content_type != "application/json":
        raise problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def _is_loopback_host(request: web.Request, host: str) -> bool:
    transport = request.transport
    own = transport.get_extra_info("sockname") if transport is not None else None
    return own is not None and is_loopback_host(host, own[1])


def _is_public_host(host: str, public_origin: str) -> bool:
    scheme = public_origin.partition("://")[0]
    try:
        address = f"{scheme}://{host}"
        return origin_of(address) == public_origin or is_local_host(address)
    except ValueError:
        return False


def _is_allowed_origin(request: web.Request, origin: str, public_origin: str | None) -> bool:
    if origin == public_origin:
        return True
    return _is_same_host(request, origin) and (public_origin is None or is_local_host(origin))


def _is_browser(request: web.Request) -> bool:
    """Return whether a browser sent the request: pages cannot hide their browser's headers."""
    named = request.headers.get("User-Agent", "").startswith("Mozilla/")
    return named or any(name.lower().startswith("sec-fetch-") for name in request.headers)


def _is_same_host(request: web.Request, origin: str) -> bool:
    """Compare host and port; behind a proxy the scheme differs."""
    scheme, _, place = origin.partition("://")
    return scheme in {"http", "https"} and place == request.headers.get("Host")


_LAPSED = web.RequestKey("lapsed_session", LapsedSession)
PROBE_PATHS = frozenset({"/health", "/ready"})
"""Called by orchestrators, which use an internal host name."""
PUBLIC_PATHS = frozenset({*PROBE_PATHS, *PUBLIC_SIGN_IN_PATHS})
_STATIC = "/static/"
_LEAST_ROLES: Mapping[str, Role] = {"/metrics": "expert"}
"""Minimum roles of handlers without a role check; every other handler checks the role itself."""
MIN_TOKEN_LENGTH = 16
ADMIN_SETUP_COMMAND = (
    "FRONTDESK_ADMIN_TOKEN=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')"
)

_CSP = "Content-Security-Policy"
SECURITY_HEADERS = {
    _CSP: (
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


class SecurityMiddleware:
    """Checks every request before it reaches a route.

    On loopback only, Host and Origin must be this server's. Once others can reach the server (HOST
    is not loopback, or a platform needs a public address), a caller must be signed in or have the
    admin token.

    Args:
        sessions: None where nobody can sign in: then only the token gives access.
    """

    def __init__(
        self,
        settings: Settings,
        identities: Identities,
        token_check: AdminTokenCheck,
        sessions: Sessions | None,
    ) -> None:
        self._identities = identities
        self._token_check = token_check
        self._sessions = sessions
        self._has_credentials = settings.admin_token is not None or settings.oidc_issuer is not None
        self.guarded = settings.exposed

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request's size, host, origin and caller, then call the handler."""
        if (request.content_length or 0) > (most := max_body_bytes(request)):
            raise body_too_long(most)
        if not self.guarded:
            check_host(request)
            check_origin(request)
            await self._recognise_session(request)
            apply_persona(request)
        elif not await self._token_check.check_bearer(request):
            if request.path not in PROBE_PATHS:
                check_public_host(request, self._identities.public_origin)
            check_origin(request, self._identities.public_origin)
            await self._recognise_session(request)
            self._check_caller(request)
        return await handler(request)

    @web.middleware
    async def set_visitor_cookie(
        self, request: web.Request, handler: Handler
    ) -> web.StreamResponse:
        """Set a visitor cookie for a browser that opens a page for the first time."""
        if not _is_page_view(request) or self._is_known(request):
            return await handler(request)
        visitor = request[NEW_VISITOR] = new_visitor()
        response = await handler(request)
        self._identities.remember(request, response, visitor)
        return response

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add the security headers to a response, streams included.

        A page that shows a vendored component may have a Content-Security-Policy of its own.
        """
        own = {_CSP: response.headers[_CSP]} if _CSP in response.headers else {}
        response.headers.update({**SECURITY_HEADERS, **own})
        if not request.path.startswith(_STATIC):
            response.headers.setdefault("Cache-Control", "no-store")

    def exempt_webhooks(self, app: web.Application, *kept: Middleware) -> None:
        """Let platforms' webhooks pass the ``kept`` middlewares alone; call it when all are added.

        What checks sessions, forms and pages is for browsers and API clients. A webhook is
        authenticated by its adapter, from the platform's signature. On loopback alone, where there
        may be none, Host and Origin are checked as for everybody.
        """
        always = [*kept, problem_middleware, *([] if self.guarded else [self.check])]
        others = [middleware for middleware in app.middlewares if middleware not in always]

        @web.middleware
        async def run_others(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not is_platform_endpoint(request.path):
                for middleware in reversed(others):
                    # As aiohttp chains them: the handler keeps its name.
                    handler = update_wrapper(partial(middleware, handler=handler), handler)
            return await handler(request)

        app.middlewares[:] = [*always, run_others]

    async def _recognise_session(self, request: web.Request) -> None:
        if self._sessions is None or request.path.startswith(_STATIC):
            return
        found = await self._sessions.find(request)
        if isinstance(found, LapsedSession):
            request[_LAPSED] = found
        elif found is not None:
            request[SIGNED_IN] = found
            is_open: Callable[[], Awaitable[bool]] = partial(self._sessions.is_open, request)
            request[SESSION_IS_OPEN] = is_open

    def _is_known(self, request: web.Request) -> bool:
        signed_in = request.get(SIGNED_IN)
        named = signed_in is not None and signed_in.person is not None
        return named or self._identities.visitor(request) is not None

    def _check_caller(self, request: web.Request) -> None:
        if is_public_path(request.path):
            return
        if SIGNED_IN in request:
            require_role(request, _LEAST_ROLES.get(request.path, "asker"))
            return
        if not self._has_credentials:
            raise problem(
                403,
                tr(
                    "This server has no admin token, so only the endpoints of Slack and Teams "
                    "are open."
                ),
                cure=tr("Set one and restart: {command}", command=ADMIN_SETUP_COMMAND),
            )
        raise _sign_in_required(request)


def is_public_path(path: str) -> bool:
    """Return whether a path is accessible without signing in."""
    return path in PUBLIC_PATHS or path.startswith(_STATIC)


def mount_security(
    app: web.Application,
    settings: Settings,
    *,
    sessions: StoredSessions | None = None,
    audits: Audits | None = None,
    sample: bool = False,
) -> SecurityMiddleware:
    """Install the security middlewares of an app. Raises SettingInvalid for a weak token.

    Call it first, so that everything mounted later is protected. Without ``sessions`` nobody can
    sign in. With ``sample`` the sample company's personas are available, if bot.web.auth.demo
    allows them.
    """
    _check_token(settings)
    identities = app[IDENTITIES] = Identities(settings)
    token_check = AdminTokenCheck(identities, audits, settings.tenant, WrongTokenLimit())
    flow = code_flow(settings)
    kept = Sessions(sessions, settings, flow) if sessions is not None else None
    security = SecurityMiddleware(settings, identities, token_check, kept)
    app.middlewares[:0] = [
        problem_middleware,
        security.check,
        form_middleware,
        security.set_visitor_cookie,
    ]
    app.on_response_prepare.append(security.add_headers)
    if kept is not None:
        SignInPages(
            sessions=kept,
            token_check=token_check,
            flow=flow,
            issuer=settings.oidc_issuer,
            token_cure="" if settings.admin_token is not None else ADMIN_SETUP_COMMAND,
        ).mount(app)
    if sample:
        mount_demo(app, settings)
    return security


def _check_token(settings: Settings) -> None:
    token = settings.admin_token
    if token is not None and len(token.get_secret_value()) < MIN_TOKEN_LENGTH:
        raise SettingInvalid(
            f"FRONTDESK_ADMIN_TOKEN has fewer than {MIN_TOKEN_LENGTH} characters and could be "
            f"guessed. Make one: {ADMIN_SETUP_COMMAND}"
        )


def _sign_in_required(request: web.Request) -> Exception:
    """Return the response to a caller who is not signed in; browsers are redirected to sign in.

    After a lapsed session, they are sent to the issuer, where they are signed in most likely.
    """
    lapsed: LapsedSession | None = request.get(_LAPSED)
    path = OIDC_PATH if lapsed is not None and lapsed.ask else SIGN_IN_PATH
    if wants_fragment(request):
        shown = path_of(request.headers.get("HX-Current-URL", ""))
        return problem(401, headers={"HX-Redirect": _sign_in_address(path, shown)})
    if _is_page_view(request):
        return web.HTTPSeeOther(_sign_in_address(path, _path_after_sign_in(request)))
    return problem(401, headers={"WWW-Authenticate": 'Bearer realm="frontdesk"'})


def _path_after_sign_in(request: web.Request) -> str:
    """Return the path to open after sign-in; adds the quote's fragment, which is never sent."""
    at_quote = request.path.startswith(OWN_PAGES) and "quote" in request.query
    return f"{request.path_qs}{QUOTE_MARK}" if at_quote else request.path_qs


def _sign_in_address(path: str, wanted: str) -> str:
    """Return the sign-in page's address with the path to return to."""
    place = safe_redirect_path(wanted)
    return path if place == "/" else f"{path}?next={quote(place, safe='/')}"


def _is_page_view(request: web.Request) -> bool:
    return request.method == "GET" and accepts_html(request)


@web.middleware
async def continue_trace(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Continue the caller's trace (W3C traceparent); install it after SecurityMiddleware.

    Only authenticated callers are trusted: otherwise the sampled flag would let anyone on the
    internet decide what is recorded.
    """
    headers = request.headers.getall(TRACEPARENT, [])
    if len(headers) != 1 or is_public_path(request.path):
        return await handler(request)
    state = ",".join(request.headers.getall(TRACESTATE, []))
    with trace_continued_from(headers[0], state):
        return await handler(request)

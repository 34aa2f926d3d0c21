"""The pages of signing in and out."""

from __future__ import annotations

import json
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp_jinja2
import structlog
from aiohttp import web

from bot.domain.urls import safe_redirect_path
from bot.domain.users import SignedIn
from bot.doors.identity import cookie_name, is_admin, over_tls, signed_in_of
from bot.doors.problems import Problem, problem
from bot.doors.sessions import Sessions
from bot.doors.signin.attempt import ATTEMPT_SECONDS, attempt_of, new_attempt
from bot.doors.signin.doorkeeper import WRONG, Doorkeeper
from bot.doors.signin.errors import SignInFailed
from bot.doors.signin.flow import CALLBACK, Flow
from bot.pages.frame import add_pages

log = structlog.get_logger(__name__)

PATH = "/session"
END = "/session/end"
BEGIN = "/session/oidc"
OPEN_PATHS = frozenset({PATH, END, BEGIN, CALLBACK})
"""What is reached without being signed in."""

HERE = Path(__file__).parent
ATTEMPT = "frontdesk_signin"
_ENTRA = (
    "login.microsoftonline.com",
    "login.microsoftonline.us",
    "login.partner.microsoftonline.cn",
)


class SignInPages:
    """Handlers of the pages.

    Args:
        flow: Signing in with the company's account; None where that is not configured.
        issuer: The issuer's address, which says what the button says.
        token_cure: How to make an admin token, where there is none; else "".
    """

    def __init__(
        self,
        *,
        sessions: Sessions,
        doorkeeper: Doorkeeper,
        flow: Flow | None,
        issuer: str | None,
        token_cure: str,
    ) -> None:
        self._sessions = sessions
        self._doorkeeper = doorkeeper
        self._flow = flow
        self._account = _account(issuer)
        self._token_cure = token_cure

    def mount(self, app: web.Application) -> None:
        """Add the routes, the templates and the static files."""
        add_pages(app, HERE)
        app.router.add_get(PATH, self.show)
        app.router.add_post(PATH, self.begin)
        app.router.add_post(END, self.end)
        if self._flow is not None:
            app.router.add_get(BEGIN, self.leave, allow_head=False)
            app.router.add_get(CALLBACK, self.come_back, allow_head=False)

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Show the sign-in page; one who is signed in goes on."""
        wanted = safe_redirect_path(request.query.get("next"))
        if signed_in_of(request) is not None or is_admin(request):
            raise web.HTTPSeeOther(wanted)
        closed = self._flow is None and self._token_cure
        if closed:
            text = f"Nobody can sign in yet: there is no admin token. Set {self._token_cure}"
            return self._page(request, text, HTTPStatus.FORBIDDEN)
        return self._page(request, wanted=wanted)

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Give a session for the admin token; JSON gets 204, a form the page it wanted."""
        by_form = request.content_type != "application/json"
        token, wanted = await (_form(request) if by_form else _body(request))
        try:
            right = await self._doorkeeper.check(request, token)
        except Problem as error:
            if not by_form:
                raise
            held = HTTPStatus(error.details.status)
            page = self._page(request, error.details.detail, held, wanted=wanted)
            page.headers.update(error.headers)
            return page
        if not right:
            if by_form:
                return self._page(request, WRONG, HTTPStatus.UNAUTHORIZED, wanted=wanted)
            raise problem(401, WRONG)
        response = _to(wanted) if by_form else web.Response(status=HTTPStatus.NO_CONTENT)
        await self._let_in(request, response, SignedIn("token", "admin"))
        return response

    async def end(self, request: web.Request) -> web.StreamResponse:
        """Sign out."""
        response = _to(PATH)
        await self._sessions.end(request, response)
        return response

    async def leave(self, request: web.Request) -> web.StreamResponse:
        """Send the browser to the issuer."""
        assert self._flow is not None  # noqa: S101 - mounted only with it
        attempt = new_attempt(request.query.get("next"))
        try:
            response = _to(await self._flow.address(attempt))
        except SignInFailed as error:
            return self._failed(request, error, attempt.wanted)
        response.set_cookie(
            cookie_name(request, ATTEMPT),
            attempt.cookie(),
            max_age=ATTEMPT_SECONDS,
            httponly=True,
            secure=over_tls(request),
            samesite="Lax",
        )
        return response

    async def come_back(self, request: web.Request) -> web.StreamResponse:
        """Give a session to whom the issuer sent back."""
        assert self._flow is not None  # noqa: S101 - mounted only with it
        attempt = attempt_of(request.cookies.get(cookie_name(request, ATTEMPT), ""))
        wanted = attempt.wanted if attempt else "/"
        response: web.Response
        try:
            signed_in = await self._flow.finish(attempt, request.query)
        except SignInFailed as error:
            response = self._failed(request, error, wanted)
        else:
            response = _to(wanted)
            await self._let_in(request, response, signed_in)
        response.del_cookie(
            cookie_name(request, ATTEMPT),
            httponly=True,
            secure=over_tls(request),
            samesite="Lax",
        )
        return response

    async def _let_in(
        self, request: web.Request, response: web.StreamResponse, signed_in: SignedIn
    ) -> None:
        await self._sessions.begin(request, response, signed_in)
        await self._doorkeeper.came_in(signed_in)

    def _failed(self, request: web.Request, error: SignInFailed, wanted: str) -> web.Response:
        log.warning("signin.failed", kind=type(error).__name__, why=str(error))
        return self._page(request, error.told, error.status, wanted=wanted)

    def _page(
        self,
        request: web.Request,
        message: str = "",
        status: HTTPStatus = HTTPStatus.OK,
        *,
        wanted: str = "/",
    ) -> web.Response:
        return aiohttp_jinja2.render_template(
            "signin/signin.html",
            request,
            {
                "message": message,
                "wanted": wanted,
                "account": self._account if self._flow is not None else "",
                "has_token": not self._token_cure,
            },
            status=status,
        )


def _account(issuer: str | None) -> str:
    microsoft = urlsplit(issuer or "").hostname in _ENTRA
    return "Microsoft account" if microsoft else "company account"


def _to(place: str) -> web.Response:
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": place})


async def _form(request: web.Request) -> tuple[str, str]:
    form = await request.post()
    return str(form.get("token", "")), safe_redirect_path(str(form.get("next", "/")))


async def _body(request: web.Request) -> tuple[str, str]:
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise problem(400) from error
    token = body.get("token") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise problem(422, 'Send {"token": "…"} with the value of FRONTDESK_ADMIN_TOKEN.')
    return token, "/"

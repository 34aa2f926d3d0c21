"""Sign-in and sign-out pages."""

from __future__ import annotations

import json
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp_jinja2
import structlog
from aiohttp import web

from bot.domain.texts import tr
from bot.domain.urls import safe_redirect_path
from bot.domain.users import SignedIn
from bot.web.auth.code_flow import CALLBACK_PATH, CodeFlow, Vouched
from bot.web.auth.credentials import REJECTED_TEXT, AdminTokenCheck
from bot.web.auth.id_tokens import SignInFailed
from bot.web.auth.identity import cookie_name, cookie_options, identities_of, signed_in_of
from bot.web.auth.issuer import ATTEMPT_SECONDS, attempt_of, new_attempt
from bot.web.auth.sessions import Sessions
from bot.web.pages import add_pages
from bot.web.problems import Problem, problem

log = structlog.get_logger(__name__)

SIGN_IN_PATH = "/session"
SIGN_OUT_PATH = "/session/end"
OIDC_PATH = "/session/oidc"
PUBLIC_SIGN_IN_PATHS = frozenset({SIGN_IN_PATH, SIGN_OUT_PATH, OIDC_PATH, CALLBACK_PATH})
"""Paths that are accessible without signing in."""

HERE = Path(__file__).parent
ATTEMPT_COOKIE = "frontdesk_signin"
_ENTRA = (
    "login.microsoftonline.com",
    "login.microsoftonline.us",
    "login.partner.microsoftonline.cn",
)


class SignInPages:
    """Handlers of the sign-in pages.

    Args:
        flow: The sign-in with the company's account; None where it is not configured.
        issuer: The issuer's address, which determines the button's label.
        token_cure: How to make an admin token, where there is none; else "".
    """

    def __init__(
        self,
        *,
        sessions: Sessions,
        token_check: AdminTokenCheck,
        flow: CodeFlow | None,
        issuer: str | None,
        token_cure: str,
    ) -> None:
        self._sessions = sessions
        self._token_check = token_check
        self._flow = flow
        self._account = _account_name(issuer)
        self._token_cure = token_cure

    def mount(self, app: web.Application) -> None:
        """Add the routes, the templates and the static files."""
        add_pages(app, HERE)
        app.router.add_get(SIGN_IN_PATH, self.show)
        app.router.add_post(SIGN_IN_PATH, self.begin)
        app.router.add_post(SIGN_OUT_PATH, self.end)
        if self._flow is not None:
            app.router.add_get(OIDC_PATH, self.redirect_to_issuer, allow_head=False)
            app.router.add_get(CALLBACK_PATH, self.handle_callback, allow_head=False)

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Show the sign-in page; redirect a caller who is already signed in."""
        wanted = safe_redirect_path(request.query.get("next"))
        if signed_in_of(request) is not None or identities_of(request).is_admin(request):
            raise web.HTTPSeeOther(wanted)
        closed = self._flow is None and self._token_cure
        if closed:
            text = tr(
                "Nobody can sign in yet, because there is no admin token. Set {setting}",
                setting=self._token_cure,
            )
            return self._page(request, text, HTTPStatus.FORBIDDEN)
        return self._page(request, wanted=wanted)

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Start a session for the admin token; JSON gets 204, a form a redirect."""
        by_form = request.content_type != "application/json"
        token, wanted = await (_token_of_form(request) if by_form else _token_of_json(request))
        try:
            right = await self._token_check.check(request, token)
        except Problem as error:
            if not by_form:
                raise
            held = HTTPStatus(error.details.status)
            page = self._page(request, error.details.detail, held, wanted=wanted)
            page.headers.update(error.headers)
            return page
        if not right:
            if by_form:
                return self._page(request, REJECTED_TEXT, HTTPStatus.UNAUTHORIZED, wanted=wanted)
            raise problem(401, REJECTED_TEXT)
        response = _redirect(wanted) if by_form else web.Response(status=HTTPStatus.NO_CONTENT)
        await self._start_session(request, response, Vouched(SignedIn("token", "admin")))
        return response

    async def end(self, request: web.Request) -> web.StreamResponse:
        """Sign out."""
        response = _redirect(SIGN_IN_PATH)
        await self._sessions.end(request, response)
        return response

    async def redirect_to_issuer(self, request: web.Request) -> web.StreamResponse:
        """Redirect the browser to the issuer."""
        assert self._flow is not None  # noqa: S101 - mounted only with it
        attempt = new_attempt(request.query.get("next"))
        try:
            response = _redirect(await self._flow.address(attempt))
        except SignInFailed as error:
            return self._failed(request, error, attempt.wanted)
        response.set_cookie(
            cookie_name(request, ATTEMPT_COOKIE),
            attempt.cookie(),
            max_age=ATTEMPT_SECONDS,
            **cookie_options(request),
        )
        return response

    async def handle_callback(self, request: web.Request) -> web.StreamResponse:
        """Handle the issuer's callback: start a session, or show the error."""
        assert self._flow is not None  # noqa: S101 - mounted only with it
        attempt = attempt_of(request.cookies.get(cookie_name(request, ATTEMPT_COOKIE), ""))
        wanted = attempt.wanted if attempt else "/"
        response: web.Response
        try:
            vouched = await self._flow.finish(attempt, request.query)
        except SignInFailed as error:
            response = self._failed(request, error, wanted)
        else:
            response = _redirect(wanted)
            await self._start_session(request, response, vouched)
        response.del_cookie(cookie_name(request, ATTEMPT_COOKIE), **cookie_options(request))
        return response

    async def _start_session(
        self, request: web.Request, response: web.StreamResponse, vouched: Vouched
    ) -> None:
        await self._sessions.begin(request, response, vouched)
        await self._token_check.record_sign_in(vouched.signed_in)

    def _failed(self, request: web.Request, error: SignInFailed, wanted: str) -> web.Response:
        log.warning("signin.failed", kind=type(error).__name__, why=str(error))
        return self._page(request, error.user_message, error.status, wanted=wanted)

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


def _account_name(issuer: str | None) -> str:
    microsoft = urlsplit(issuer or "").hostname in _ENTRA
    return tr("Microsoft account") if microsoft else tr("company account")


def _redirect(place: str) -> web.Response:
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": place})


async def _token_of_form(request: web.Request) -> tuple[str, str]:
    form = await request.post()
    return str(form.get("token", "")), safe_redirect_path(str(form.get("next", "/")))


async def _token_of_json(request: web.Request) -> tuple[str, str]:
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise problem(400) from error
    token = body.get("token") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise problem(422, 'Send {"token": "…"} with the value of FRONTDESK_ADMIN_TOKEN.')
    return token, "/"

"""Signing in with the admin token, so that a browser can use the pages."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

from aiohttp import web

from bot.identity import SESSION, Identities
from bot.problems import problem

PATH = "/session"
STYLE = "/session/style.css"
END = "/session/end"
HERE = Path(__file__).parent / "signin"
WRONG = "That is not the admin token. It is the value of FRONTDESK_ADMIN_TOKEN."


class Sessions:
    """Handlers of the sign-in page."""

    def __init__(self, identities: Identities, *, has_token: bool, cure: str) -> None:
        self._identities = identities
        self._has_token = has_token
        self._cure = cure
        self._page = Template((HERE / "signin.html").read_text(encoding="utf-8"))
        self._style = (HERE / "signin.css").read_text(encoding="utf-8")

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Show the sign-in page; one who is signed in goes on to the chat."""
        if self._identities.is_admin(request):
            raise web.HTTPSeeOther("/")
        if not self._has_token:
            return self._sign_in_page(f"There is no admin token yet. Set {self._cure}", 403)
        return self._sign_in_page("", 200)

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Give a session for the token; JSON gets 204, a form the chat page."""
        by_form = request.content_type != "application/json"
        if not self._identities.is_token(await _token(request, by_form=by_form)):
            if by_form:
                return self._sign_in_page(WRONG, 401)
            raise problem(401, WRONG)
        response = (
            web.Response(status=303, headers={"Location": "/"})
            if by_form
            else (web.Response(status=204))
        )
        self._identities.sign_in(request, response)
        return response

    async def end(self, _: web.Request) -> web.StreamResponse:
        """Sign out."""
        response = web.Response(status=303, headers={"Location": PATH})
        response.del_cookie(SESSION, httponly=True, samesite="Strict")
        return response

    async def style(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=self._style, content_type="text/css")

    def _sign_in_page(self, message: str, status: int) -> web.Response:
        return web.Response(
            text=self._page.substitute(message=message), content_type="text/html", status=status
        )


def mount(app: web.Application, identities: Identities, *, has_token: bool, cure: str) -> None:
    """Add the routes."""
    sessions = Sessions(identities, has_token=has_token, cure=cure)
    app.router.add_get(PATH, sessions.show)
    app.router.add_post(PATH, sessions.begin)
    app.router.add_post(END, sessions.end)
    app.router.add_get(STYLE, sessions.style)


async def _token(request: web.Request, *, by_form: bool) -> str:
    if by_form:
        return str((await request.post()).get("token", ""))
    try:
        body = json.loads(await request.read())
    except ValueError as error:
        raise problem(400) from error
    token = body.get("token") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise problem(422, 'Send {"token": "…"} with the value of FRONTDESK_ADMIN_TOKEN.')
    return token

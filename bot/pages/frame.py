"""The frame around every page: templates and static files of all who show pages."""

from __future__ import annotations

import warnings
from pathlib import Path

import aiohttp_jinja2
import jinja2
from aiohttp import web
from aiohttp.typedefs import Handler

from bot.doors.demo import demo_of
from bot.doors.identity import role_of, signed_in_of
from bot.pages.assets import Assets

HERE = Path(__file__).parent
_ASSETS: web.AppKey[Assets] = web.AppKey("assets", Assets)
_LOADER: web.AppKey[jinja2.FileSystemLoader] = web.AppKey("templates", jinja2.FileSystemLoader)


def add_pages(app: web.Application, folder: Path) -> None:
    """Add a folder's ``templates`` and ``static`` to those of the frame.

    Templates are named with their folder (``web/chat.html``); static files share one address.
    """
    if _LOADER not in app:
        _set_up(app)
    app[_LOADER].searchpath.append(str(folder / "templates"))
    app[_ASSETS].add(folder / "static")


def _set_up(app: web.Application) -> None:
    loader = app[_LOADER] = jinja2.FileSystemLoader(HERE / "templates")
    assets = app[_ASSETS] = Assets(HERE / "static")
    templates = aiohttp_jinja2.setup(
        app,
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    app.middlewares.extend((_with_standing, _nowhere_as_page))
    templates.globals["asset"] = assets.link
    app.router.add_get("/static/{name}", assets.serve)


@web.middleware
async def _with_standing(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give every template what the frame shows of the one who looks."""
    with warnings.catch_warnings():
        # aiohttp_jinja2 looks for it under a plain string, of which aiohttp warns.
        warnings.simplefilter("ignore", web.NotAppKeyWarning)
        request[aiohttp_jinja2.REQUEST_CONTEXT_KEY] = _standing(request)
    return await handler(request)


@web.middleware
async def _nowhere_as_page(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Show who opens an address that leads nowhere a page; programs are told as ever."""
    try:
        return await handler(request)
    except web.HTTPNotFound:
        unknown = request.match_info.http_exception is not None
        if not unknown or "text/html" not in request.headers.get("Accept", ""):
            raise
        told = {"title": "There is nothing here", "text": "This address leads nowhere."}
        return aiohttp_jinja2.render_template("trouble.html", request, told, status=404)


def _standing(request: web.Request) -> dict[str, object]:
    return {
        "role": role_of(request),
        "path": request.path,
        "address": request.path_qs,
        "me": signed_in_of(request),
        "demo": demo_of(request),
    }

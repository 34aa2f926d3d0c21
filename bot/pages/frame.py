"""The frame around every page: templates and static files of all who show pages."""

from __future__ import annotations

from pathlib import Path

import aiohttp_jinja2
import jinja2
from aiohttp import web

from bot.identity import role_of
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
        context_processors=[_standing],
    )
    templates.globals["asset"] = assets.link
    app.router.add_get("/static/{name}", assets.serve)


async def _standing(request: web.Request) -> dict[str, object]:
    """Return what every page's frame shows of the one who looks."""
    return {"role": role_of(request)}

"""The page that shows the API and tries it out: Swagger UI over the OpenAPI document.

Its files are vendored: nothing is loaded from elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import aiohttp_jinja2
from aiohttp import web

from bot.web.pages import add_pages

PATH = "/docs"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy: the stylesheet of Swagger UI has its icons inside."""


def mount_reference(app: web.Application) -> None:
    """Add the page. Who may see it is who may see the OpenAPI document: whoever may ask."""
    add_pages(app, Path(__file__).parent)
    app.router.add_get(PATH, _page)


async def _page(request: web.Request) -> web.Response:
    response = aiohttp_jinja2.render_template("api/reference.html", request, {})
    response.headers["Content-Security-Policy"] = _POLICY
    return response

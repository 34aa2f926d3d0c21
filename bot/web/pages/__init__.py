"""The layout of all pages: shared templates, and static files versioned by content hash.

Static files are held in memory, from their first use on also compressed with gzip.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
import warnings
from dataclasses import dataclass
from pathlib import Path

import aiohttp_jinja2
import jinja2
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from bot.domain.texts import tr
from bot.web.auth.demo import switcher_of
from bot.web.auth.identity import role_of, signed_in_of
from bot.web.languages import add_languages, language_of

_CACHE_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_TEXT_TYPES = frozenset({".css", ".js", ".svg", ".txt"})


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file; ``version`` is a hash of its content, ``packs`` whether it is text."""

    content_type: str
    body: bytes
    packs: bool
    version: str


class Assets:
    """Serves the files of folders; versioned links are cached for ever."""

    def __init__(self, *folders: Path) -> None:
        self._assets: dict[str, Asset] = {}
        self._packed: dict[str, bytes] = {}
        for folder in folders:
            self.add(folder)

    def add(self, folder: Path) -> None:
        """Add the files of a folder. Raises ValueError for a duplicate name."""
        for path in sorted(each for each in folder.iterdir() if each.is_file()):
            if path.name in self._assets:
                raise ValueError(f"{str(path)!r} has the name of another page's file. Rename it.")
            self._assets[path.name] = _asset(path)

    def link(self, name: str) -> str:
        """Return the versioned address of a file. Raises KeyError for an unknown name."""
        return f"/static/{name}?v={self._assets[name].version}"

    async def serve(self, request: web.Request) -> web.Response:
        """Return a file, or 304 if the client has it."""
        asset = self._assets.get(request.match_info["name"])
        if asset is None:
            raise web.HTTPNotFound(text="There is no such file.")
        current = request.query.get("v") == asset.version
        headers = {
            hdrs.CACHE_CONTROL: _CACHE_FOREVER if current else _REVALIDATE,
            hdrs.ETAG: f'"{asset.version}"',
            hdrs.VARY: hdrs.ACCEPT_ENCODING,
        }
        known = request.if_none_match
        if known and any(tag.value == asset.version for tag in known):
            return web.Response(status=304, headers=headers)
        body = asset.body
        if asset.packs and "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            body = await self._pack(asset)
        if body is not asset.body:
            headers[hdrs.CONTENT_ENCODING] = "gzip"
        return web.Response(body=body, content_type=asset.content_type, headers=headers)

    async def _pack(self, asset: Asset) -> bytes:
        """Return a file compressed, or as it is if that is no longer."""
        if asset.version not in self._packed:
            # At the start, the largest would take longer than all other files together.
            packed = await asyncio.to_thread(gzip.compress, asset.body, mtime=0)
            self._packed[asset.version] = min(packed, asset.body, key=len)
        return self._packed[asset.version]


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(
        content_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        body=body,
        packs=path.suffix in _TEXT_TYPES,
        version=hashlib.sha256(body).hexdigest()[:12],
    )


HERE = Path(__file__).parent
_ASSETS: web.AppKey[Assets] = web.AppKey("assets", Assets)
_LOADER: web.AppKey[jinja2.FileSystemLoader] = web.AppKey("templates", jinja2.FileSystemLoader)


def add_pages(app: web.Application, folder: Path) -> None:
    """Add a folder's ``templates`` and ``static`` to the shared ones.

    Template names include their folder (``web/chat.html``); static files share one path.
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
    app.middlewares.extend((_layout_middleware, _not_found_middleware))
    templates.globals["asset"] = assets.link
    add_languages(app, templates)
    app.router.add_get("/static/{name}", assets.serve)


def wants_fragment(request: web.Request) -> bool:
    """Return whether htmx asks for a fragment; without JavaScript, browsers need a whole page."""
    return "HX-Request" in request.headers


def accepts_html(request: web.Request) -> bool:
    """Return whether the client is a browser that shows a page."""
    return "text/html" in request.headers.get("Accept", "")


def redirect_unless_fragment(request: web.Request, path: str) -> None:
    """Redirect a submitted form (Post/Redirect/Get), unless htmx asks for a fragment.

    After the redirect a reload does not submit the form again. Raises HTTPSeeOther.
    """
    if not wants_fragment(request):
        raise web.HTTPSeeOther(path)


@web.middleware
async def _layout_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Add the layout's values to every template's context."""
    with warnings.catch_warnings():
        # aiohttp_jinja2 reads its context under a plain string key, about which aiohttp warns.
        warnings.simplefilter("ignore", web.NotAppKeyWarning)
        request[aiohttp_jinja2.REQUEST_CONTEXT_KEY] = _layout_context(request)
    return await handler(request)


@web.middleware
async def _not_found_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Show browsers a page for an unknown address; other clients get the problem JSON."""
    try:
        return await handler(request)
    except web.HTTPNotFound:
        unknown = request.match_info.http_exception is not None
        if not unknown or not accepts_html(request):
            raise
        told = {
            "title": tr("Page not found"),
            "text": tr("There is no page at this address."),
        }
        return aiohttp_jinja2.render_template("trouble.html", request, told, status=404)


def _layout_context(request: web.Request) -> dict[str, object]:
    return {
        "language": language_of(request),
        "role": role_of(request),
        "path": request.path,
        "address": request.path_qs,
        "me": signed_in_of(request),
        "demo": switcher_of(request),
    }

"""The static files: kept in memory, named by their content, sent compressed."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from aiohttp import hdrs, web

_FOREVER = "public, max-age=31536000, immutable"
_ASK_EACH_TIME = "no-cache"
_TEXT = frozenset({".css", ".js", ".svg", ".txt"})


@dataclass(frozen=True, slots=True)
class Asset:
    """One file; ``version`` changes with its content."""

    content_type: str
    body: bytes
    packed: bytes | None
    version: str


class Assets:
    """Serves the files of folders; a link with the right version may be kept for ever."""

    def __init__(self, *folders: Path) -> None:
        self._assets: dict[str, Asset] = {}
        for folder in folders:
            self.add(folder)

    def add(self, folder: Path) -> None:
        """Serve the files of one more folder. Raises ValueError for a name that is taken."""
        for path in sorted(each for each in folder.iterdir() if each.is_file()):
            if path.name in self._assets:
                raise ValueError(f"{str(path)!r} has the name of another page's file. Rename it.")
            self._assets[path.name] = _asset(path)

    def link(self, name: str) -> str:
        """Return the versioned address of a file. Raises KeyError for an unknown name."""
        return f"/static/{name}?v={self._assets[name].version}"

    async def serve(self, request: web.Request) -> web.Response:
        """Send a file, or 304 to those who have it."""
        asset = self._assets.get(request.match_info["name"])
        if asset is None:
            raise web.HTTPNotFound(text="There is no such file.")
        current = request.query.get("v") == asset.version
        headers = {
            hdrs.CACHE_CONTROL: _FOREVER if current else _ASK_EACH_TIME,
            hdrs.ETAG: f'"{asset.version}"',
            hdrs.VARY: hdrs.ACCEPT_ENCODING,
        }
        known = request.if_none_match
        if known and any(tag.value == asset.version for tag in known):
            return web.Response(status=304, headers=headers)
        if asset.packed is None or "gzip" not in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            return web.Response(body=asset.body, content_type=asset.content_type, headers=headers)
        headers[hdrs.CONTENT_ENCODING] = "gzip"
        return web.Response(body=asset.packed, content_type=asset.content_type, headers=headers)


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if path.suffix in _TEXT else None
    return Asset(
        content_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        body=body,
        packed=packed if packed and len(packed) < len(body) else None,
        version=hashlib.sha256(body).hexdigest()[:12],
    )

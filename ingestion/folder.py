"""Read a folder of files as a source of pages."""

from __future__ import annotations

import asyncio
import hashlib
import os
import reprlib
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar
from urllib.parse import quote, urlsplit

from ingestion.documents.convert import (
    CONVERTER,
    EXTENSIONS,
    convert,
    front_matter,
    is_index,
    prettify,
)
from ingestion.documents.convert import TEXT_EXTENSIONS as TEXTS
from ingestion.documents.front_matter import FrontMatter
from ingestion.errors import PageUnreadable, SourceUnavailable
from ingestion.types import Document, Finding, Heading, Listing, SourcePage
from rag.types import Readers

LARGEST_FILE = 20 * 1024 * 1024
"""Bytes; larger files are skipped and reported."""


_PORTS = {"http": 80, "https": 443}

ReadersOf = Callable[[str, bytes, Readers | None], Readers]
"""Returns who may read a file, from its page id, its bytes, and the readers in its front matter."""


@dataclass(frozen=True, slots=True)
class _File:
    """One readable file, its readers and its front matter."""

    id: str
    content_digest: str
    readers: Readers
    head: FrontMatter | None
    title: str = ""
    notes: tuple[str, ...] = ()


class FolderSource:
    """Reads the files below one folder, and nothing outside it. Implements ``Source``.

    Args:
        root: the folder.
        space: the space of the index that it fills.
        readers: who may read pages without readers of their own, or a function that returns them.
        base_url: prefix of page paths; without it, paths on this server.
        says_urls: whether a page may set its own address, of the same origin as ``base_url`` or a
            path on this server. Sources of answers link there, so no other is accepted.
        kind: the source type in the chunks.
        largest: bytes; larger files are skipped and reported.
    """

    at_once: ClassVar[int] = 1

    def __init__(
        self,
        root: Path,
        *,
        space: str,
        readers: Readers | ReadersOf,
        base_url: str | None = None,
        kind: str = "folder",
        largest: int = LARGEST_FILE,
        sure: bool = False,
        says_urls: bool = True,
    ) -> None:
        self._root = root.resolve()
        self._sure = sure
        self._readers = readers if callable(readers) else _unless_said(readers)
        self._origin = _origin(base_url) if base_url else None
        self._says_urls = says_urls
        self._base_url = base_url or f"/pages/{quote(space, safe='')}/"
        self._largest = largest
        self.type = kind
        self.space = space

    async def list(self) -> Listing:
        return await asyncio.to_thread(self._list)

    async def read(self, page: SourcePage) -> Document:
        return await asyncio.to_thread(self._read, page)

    def _read(self, page: SourcePage) -> Document:
        content = _content(self._root, self._root / page.id, self._largest)
        if _file(page.id, content, self._readers).readers != page.readers:
            raise PageUnreadable("was given other readers meanwhile; the next run takes it")
        return convert(page.id, content)

    def _list(self) -> Listing:
        if not self._root.is_dir():
            raise SourceUnavailable(f"{str(self._root)!r} is no folder; name an existing one")
        walk = _Walk(self._root, self._readers, self._largest)
        walk.run()
        files = [self._own_url_only(file) for file in walk.files]
        titles = {_parent(file.id): file.title for file in files if is_index(file.id)}
        pages = [self._page(file, titles) for file in files]
        return Listing(
            pages=tuple(sorted(pages, key=lambda page: page.id)),
            skipped=tuple(walk.skipped),
            failed=tuple(walk.failed),
            notes=tuple(Finding(f.id, note) for f in files for note in f.notes),
            sure=self._sure,
        )

    def _own_url_only(self, file: _File) -> _File:
        """Remove an address of another origin, and add a note."""
        url = file.head.url if file.head else None
        if file.head is None or url is None or self._may_lead_to(url):
            return file
        cure = "write one that begins like --base-url" if self._says_urls else "remove it"
        note = f"url {reprlib.repr(url)} was ignored: it may not lead away from here; {cure}"
        return replace(file, head=replace(file.head, url=None), notes=(*file.notes, note))

    def _may_lead_to(self, url: str) -> bool:
        on_this_server = url.startswith("/")
        return self._says_urls and (
            on_this_server or (self._origin is not None and _origin(url) == self._origin)
        )

    def _page(self, file: _File, titles: dict[str, str]) -> SourcePage:
        head = file.head or FrontMatter("")
        url = head.url or _joined(self._base_url, file.id)
        # Like a folder's title, a question that the page answers is matched and never quoted.
        ancestors = (*_ancestors(file.id, titles), *head.asked_as)
        shape = "\0".join((str(CONVERTER), file.content_digest, head.digest_text, url, *ancestors))
        return SourcePage(
            id=file.id,
            version=_digest(shape.encode()),
            readers=file.readers,
            url=url,
            ancestors=ancestors,
        )


class _Walk:
    """One traversal of the folder; collects the skipped entries with reasons."""

    def __init__(self, root: Path, readers: ReadersOf, largest: int) -> None:
        self._root = root
        self._readers = readers
        self._largest = largest
        self.files: list[_File] = []
        self.skipped: list[Finding] = []
        self.failed: list[Finding] = []

    def run(self) -> None:
        waiting = [self._root]
        while waiting:
            folder = waiting.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self._fail_folder(folder, error)
                continue
            waiting += [Path(entry.path) for entry in entries if self._is_folder(entry)]

    def _fail_folder(self, folder: Path, error: OSError) -> None:
        if folder == self._root:
            raise SourceUnavailable(f"{str(folder)!r} cannot be listed: {error.strerror}")
        name = f"{self._id(folder)}/"
        self.failed.append(Finding(name, f"cannot be listed: {error.strerror}"))

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        """Return whether an entry is a folder to descend into; a file is collected."""
        if entry.name.startswith("."):
            return False
        page_id = self._id(Path(entry.path))
        if not _is_unicode(page_id):
            shown = page_id.encode(errors="backslashreplace").decode()
            self.skipped.append(Finding(shown, "its name is not valid UTF-8; rename it"))
            return False
        if entry.is_symlink() and not self._is_inside(entry, page_id):
            return False
        if entry.is_dir(follow_symlinks=False):
            return True
        self._take(page_id)
        return False

    def _is_inside(self, entry: os.DirEntry[str], page_id: str) -> bool:
        """Return whether a symbolic link is a file below the root; if not, report why."""
        reason = ""
        try:
            target = Path(entry.path).resolve(strict=True)
            if not target.is_relative_to(self._root):
                reason = "symbolic link leaves the folder"
            elif target.is_dir():
                reason = "symbolic link to a folder; its pages are indexed where they are"
        except (OSError, RuntimeError):
            reason = "symbolic link leads nowhere"
        if reason:
            self.skipped.append(Finding(page_id, reason))
        return not reason

    def _take(self, page_id: str) -> None:
        extension = PurePosixPath(page_id).suffix.lower()
        if extension not in EXTENSIONS:
            kind = f"files of type {extension}" if extension else "files without an ending"
            self.skipped.append(Finding(page_id, f"{kind} are not read"))
            return
        try:
            path = self._root / page_id
            size = path.stat().st_size
            if size > self._largest:
                reason = f"larger than {self._largest // 1024 // 1024} MB ({size / 1048576:.1f} MB)"
                self.skipped.append(Finding(page_id, reason))
                return
            content = _content(self._root, path, self._largest)
            self.files.append(_file(page_id, content, self._readers))
        except PageUnreadable as error:
            self.failed.append(Finding(page_id, str(error)))
        except OSError as error:
            self.failed.append(Finding(page_id, f"cannot be read: {error.strerror}"))

    def _id(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def _unless_said(default: Readers) -> ReadersOf:
    return lambda _page_id, _content, said: default if said is None else said


def _file(page_id: str, content: bytes, readers: ReadersOf) -> _File:
    if PurePosixPath(page_id).suffix.lower() not in TEXTS:
        return _File(page_id, _digest(content), readers(page_id, content, None), None)
    head, notes = front_matter(page_id, content)
    body = head.body.encode(errors="surrogatepass")
    title = _index_title(page_id, content, head) if is_index(page_id) else ""
    notes = (*notes, *head.notes)
    may_read = readers(page_id, content, head.readers)
    return _File(page_id, _digest(body), may_read, replace(head, body=""), title, notes)


def _content(root: Path, path: Path, largest: int) -> bytes:
    """Return the bytes of a regular file below the root.

    Raises:
        PageUnreadable: the file is outside the root, no regular file, or too large.
    """
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root) or not stat.S_ISREG(real.stat().st_mode):
            content = None
        else:
            with real.open("rb") as file:
                content = file.read(largest + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PageUnreadable(f"cannot be read: {reason}") from error
    if content is None:
        raise PageUnreadable("is no plain file of the folder")
    if len(content) > largest:
        raise PageUnreadable("grew while it was read; it is too large")
    return content


def _index_title(page_id: str, content: bytes, head: FrontMatter) -> str:
    """Return the folder title that an index page sets, or "" if it sets none."""
    if head.title:
        return head.title
    try:
        first = next(
            (block for block in convert(page_id, content).blocks if isinstance(block, Heading)),
            None,
        )
    except PageUnreadable:
        return ""
    return first.text if first and first.level == 1 else ""


def _ancestors(page_id: str, titles: dict[str, str]) -> Iterable[str]:
    """Yield the titles of the folders above a page; an index page represents its folder."""
    folders = list(PurePosixPath(page_id).parents)[:-1][::-1]
    for folder in folders[:-1] if is_index(page_id) else folders:
        yield titles.get(str(folder)) or prettify(str(folder))


def _parent(page_id: str) -> str:
    return str(PurePosixPath(page_id).parent)


def _joined(base_url: str, page_id: str) -> str:
    separator = "" if base_url.endswith(("/", "=")) else "/"
    return f"{base_url}{separator}{quote(page_id)}"


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port; None for what is no web address."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    plain = parts.username is None and parts.password is None
    return (parts.scheme, parts.hostname, port) if plain and parts.hostname else None


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()

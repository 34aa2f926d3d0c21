"""Do once in a worker what every application of a test would repeat, with the same result.

A worker makes some thousand applications and records. The network of the embedder, the code of
page templates, what browsers are sent packed, the description of the API and an empty record are
the same in all of them, and making them takes most of the processor time of such a test.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import certifi
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import make_url

if TYPE_CHECKING:
    import pytest


class MemoryBytecodeCache(BytecodeCache):
    """Keeps the code of templates; jinja2 compares the checksum of their source."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self._codes.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.bytecode_to_string()


def copying_empty_records(migrate: Callable[[str], None], folder: Path) -> Callable[[str], None]:
    """Return a ``migrate`` that copies a migrated SQLite file to where there is none."""
    empty = folder / "empty.sqlite"

    def migrate_or_copy(url: str) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            file = Path(parsed.database)
            if not file.exists():
                if not empty.exists():
                    migrate(f"sqlite+aiosqlite:///{empty}")
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(empty, file)
                return
        migrate(url)

    return migrate_or_copy


def write_authority(folder: Path) -> Path:
    """Write the first authority that certifi knows: each client reads the whole list for 40 ms."""
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(end)
    file = folder / "authority.pem"
    file.write_text(first + end, encoding="utf-8")
    return file


def set_up_once(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Share these between all tests; modules that no collected test imports are left alone."""
    patch.setenv("SSL_CERT_FILE", str(write_authority(folder)))
    if "rag.factory" in sys.modules:
        from rag.models import local_embedder  # noqa: PLC0415 - takes long to import

        patch.setattr(local_embedder, "MiniLM", cache(local_embedder.MiniLM))
    if api := sys.modules.get("bot.web.api"):
        patch.setattr(api, "openapi_document", cache(api.openapi_document))
    if pages := sys.modules.get("bot.web.pages"):
        patch.setattr(pages, "gzip", SimpleNamespace(compress=cache(gzip.compress)))
    if templates := sys.modules.get("aiohttp_jinja2"):
        setup = partial(templates.setup, bytecode_cache=MemoryBytecodeCache())
        patch.setattr(templates, "setup", setup)
    if database := sys.modules.get("bot.store.database"):
        patch.setattr(database, "migrate", copying_empty_records(database.migrate, folder))

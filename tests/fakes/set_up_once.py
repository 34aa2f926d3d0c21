"""Do once in a worker what every application of a test would repeat, with the same result.

A worker makes some thousand applications and records. The network of the embedder, the code of
page templates, what browsers are sent packed, the description of the API, an empty record, the
prompts, the rules of the router and the SQL of a statement are the same in all of them, and making
them takes most of the processor time of such a test.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import threading
from collections.abc import Callable, Hashable
from functools import cache, lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import certifi
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import make_url

if TYPE_CHECKING:
    import pytest
    from sqlalchemy.ext.asyncio import AsyncEngine

    from rag.models.local_embedder import MiniLM

SAME_EACH_TIME = (
    ("bot.answering.limits", "Rules"),
    ("bot.answering.routing.generic_replies", "SmallTalk"),
    ("bot.answering.routing.intent_rules", "SmallTalk"),
    ("bot.answering.routing.router", "Rules"),
    ("bot.web.api", "openapi_document"),
    ("prompts.files", "parse_prompt"),
)
"""What is read from files, or made of nothing else, and never changed after that."""

TEXTS_KEPT = 256


class MemoryBytecodeCache(BytecodeCache):
    """Keeps the code of templates; jinja2 compares the checksum of their source."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self._codes.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.bytecode_to_string()


class SharedStatements(dict[tuple[Hashable, ...], object]):
    """Keeps the SQL of statements for all records on SQLite; each engine would keep its own.

    SQLAlchemy finds it by the engine's dialect and the statement. All dialects are one here.
    """

    def get(self, key: tuple[Hashable, ...], default: object = None) -> object:
        return super().get(key[1:], default)

    def __setitem__(self, key: tuple[Hashable, ...], compiled: object) -> None:
        super().__setitem__(key[1:], compiled)


def sharing_statements(create: Callable[..., AsyncEngine]) -> Callable[..., AsyncEngine]:
    """Return a ``create_async_engine`` whose engines on SQLite share the SQL of statements."""
    shared = SharedStatements()

    def create_sharing(url: str, **options: object) -> AsyncEngine:
        engine = create(url, **options)
        if engine.dialect.name == "sqlite":
            engine.sync_engine.update_execution_options(compiled_cache=shared)
        return engine

    return create_sharing


def copying_empty_records(migrate: Callable[[str], None], folder: Path) -> Callable[[str], None]:
    """Return a ``migrate`` that copies a migrated SQLite file to where there is none."""
    empty = folder / "empty.sqlite"
    one_at_a_time = threading.Lock()

    def migrate_or_copy(url: str) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            file = Path(parsed.database)
            # Without the lock, a second thread would open a file that is half copied.
            with one_at_a_time:
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


def remembering_texts(make: Callable[[Path, Path], MiniLM]) -> Callable[..., MiniLM]:
    """Return what makes one network, which is asked once about a text: tests have few.

    A text's vectors do not depend on others', since texts are not batched.
    """

    @cache
    def make_once(weights: Path, tokenizer: Path) -> MiniLM:
        network = make(weights, tokenizer)
        setattr(network, "read", lru_cache(TEXTS_KEPT)(network.read))  # noqa: B010 - a method
        return network

    def made(weights: Path, tokenizer: Path, _: Path | None = None) -> MiniLM:
        """Leave out the folder for the optimized model, which is another one in each test."""
        return make_once(weights, tokenizer)

    return made


def set_up_once(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Share these between all tests; modules that no collected test imports are left alone."""
    patch.setenv("SSL_CERT_FILE", str(write_authority(folder)))
    if "rag.factory" in sys.modules:
        from rag.models import local_embedder, model_files  # noqa: PLC0415 - take long to import

        patch.setattr(local_embedder, "MiniLM", remembering_texts(local_embedder.MiniLM))
        patch.setattr(local_embedder, "find_model_file", cache(model_files.find_model_file))
    if pages := sys.modules.get("bot.web.pages"):
        patch.setattr(pages, "gzip", SimpleNamespace(compress=cache(gzip.compress)))
    if templates := sys.modules.get("aiohttp_jinja2"):
        setup = partial(templates.setup, bytecode_cache=MemoryBytecodeCache())
        patch.setattr(templates, "setup", setup)
    if database := sys.modules.get("bot.store.database"):
        patch.setattr(database, "migrate", copying_empty_records(database.migrate, folder))
    if connections := sys.modules.get("bot.store.connections"):
        shared = sharing_statements(connections.create_async_engine)
        patch.setattr(connections, "create_async_engine", shared)
    for user, name in SAME_EACH_TIME:
        if module := sys.modules.get(user):
            patch.setattr(module, name, cache(getattr(module, name)))

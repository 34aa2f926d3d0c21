"""COMPOSITION of the ingestion process: ``python -m ingestion folder | spaces | forget``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from ingestion.config import Settings, load_settings
from ingestion.errors import IngestionError, SettingInvalid
from ingestion.names import is_space_key
from ingestion.progress import progress_on
from ingestion.readers import ReadersMalformed, parse_readers
from ingestion.records.opening import records_of
from ingestion.report import report_lines
from ingestion.run import Folder, source_of, sync_source
from ingestion.sources import remember
from ingestion.uploads import Uploads
from rag.errors import ModelFilesInvalid, RagError
from rag.index.embedded import EmbeddedIndex, fingerprint_of, open_index
from rag.models.local_embedder import LocalEmbedder, open_local_embedder
from rag.types import Readers

INDEX_FILE = "index.sqlite"
FAILED = 1
REFUSED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    0: done. 1: done, but something could not be read, or the index or embedder failed on the way.
    2: refused: wrong usage or setting, the brake against mass deletion, or another run.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    options = _parser().parse_args(arguments)
    try:
        return asyncio.run(_COMMANDS[options.command](options, load_settings()))
    except IngestionError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except RagError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Stopped. What was written stays; run again to go on.", file=sys.stderr)
        return INTERRUPTED


async def _folder(options: argparse.Namespace, settings: Settings) -> int:
    folder = Folder(options.path, options.space, options.readers, options.base_url)
    _refuse_uploads(options.space, settings)
    begun = datetime.now(UTC)
    records = records_of(settings)
    async with (
        _embedder() as embedder,
        _index(settings, embedder, create=not options.dry_run) as index,
    ):
        report = await sync_source(
            source_of(folder),
            index,
            embedder,
            tenant=settings.tenant,
            leases=records.leases,
            dry_run=options.dry_run,
            allow_mass_delete=options.allow_mass_delete,
            progress=progress_on(sys.stderr),
        )
    await remember(records.ledger, folder, report, begun)
    records.close()
    print("\n".join(report_lines(report)))
    return FAILED if report.failed else 0


def _refuse_uploads(space: str, settings: Settings) -> None:
    if Uploads(settings.data_dir, settings.tenant).has(space):
        raise SettingInvalid(
            f"Space {space!r} is filled by uploads, and a folder would drop them. Choose another "
            "space for the folder."
        )


async def _spaces(_options: argparse.Namespace, settings: Settings) -> int:
    async with _index(settings, None) as index:
        spaces = await index.spaces(settings.tenant)
        for space, chunks in sorted(spaces.items()):
            pages = await index.pages(settings.tenant, space)
            print(f"{space}: {len(pages)} pages, {chunks} chunks")
    if not spaces:
        print("Nothing is indexed. Add a folder: python -m ingestion folder PATH --space KEY")
    return 0


async def _forget(options: argparse.Namespace, settings: Settings) -> int:
    async with _index(settings, None) as index:
        pages = await index.pages(settings.tenant, options.space)
        uploads = Uploads(settings.data_dir, settings.tenant)
        if not pages and not uploads.has(options.space):
            print(f"Space {options.space!r} is not indexed.", file=sys.stderr)
            return REFUSED
        if not options.yes:
            print(
                f"This removes {len(pages)} pages of space {options.space!r} from the index, and "
                "what was uploaded into it. "
                "Run again with --yes to do it.",
                file=sys.stderr,
            )
            return REFUSED
        records = records_of(settings)
        async with records.leases.held(options.space):
            uploads.forget(options.space)
            await records.ledger.forget(options.space)
            await records.passes.forget(options.space)
            removed = await index.delete_pages(settings.tenant, options.space, list(pages))
    print(f"Removed {removed} pages of space {options.space!r}.")
    return 0


@asynccontextmanager
async def _embedder() -> AsyncIterator[LocalEmbedder | None]:
    try:
        embedder = await open_local_embedder()
    except ModelFilesInvalid as error:
        print(f"Warning: {error}", file=sys.stderr)
        yield None
        return
    try:
        yield embedder
    finally:
        embedder.close()


@asynccontextmanager
async def _index(
    settings: Settings, embedder: LocalEmbedder | None, *, create: bool = False
) -> AsyncIterator[EmbeddedIndex]:
    """Open the index; one that is not there stays so and reads as empty, unless ``create``."""
    path = settings.data_dir / INDEX_FILE
    if create:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        path = Path(":memory:")
    index = await open_index(path, fingerprint_of(embedder) if embedder else None)
    try:
        yield index
    finally:
        await index.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ingestion", description="Bring documents into the index."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    folder = commands.add_parser("folder", help="index a folder of files")
    folder.add_argument("path", type=Path, help="the folder")
    folder.add_argument("--space", type=_space, required=True, help="the space that it fills")
    folder.add_argument("--base-url", type=_base_url, help="what page paths are joined to")
    folder.add_argument(
        "--readers",
        type=_readers,
        default="everyone",
        help="who may read: everyone (default), or group:NAME,user:ID",
    )
    folder.add_argument("--dry-run", action="store_true", help="say what would be done")
    folder.add_argument(
        "--allow-mass-delete", action="store_true", help="remove even a large share of the space"
    )
    commands.add_parser("spaces", help="list what is indexed")
    forget = commands.add_parser("forget", help="remove a space from the index")
    forget.add_argument("space", help="the space")
    forget.add_argument("--yes", action="store_true", help="really remove it")
    return parser


def _space(text: str) -> str:
    if not is_space_key(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no space key; use letters, digits, '.', '_', '-' or '~', at most 100"
        )
    return text


def _base_url(text: str) -> str:
    if not re.fullmatch(r"(?:https?://[^\s/]|/(?!/))[^\s<>\"\\]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address; write https://… or /path/")
    return text


def _readers(text: str) -> Readers:
    try:
        return parse_readers(text)
    except ReadersMalformed as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_COMMANDS = {"folder": _folder, "spaces": _spaces, "forget": _forget}


if __name__ == "__main__":
    sys.exit(main())

"""``spaces`` and ``forget``: what is indexed, and what shall be no more."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from ingestion.commands.codes import REFUSED
from ingestion.commands.opened import kept_records, opened_index
from ingestion.config import Settings
from ingestion.uploads import Uploads
from rag.types import Page


async def list_spaces(_options: argparse.Namespace, settings: Settings) -> int:
    """Print each space with its pages and chunks."""
    async with opened_index(settings, None) as index:
        spaces = await index.spaces(settings.tenant)
        for space, chunks in sorted(spaces.items()):
            pages = await index.pages(settings.tenant, space)
            print(f"{space}: {len(pages)} pages, {chunks} chunks")
    if not spaces:
        print("Nothing is indexed. Add a folder: python -m ingestion folder PATH --space KEY")
    return 0


async def forget_space(options: argparse.Namespace, settings: Settings) -> int:
    """Remove a space from the index, with what was uploaded into it."""
    async with opened_index(settings, None) as index:
        pages = await index.pages(settings.tenant, options.space)
        uploads = Uploads(settings.data_dir, settings.tenant)
        if not pages and not uploads.has(options.space):
            print(f"Space {options.space!r} is not indexed.", file=sys.stderr)
            return REFUSED
        is_of_the_wiki = _is_of_the_wiki(options.space, settings, pages)
        if not options.yes:
            if is_of_the_wiki:
                print(_comes_back(options.space), file=sys.stderr)
            print(_would_go(options.space, len(pages)), file=sys.stderr)
            return REFUSED
        with kept_records(settings) as records:
            async with records.leases.held(options.space):
                uploads.forget(options.space)
                await records.ledger.forget(options.space)
                await records.passes.forget(options.space)
                removed = await index.delete_pages(settings.tenant, options.space, list(pages))
    print(f"Removed {removed} pages of space {options.space!r}.")
    if is_of_the_wiki:
        print(_comes_back(options.space))
    return 0


def _is_of_the_wiki(space: str, settings: Settings, pages: Mapping[str, Page]) -> bool:
    """Tell whether the next pass would read it again: a wiki is read, and the space with it."""
    if not settings.confluence_configured or space in settings.confluence_skip_spaces:
        return False
    if settings.confluence_spaces:
        return space in settings.confluence_spaces
    # Confluence's ids are numbers; files have names with an ending.
    return any(page.partition("/")[0].isdigit() for page in pages)


def _would_go(space: str, pages: int) -> str:
    return (
        f"This removes {pages} pages of space {space!r} from the index, and what was uploaded into "
        "it. Run again with --yes to do it."
    )


def _comes_back(space: str) -> str:
    return (
        f"{space} is a space of Confluence: the next pass reads it again, unless "
        "CONFLUENCE_SKIP_SPACES names it."
    )

"""``spaces`` and ``forget``: what is indexed, and what shall be no more."""

from __future__ import annotations

import argparse
import sys

from ingestion.commands.codes import REFUSED
from ingestion.commands.opened import kept_records, opened_index
from ingestion.config import Settings
from ingestion.uploads import Uploads


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
        if not options.yes:
            print(
                f"This removes {len(pages)} pages of space {options.space!r} from the index, and "
                "what was uploaded into it. "
                "Run again with --yes to do it.",
                file=sys.stderr,
            )
            return REFUSED
        with kept_records(settings) as records:
            async with records.leases.held(options.space):
                uploads.forget(options.space)
                await records.ledger.forget(options.space)
                await records.passes.forget(options.space)
                removed = await index.delete_pages(settings.tenant, options.space, list(pages))
    print(f"Removed {removed} pages of space {options.space!r}.")
    return 0

"""Parse the command line of ``python -m ingestion`` or ``frontdesk wiki``, and run one command.

The composition root of the ingestion process.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from ingestion.cli import FAILED, INTERRUPTED, REFUSED
from ingestion.cli.maintenance import cancel_runs, diagnose, forget_space, list_spaces, show_status
from ingestion.cli.rebuild import rebuild_index
from ingestion.cli.sync import sync_folder_now, sync_spaces
from ingestion.config import load_settings
from ingestion.errors import IngestionError
from ingestion.help_texts import add_examples
from ingestion.validation import ReadersMalformed, is_space_key, parse_readers
from rag.errors import RagError
from rag.file_modes import GROUP_AND_OTHERS, restrict_to_owner
from rag.garbage_collection import freeze_startup_objects
from rag.retrying import log_long_waits
from rag.types import Readers


def main(arguments: Sequence[str] | None = None, prog: str = "python -m ingestion") -> int:
    """Run one command; return the exit code.

    0: done. 1: done, but something could not be read, or the index or embedder failed on the way.
    2: refused: wrong usage or setting, the mass-deletion limit, or another run.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    options = build_parser(prog).parse_args(arguments)
    try:
        settings = load_settings()
        restrict_to_owner(settings.data_dir)
        freeze_startup_objects()
        return asyncio.run(_COMMANDS[options.command](options, settings))
    except IngestionError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except RagError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Stopped. What was written stays; run again to go on.", file=sys.stderr)
        return INTERRUPTED


def build_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of the command line; ``prog`` is what help texts call the program."""
    parser = argparse.ArgumentParser(prog=prog, description="Bring documents into the index.")
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
    _add_sync(commands)
    commands.add_parser("spaces", help="list what is indexed")
    forget = commands.add_parser("forget", help="remove a space from the index")
    forget.add_argument("space", help="the space")
    forget.add_argument("--yes", action="store_true", help="really remove it")
    commands.add_parser("doctor", help="try all that is done with Confluence, and say what fails")
    commands.add_parser("status", help="say what runs do, and how the last ones ended")
    cancel = commands.add_parser("cancel", help="stop a run, in whichever process")
    cancel.add_argument("target", metavar="ID|SPACE", help="its id, or its space, or all")
    rebuild = commands.add_parser(
        "rebuild", help="read all into a new version of the index in Azure, then use that"
    )
    rebuild.add_argument("--in-part", action="store_true", help="also when a page can't be read")
    add_examples(commands, EXAMPLES, prog)
    return parser


def _add_sync(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sync = commands.add_parser("sync", help="bring spaces up to date with what fills them")
    what = sync.add_mutually_exclusive_group(required=True)
    what.add_argument("spaces", nargs="*", default=[], type=_space, metavar="SPACE", help="which")
    what.add_argument("--all", action="store_true", help="all that are known")
    what.add_argument("--page", metavar="URL", help="one page of a wiki, by its address or id")
    sync.add_argument("--changes", action="store_true", help="look only at what was edited")
    sync.add_argument("--dry-run", action="store_true", help="say what would be done")
    sync.add_argument(
        "--allow-mass-delete", action="store_true", help="remove even a large share of a space"
    )


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


EXAMPLES = {
    "folder": "folder ~/handbook --space HANDBOOK --base-url https://wiki.example/handbook",
    "sync": "sync IT HR --dry-run",
    "spaces": "spaces",
    "forget": "forget HANDBOOK --yes",
    "status": "status",
    "doctor": "doctor",
    "cancel": "cancel HANDBOOK",
    "rebuild": "rebuild --in-part",
}

_COMMANDS = {
    "folder": sync_folder_now,
    "sync": sync_spaces,
    "spaces": list_spaces,
    "forget": forget_space,
    "status": show_status,
    "doctor": diagnose,
    "cancel": cancel_runs,
    "rebuild": rebuild_index,
}


def run_as_process(
    arguments: Sequence[str] | None = None, prog: str = "python -m ingestion"
) -> int:
    """Set up what belongs to a process, then run one command; return the exit code."""
    os.umask(GROUP_AND_OTHERS)
    # Reports go to standard output.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    log_long_waits()
    return main(arguments, prog)


if __name__ == "__main__":
    sys.exit(run_as_process())

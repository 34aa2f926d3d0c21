"""The arguments of `teams-package`, apart from what it needs to run."""

from __future__ import annotations

import argparse
from pathlib import Path

OUT = Path("frontdesk-teams.zip")


def add_teams_package(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("teams-package", help="build the app package for Teams")
    parser.add_argument("--out", type=Path, default=OUT, help="the file; default: %(default)s")
    parser.add_argument(
        "--follow-ups",
        action="store_true",
        help="ask owners to let the bot read along, for questions without a mention",
    )
    parser.add_argument(
        "--app-version", metavar="X.Y.Z", help="a higher one than what is installed; default: 1.0.0"
    )
    parser.add_argument("--privacy-url", help="what is said about privacy; default: PUBLIC_URL")
    parser.add_argument("--terms-url", help="the terms of use; default: PUBLIC_URL")

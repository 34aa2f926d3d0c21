"""``python -m tests.evals.recorded PROMPTS REPLIES``: take written replies into the repository."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.evals.recorded.server import REPLIES, import_replies


def main(arguments: Sequence[str] | None = None) -> int:
    """Import ``<key>.txt`` files; 1 when none fits a prompt."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.recorded", description=__doc__)
    parser.add_argument("prompts", type=Path, help="the folder that --prompts wrote to")
    parser.add_argument("replies", type=Path, help="a folder with <key>.txt files")
    options = parser.parse_args(arguments)
    taken = import_replies(options.prompts, options.replies, datetime.now(UTC).date())
    print(f"Taken into {REPLIES.name}: {taken} replies.")
    return 0 if taken else 1


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.conformance`` runs every case on every platform and prints what works where.

``--write`` writes it to docs/capabilities.md, unless something is not as it must be.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from tests.conformance.cases import CASES, TOPICS
from tests.conformance.missing import MISSING
from tests.conformance.suite import PLATFORMS, faults
from tests.conformance.table import YES, page

PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"
OURS = tuple(platform for platform in PLATFORMS if platform != "example")
"""The platforms that Frontdesk has; the example shows only that there may be others."""

Found = Mapping[tuple[str, str], str]


async def found_now() -> Found:
    """Run everything, one after the other; return what came of it by case and platform."""
    found: dict[tuple[str, str], str] = {}
    for case in CASES:
        for platform in PLATFORMS:
            with TemporaryDirectory() as directory:
                wrong = await faults(case, platform, Path(directory))
            found[case.name, platform] = "; ".join(wrong) or YES
    return found


def shown(found: Found, platforms: tuple[str, ...] = OURS) -> str:
    """Return the page; what was not run counts as it must be."""
    names = {topic: [case.name for case in cases] for topic, cases in TOPICS.items()}
    return page(names, platforms, MISSING, lambda case, each: found.get((case, each), YES))


def main() -> int:
    """Print the page, and write it where that is asked for; return 1 for faults."""
    parser = ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/capabilities.md")
    write = parser.parse_args().write
    found = asyncio.run(found_now())
    print(shown(found, tuple(PLATFORMS)))
    if any(told != YES for told in found.values()):
        return 1
    if write:
        PAGE.write_text(shown(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sys.exit(main())

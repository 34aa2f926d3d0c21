"""``python -m tests.conformance`` prints which platform shows what."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from tests.conformance.cases import CASES
from tests.conformance.platforms import PLATFORMS
from tests.conformance.suite import faults


async def main() -> int:
    """Run every case on every platform; return how many failed."""
    failed = 0
    print(f"| case | {' | '.join(PLATFORMS)} |\n|---|{'---|' * len(PLATFORMS)}")
    for case in CASES:
        cells = []
        for platform in PLATFORMS:
            with TemporaryDirectory() as directory:
                found = await faults(case, platform, Path(directory))
            failed += bool(found)
            cells.append("; ".join(found) or "yes")
        print(f"| {case.name} | {' | '.join(cells)} |")
    return failed


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sys.exit(min(1, asyncio.run(main())))

"""Tell long stories: ``python -m tests.syncing.run --events 1000 --queries 10000 --seed N``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import structlog

from tests.confluence.call import Edition
from tests.syncing.follower import following
from tests.syncing.story import Story
from tests.syncing.world import served


async def tell(seed: int, options: argparse.Namespace, directory: Path) -> None:
    """Tell one story and print what came of it. Raises AssertionError."""
    began = time.monotonic()
    edition: Edition = options.edition
    async with served(seed=seed, edition=edition, pages=options.pages) as world:
        more = {"CONFLUENCE_EVERYONE_GROUPS": ",".join(world.everyone)}
        async with following(world.server, directory, **more) as follower:
            story = Story(world, follower)
            await story.tell(events=options.events, queries=options.queries)
            stale = story.tally.stale
            await story.ends_well(directory / "fresh.sqlite")
    passes = ", ".join(f"{name} {times}" for name, times in sorted(story.passes.items()))
    print(f"seed {seed}, {edition}: {options.events} events, passes: {passes}")
    print(
        f"  {story.tally.queries} queries showed {story.tally.shown} passages: "
        f"{len(story.tally.leaks)} leaks; {stale} were as of the last look, between two"
    )
    print(f"  equal to a first sync; {time.monotonic() - began:.0f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell stories from seed on; 1 when one ended badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.syncing.run")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=int, default=1, help="so many seeds, one after the other")
    parser.add_argument("--edition", choices=("cloud", "data-center"), default="cloud")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    failed = 0
    for seed in range(options.seed, options.seed + options.stories):
        with tempfile.TemporaryDirectory() as directory:
            try:
                asyncio.run(tell(seed, options, Path(directory)))
            except AssertionError as error:
                print(f"seed {seed} ended badly: {error}", flush=True)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

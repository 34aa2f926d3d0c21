from __future__ import annotations

from pathlib import Path

import pytest

from tests.confluence.call import Edition
from tests.syncing.follower import following
from tests.syncing.story import Story
from tests.syncing.world import served


@pytest.mark.parametrize(("seed", "edition"), [(1, "cloud"), (2, "data-center"), (3, "cloud")])
async def test_the_index_follows_whatever_happens(
    seed: int, edition: Edition, tmp_path: Path
) -> None:
    async with served(seed=seed, edition=edition, pages=30) as world:
        more = {"CONFLUENCE_EVERYONE_GROUPS": ",".join(world.everyone)}
        async with following(world.server, tmp_path, **more) as follower:
            story = Story(world, follower)
            await story.tell(events=40, queries=200, kills=seed == 1)
            await story.ends_well(tmp_path / "fresh.sqlite")

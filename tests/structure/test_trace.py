"""A question's way through the code does not get longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.structure.trace import WAYS

MOST_FILES = {"the web": 104, "Slack": 100, "Teams": 107}
"""Files that an answered question passes; docs/adr/0019 says why not fewer, 0020, 0021 why more.

On the web three are about forms with files, and the last question: edited, and what is beside it.
"""


@pytest.mark.parametrize("platform", WAYS)
async def test_a_question_passes_no_more_files_than_agreed(platform: str, tmp_path: Path) -> None:
    way = await WAYS[platform](tmp_path)

    assert "bot/answering/desk.py" in way.functions
    assert len(way.functions) <= MOST_FILES[platform]

"""What is quoted under a source, on pages of the sample company."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.components import open_components
from bot.chat.response_view import render
from bot.domain.interactions import Reply
from bot.domain.messages import Stage
from bot.platforms.teams.rendering.labels import citations_of
from tests.bot.house import write_index
from tests.bot.server import settings_for
from tests.builders import NOON, inquiry, message

NETWORK = Path("infra/sample/it/network")


def _pages() -> dict[str, str]:
    return {page.name: page.read_text(encoding="utf-8") for page in NETWORK.glob("*.md")}


async def _quiet(_: Stage, __: int = 0) -> None:
    """Report to nobody."""


@pytest.mark.mended(id="ux-3")
async def test_the_line_that_answers_is_quoted_under_its_source(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages", _pages())
    async with open_components(settings) as parts:
        outcome = await parts.desk.handle(inquiry(message("vpn says error 809, what now?")), _quiet)

    assert isinstance(outcome.response, Reply)
    assert "809" in outcome.response.sources[0].quote
    lines = render(outcome.response, private=True).lines
    abstract = citations_of(lines, {1}, NOON)[1]
    assert "809" in str(abstract)

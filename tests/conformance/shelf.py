"""What can be reindexed: one page, by runs that go on only when a case says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.bot.shelves import Shelf, document


class SlowShelf(Shelf):
    """Implements Documents and Reindex; a run has read one page of four when it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.kept["IT", "VPN.md"] = document("IT", "VPN.md")

    async def start(self, space: str | None, **how: Any) -> str:  # noqa: ANN401 - as it was ordered
        run_id = await super().start(space, **how)
        self.goes(state="running", ended_at=None, pages=1, total=4)
        return run_id

    def goes(self, **changes: Any) -> None:  # noqa: ANN401 - columns of a run
        """Let the newest run go on."""
        self.runs[0] = replace(self.runs[0], **changes)

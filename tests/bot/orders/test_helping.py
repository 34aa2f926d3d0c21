from __future__ import annotations

import pytest

from bot.orders.helping import help_text
from bot.orders.parsing import command_order, message_order, reindex_order
from bot.orders.types import Misunderstood, Spelling
from tests.bot.orders.fakes import SLACK


def test_what_only_admins_may_do_is_told_to_them_alone() -> None:
    assert "/reindex SPACE --dry-run" in help_text(SLACK, admin=True)
    assert "settings" in help_text(SLACK, admin=True)
    for word in ("reindex", "settings"):
        assert word not in help_text(SLACK, admin=False)


@pytest.mark.parametrize("spelling", [SLACK, Spelling()])
def test_each_command_that_help_names_is_understood_as_it_is_written_there(
    spelling: Spelling,
) -> None:
    lines = help_text(spelling, admin=True).splitlines()[1:]

    assert len(lines) >= 7
    for line in lines:
        written = line.partition(": ")[0]
        order = (
            reindex_order(written.removeprefix("/reindex"), spelling)
            if written.startswith("/reindex")
            else command_order(written.removeprefix("/frontdesk"), spelling)
            if spelling.command
            else message_order(written, spelling)
        )
        assert order is not None, line
        assert not isinstance(order, Misunderstood), line

from __future__ import annotations

import pytest

from bot.chat.commands.help_texts import help_text
from bot.chat.commands.parsing import parse_command_text, parse_message_text, parse_reindex_text
from bot.chat.commands.types import CommandSyntax, InvalidCommand
from tests.bot.orders.fakes import SLACK


def test_what_only_admins_may_do_is_told_to_them_alone() -> None:
    assert "/reindex SPACE --dry-run" in help_text(SLACK, admin=True)
    assert "settings" in help_text(SLACK, admin=True)
    for word in ("reindex", "settings"):
        assert word not in help_text(SLACK, admin=False)


@pytest.mark.parametrize("spelling", [SLACK, CommandSyntax()])
def test_each_command_that_help_names_is_understood_as_it_is_written_there(
    spelling: CommandSyntax,
) -> None:
    lines = help_text(spelling, admin=True).splitlines()[1:]

    assert len(lines) >= 7
    for line in lines:
        written = line.partition(": ")[0]
        order = (
            parse_reindex_text(written.removeprefix("/reindex"), spelling)
            if written.startswith("/reindex")
            else parse_command_text(written.removeprefix("/frontdesk"), spelling)
            if spelling.command
            else parse_message_text(written, spelling)
        )
        assert order is not None, line
        assert not isinstance(order, InvalidCommand), line

"""The schema's revision is known without loading alembic."""

from __future__ import annotations

from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.store.database import MIGRATIONS
from bot.store.migrations import HEAD


def test_the_named_head_is_the_last_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))

    assert ScriptDirectory.from_config(config).get_current_head() == HEAD

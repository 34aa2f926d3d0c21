"""Imports what servers import, and makes once what is the same in each; for the fork server alone.

What it made is left out of garbage collections, which would visit it in every fork.
"""

from __future__ import annotations

import gc
from functools import cache
from importlib import import_module

from bot.answering.routing.languages import load_model
from bot.web import api

# Not onnxruntime: it starts a thread when it is imported.
for name in (
    "alembic.command",
    "bot.app.cli.doctor",
    "bot.app.cli.questions",
    "bot.app.cli.serve",
    "bot.inbox.engine",
    "bot.platforms.slack",
    "bot.platforms.teams",
    "dbos._sys_db_sqlite",
    "rag.index.embedded.index",
    "rag.models.chat_model",
    "tests.fork_server",
):
    import_module(name)

setattr(api, "openapi_document", cache(api.openapi_document))  # noqa: B010 - it has no other way
api.openapi_document()
load_model()
gc.collect()
gc.freeze()

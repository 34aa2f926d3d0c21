"""COMPOSITION of the server: every part is joined here, once; it alone knows ingestion."""

from bot.app.build import STATUS, build
from bot.app.confluence import confluence_checks
from bot.app.people import people_checks
from bot.app.sample import reindex_sample
from bot.app.settings import ALL_SETTINGS, load_ingestion_settings
from bot.app.status import status
from bot.app.working import executor_of

__all__ = [
    "ALL_SETTINGS",
    "STATUS",
    "build",
    "confluence_checks",
    "executor_of",
    "load_ingestion_settings",
    "people_checks",
    "reindex_sample",
    "status",
]

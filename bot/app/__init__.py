"""COMPOSITION of the server: every part is joined here, once; it alone knows ingestion."""

from bot.app.build import STATUS, build, executor_of
from bot.app.sample import reindex_sample
from bot.app.status import status

__all__ = ["STATUS", "build", "executor_of", "reindex_sample", "status"]

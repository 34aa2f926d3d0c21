"""What of rag.retrying is the models': a failure that may pass is one of a model."""

from __future__ import annotations

from rag import retrying
from rag.errors import ModelUnavailable
from rag.retrying import Deadline, RetryPolicy, with_retries

__all__ = ["Deadline", "RetryPolicy", "TryAgain", "with_retries"]


class TryAgain(retrying.TryAgain, ModelUnavailable):
    """A model's failure that may pass."""

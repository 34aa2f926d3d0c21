"""Errors of retrieval and answering.

- RagError
  - IndexUnavailable       the index cannot be reached or read
  - IndexMismatch          the index was built with another embedder or schema
  - ModelUnavailable       no answer from a model within its deadline
    - ToolsRejected        its server does not accept tools; without them it may well answer
  - ModelAnswerInvalid     the model's answer does not match the requested shape
  - ModelFilesInvalid      local model files are absent or not the ones expected
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag.types import ModelCall


class RagError(Exception):
    """Base class of failures; ``calls`` are the model calls made before or during the failure.

    Only calls whose usage the vendor reported are included.
    """

    calls: tuple[ModelCall, ...] = ()


@contextmanager
def after_calls(calls: tuple[ModelCall, ...]) -> Iterator[None]:
    """Prepend earlier model calls to ``calls`` of a RagError raised in the block."""
    try:
        yield
    except RagError as error:
        error.calls = (*calls, *error.calls)
        raise


class IndexUnavailable(RagError):
    """The index cannot be reached or read."""


class IndexMismatch(RagError):
    """The index was built with another embedder or schema; rebuild it."""


class ModelUnavailable(RagError):
    """The model cannot be reached or used, or did not answer before the deadline."""


class ToolsRejected(ModelUnavailable):
    """The model's server does not accept a request with tools."""


class ModelAnswerInvalid(RagError):
    """The model's answer does not match the requested shape, even after one repair."""


class ModelFilesInvalid(RagError):
    """The local model's files are absent or differ from the expected ones."""

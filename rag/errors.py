"""What can go wrong in retrieval and answering.

- RagError
  - IndexUnavailable       the store cannot be reached or read
  - IndexMismatch          the index was built with another embedder or schema
  - ModelUnavailable       no answer from a model within its deadline
  - ModelAnswerInvalid     an answer that is not in the shape asked for
  - ModelFilesInvalid      local model files are absent or not the ones expected
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag.types import ModelCall


class RagError(Exception):
    """Retrieval or answering failed; ``calls`` are the model calls that it took all the same.

    A call is among them as far as the vendor said what it took.
    """

    calls: tuple[ModelCall, ...] = ()


@contextmanager
def after_calls(calls: tuple[ModelCall, ...]) -> Iterator[None]:
    """Let an error that is raised inside carry what was spent before it, too."""
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
    """The model did not answer in time."""


class ModelAnswerInvalid(RagError):
    """The model's answer does not have the shape asked for."""


class ModelFilesInvalid(RagError):
    """The local model's files are absent or differ from the expected ones."""

"""What can go wrong in retrieval and answering.

- RagError
  - IndexUnavailable       the store cannot be reached or read
  - IndexMismatch          the index was built with another embedder or schema
  - ModelUnavailable       no answer from a model within its deadline
  - ModelAnswerInvalid     an answer that is not in the shape asked for
  - ModelFilesInvalid      local model files are absent or not the ones expected
"""

from __future__ import annotations


class RagError(Exception):
    """Retrieval or answering failed."""


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

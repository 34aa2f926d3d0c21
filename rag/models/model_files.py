"""Finds a local model's files in installed packages and checks that they are the right ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rag.errors import ModelFilesInvalid


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file inside an installed distribution; ``path`` is relative to its installation root.

    ``sha256`` is the lower-case hex digest that the file must have.
    """

    distribution: str
    version: str
    path: str
    sha256: str

    @property
    def cure(self) -> str:
        """What to do when the file is absent or another."""
        return (
            f"Install it again: pip install --force-reinstall {self.distribution}=={self.version}"
        )


def find(file: ModelFile) -> Path:
    """Return where the file is. The package is not imported, only its record is read.

    Raises ModelFilesInvalid when the package or the file is absent, or its content differs.
    """
    location = _locate(file)
    try:
        with location.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelFilesInvalid(
            f"The model file {str(location)!r} cannot be read ({error.strerror}). {file.cure}"
        ) from error
    if digest != file.sha256:
        raise ModelFilesInvalid(
            f"The model file {str(location)!r} has sha256 {digest!r} instead of {file.sha256!r}. "
            f"{file.cure}"
        )
    return location


def _locate(file: ModelFile) -> Path:
    try:
        distribution = metadata.distribution(file.distribution)
    except metadata.PackageNotFoundError as error:
        raise ModelFilesInvalid(
            f"The package {file.distribution!r} is not installed. {file.cure}"
        ) from error
    return Path(str(distribution.locate_file(file.path)))

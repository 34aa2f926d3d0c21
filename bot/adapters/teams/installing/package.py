"""The app package: a zip of the manifest and two icons, the same bytes for the same settings."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.adapters.teams.installing.manifest import SOURCE, Wishes, filled
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings

FOLDER = Path(__file__).parents[4] / "infra" / "teams"
MANIFEST = "manifest.json"

SIZES = {"color": 192, "outline": 32}
"""Pixels that an icon has each way, by its key in the manifest."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG = struct.Struct(">8sL4sLL")
_NEVER = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o100644 << 16
_UNIX = 3


def package_of(settings: Settings, wishes: Wishes, *, folder: Path = FOLDER) -> bytes:
    """Return the package. Raises SettingInvalid: what is missing or wrong, with the cure."""
    manifest = filled(_source(folder / MANIFEST), settings, wishes)
    said = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    icons = {name: _icon(folder / name, SIZES[kind]) for kind, name in manifest["icons"].items()}
    return _zip({MANIFEST: said.encode(), **icons})


def _icon(file: Path, pixels: int) -> bytes:
    content = _read(file)
    head = content[: _PNG.size]
    _, _, kind, *size = _PNG.unpack(head) if len(head) == _PNG.size else (b"", 0, b"", 0, 0)
    if not content.startswith(_SIGNATURE) or kind != b"IHDR" or size != [pixels, pixels]:
        raise SettingInvalid(f"{file} is no PNG of {pixels} x {pixels} pixels. Take one that is.")
    return content


def _source(file: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(_read(file))
    except ValueError as error:
        raise SettingInvalid(f"{SOURCE} can't be read as JSON: {error}. Correct it.") from error
    if not isinstance(read, dict):
        raise SettingInvalid(f"{SOURCE} holds no JSON object. Take that of the repository.")
    return read


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        cure = "Take it from the repository."
        raise SettingInvalid(f"{file} can't be read: {error.strerror}. {cure}") from error


def _zip(files: Mapping[str, bytes]) -> bytes:
    """Return a zip without times, and without compression, which differs between libraries."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _NEVER)
            entry.create_system, entry.external_attr = _UNIX, _FILE_MODE
            archive.writestr(entry, content)
    return written.getvalue()

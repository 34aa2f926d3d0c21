"""Restrict the files of the data directory to the account that Frontdesk runs as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

GROUP_AND_OTHERS = 0o077
"""The rights of group and others; as a umask, new files get none of them."""


def restrict_to_owner(data_dir: Path) -> tuple[Path, ...]:
    """Take others' rights from a data directory and what is in it; return what stays open.

    What another account owns is left alone, and so is a file system that knows no rights, such as
    a share: there, whoever mounts it says who may read. Never raises.
    """
    if not data_dir.is_dir():
        return ()
    for path in _files_of(data_dir):
        _restrict(path)
    return readable_by_others(data_dir)


def readable_by_others(data_dir: Path) -> tuple[Path, ...]:
    """Return what others may read of it; what is in a closed directory is closed."""
    if not _is_open(data_dir):
        return ()
    return tuple(path for path in _files_of(data_dir) if _is_open(path))


def _files_of(data_dir: Path) -> Iterator[Path]:
    yield data_dir
    yield from sorted(data_dir.glob("*.sqlite*"))
    yield from (path for path in (data_dir / "documents",) if path.is_dir())


def _restrict(path: Path) -> None:
    try:
        found = path.stat()
        if found.st_mode & GROUP_AND_OTHERS and found.st_uid == os.geteuid():
            path.chmod(found.st_mode & 0o7777 & ~GROUP_AND_OTHERS)
    except OSError:
        return


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & GROUP_AND_OTHERS)
    except OSError:
        return False

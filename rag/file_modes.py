"""Restrict the files of the data directory to the account that Frontdesk runs as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

GROUP_AND_OTHERS = 0o077
"""The permission bits of group and others; as a umask, new files get none of them."""


def restrict_to_owner(data_dir: Path) -> tuple[Path, ...]:
    """Remove permissions of group and others from a data directory; return what keeps them.

    Covers the directory, its SQLite files and ``documents``. Files of other accounts are left
    alone, and so are file systems without permissions, such as a network share, where the mount
    options decide. Never raises.
    """
    if not data_dir.is_dir():
        return ()
    for path in _files_of(data_dir):
        _restrict(path)
    return readable_by_others(data_dir)


def readable_by_others(data_dir: Path) -> tuple[Path, ...]:
    """Return the paths open to group or others; none if the directory itself is closed."""
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

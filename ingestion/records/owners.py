"""Who works: a process on a host, by a name that tells others whether it still lives."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path


def owner_here() -> str:
    """Return a name of this process that no other gives itself: HOST/PROCESS/RANDOM."""
    return f"{_host()}/{os.getpid()}/{uuid.uuid4().hex}"


def is_dead(owner: str) -> bool:
    """Tell whether an owner is surely dead: its process was here, and is no more.

    Of another host nothing can be said, so False.
    """
    host, process, _ = owner.split("/")
    return host == _host() and process != str(os.getpid()) and not _runs(int(process))


def is_replaced(owner: str, ours: str) -> bool:
    """Tell whether another owner had our process number here: in a container each server is 1."""
    return owner != ours and owner.split("/")[:2] == ours.split("/")[:2]


def _host() -> str:
    """Name the host, and on it what process numbers are counted in: a container has its own."""
    try:
        counted_in = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        counted_in = ""
    return f"{socket.gethostname()}{counted_in}".replace("/", "_")


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

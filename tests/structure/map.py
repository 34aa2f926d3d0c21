"""Print the rooms, who imports whom, and the files that one answered question passes.

``python -m tests.structure.map [--functions]``
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from bot.observability.logs import set_up_logs
from tests.structure.source import PRODUCT, SourceFile, source_files
from tests.structure.trace import WAYS


def main() -> int:
    """Print the map; with ``--functions`` also which functions of each file are called."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", action="store_true", help="name the functions too")
    options = parser.parse_args()
    set_up_logs("error")
    print_rooms(source_files(*PRODUCT))
    for platform, traced in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            way = asyncio.run(traced(Path(folder)))
        print(f"\none question from {platform}: {len(way.functions)} files, {way.count} functions")
        for file, functions in way.functions.items():
            print(f"  {file} {len(functions)}")
            if options.functions:
                print(*(f"      {name}" for name in functions), sep="\n")
    return 0


def print_rooms(files: list[SourceFile]) -> None:
    """Print each room with the rooms that it imports, and by how many files."""
    rooms = sorted({file.room for file in files}, key=lambda room: (_top(room), room))
    for room in rooms:
        inside = [file for file in files if file.room == room]
        lines = sum(file.code_lines for file in inside)
        print(f"{room:<22} {len(inside):>3} files {lines:>6} lines")
        arrows = arrows_of(room, inside, rooms)
        if arrows:
            print("    -> " + ", ".join(f"{other} ({count})" for other, count in arrows))


def arrows_of(room: str, files: list[SourceFile], rooms: list[str]) -> list[tuple[str, int]]:
    """Return the rooms that these files import, with how many files do, most first."""
    known = set(rooms)
    counts: Counter[str] = Counter()
    for file in files:
        counts.update({_room_of(name, known) for name in file.imports} - {room})
    return counts.most_common()


def _room_of(name: str, rooms: set[str]) -> str:
    parts = name.split(".")
    nearest = ".".join(parts[:2])
    return nearest if nearest in rooms else parts[0]


def _top(room: str) -> int:
    return -PRODUCT.index(room.split(".", maxsplit=1)[0])


if __name__ == "__main__":
    raise SystemExit(main())

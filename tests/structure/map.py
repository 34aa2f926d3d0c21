"""Print the rooms, their sizes and who imports whom: ``python -m tests.structure.map``."""

from __future__ import annotations

from collections import Counter

from tests.structure.source import PRODUCT, SourceFile, source_files


def main() -> int:
    """Print each room with the rooms that it imports, and by how many files."""
    files = source_files(*PRODUCT)
    rooms = sorted({file.room for file in files}, key=lambda room: (_top(room), room))
    for room in rooms:
        inside = [file for file in files if file.room == room]
        lines = sum(file.code_lines for file in inside)
        print(f"{room:<22} {len(inside):>3} files {lines:>6} lines")
        arrows = arrows_of(room, inside, rooms)
        if arrows:
            print("    -> " + ", ".join(f"{other} ({count})" for other, count in arrows))
    return 0


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

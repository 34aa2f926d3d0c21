"""Print how large each room is: ``python -m tests.structure.size``.

Lines are those with code: neither blank, nor comment, nor docstring. Longest files count all lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import mean, quantiles

from tests.structure.source import PRODUCT, SourceFile, source_files

MOST_PROTOCOLS = 100
LONGEST_FILE = 400
LONG_FUNCTION = 25
"""Lines that nine of ten functions have at most."""

_HEAD = f"{'room':<22}{'files':>6}{'lines':>8}{'protocols':>11}{'longest file':>14}{'function':>10}"


def row(name: str, files: Sequence[SourceFile]) -> str:
    """Return the line of one room."""
    return (
        f"{name:<22}{len(files):>6}{sum(file.code_lines for file in files):>8}"
        f"{sum(file.protocols for file in files):>11}{max(file.lines for file in files):>14}"
        f"{max(file.longest_function for file in files):>10}"
    )


def ninth_decile(files: Sequence[SourceFile]) -> float:
    """Return how many lines nine of ten functions have at most."""
    return quantiles([lines for file in files for lines in file.function_lengths], n=10)[-1]


def _room(file: SourceFile) -> str:
    return file.room


def main() -> int:
    """Print a table by room, sums, and how the bounds of docs/adr/0019 are kept."""
    product, tests = source_files(*PRODUCT), source_files("tests")
    print(_HEAD)
    for room, files in groupby(sorted(product, key=_room), key=_room):
        print(row(room, list(files)))
    print(row("product", product))
    print(row("tests", tests))
    print(f"lines a file: {mean(file.lines for file in product):.0f} on average")
    print(f"protocols, at most {MOST_PROTOCOLS}: {sum(file.protocols for file in product)}")
    print(f"lines of nine in ten functions, at most {LONG_FUNCTION}: {ninth_decile(product):.0f}")
    long = sorted((file for file in product if file.lines > LONGEST_FILE), key=lambda f: -f.lines)
    print(f"files over {LONGEST_FILE} lines: {len(long)}")
    for file in long:
        print(f"  {file.path} {file.lines}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

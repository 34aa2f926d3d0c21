"""Print how large each room is: ``python -m tests.structure.size``.

Lines are those with code: neither blank, nor comment, nor docstring. Longest files count all lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tests.structure.source import PRODUCT, SourceFile, source_files

MOST_PRODUCT_FILES = 420
MOST_TEST_FILES = 560
MOST_PROTOCOLS = 100
LONGEST_FILE = 400
LINES_BEFORE = {"product": 59_282, "tests": 89_099}
"""Lines of code before the rooms of docs/adr/0017 (849 and 1,034 files)."""

_HEAD = f"{'room':<22}{'files':>6}{'lines':>8}{'protocols':>11}{'longest file':>14}{'function':>10}"


def row(name: str, files: Sequence[SourceFile]) -> str:
    """Return the line of one room."""
    return (
        f"{name:<22}{len(files):>6}{sum(file.code_lines for file in files):>8}"
        f"{sum(file.protocols for file in files):>11}{max(file.lines for file in files):>14}"
        f"{max(file.longest_function for file in files):>10}"
    )


def _room(file: SourceFile) -> str:
    return file.room


def main() -> int:
    """Print a table by room, sums, and how the aims stand."""
    product, tests = source_files(*PRODUCT), source_files("tests")
    print(_HEAD)
    for room, files in groupby(sorted(product, key=_room), key=_room):
        print(row(room, list(files)))
    print(row("product", product))
    print(row("tests", tests))
    for name, all_files in (("product", product), ("tests", tests)):
        lines, before = sum(file.code_lines for file in all_files), LINES_BEFORE[name]
        print(f"lines of {name} before the rooms {before}: {lines}, {lines / before:.1%}")
    protocols = sum(file.protocols for file in product)
    long = sorted((file for file in product if file.lines > LONGEST_FILE), key=lambda f: -f.lines)
    print(f"product files at most {MOST_PRODUCT_FILES}: {len(product)}")
    print(f"test files at most {MOST_TEST_FILES}: {len(tests)}")
    print(f"protocols of the product at most {MOST_PROTOCOLS}: {protocols}")
    print(f"files of the product over {LONGEST_FILE} lines: {len(long)}")
    for file in long:
        print(f"  {file.path} {file.lines}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Read the project's Python files: their room, their lines of code, their imports."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("prompts", "rag", "ingestion", "bot")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """One Python file, by its path below the root."""

    path: str

    @property
    def module(self) -> str:
        """Its dotted name; that of a package for its ``__init__``."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def room(self) -> str:
        """The package below the top level, such as ``bot.inbox``; the top level for loose files."""
        parts = self.path.split("/")
        return ".".join(parts[: 2 if len(parts) > 2 else 1])

    @cached_property
    def text(self) -> str:
        return (ROOT / self.path).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def code_lines(self) -> int:
        """Lines that hold code: neither blank, nor comment, nor docstring."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
        return len(lines - self._documentation())

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def protocols(self) -> int:
        """How many Protocols it defines."""
        return sum(
            any(ast.unparse(base).startswith("Protocol") for base in node.bases)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef)
        )

    @property
    def longest_function(self) -> int:
        """Lines of its longest function, from ``def`` to its end; 0 without one."""
        return max(self.function_lengths, default=0)

    @cached_property
    def function_lengths(self) -> tuple[int, ...]:
        """Lines of each function, from ``def`` to its end."""
        return tuple(_length(node) for node in self._functions())

    @property
    def imports(self) -> frozenset[str]:
        """The product's modules and packages that it imports, wherever in the file."""
        return frozenset(name for name in self._imported() if name.split(".")[0] in PRODUCT)

    def _imported(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)

    def _functions(self) -> Iterator[Function]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def _documentation(self) -> set[int]:
        """Lines of strings that stand for themselves: docstrings, also those below constants."""
        return {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }


def source_files(*tops: str) -> list[SourceFile]:
    """Return all Python files below these folders, in the order of their paths."""
    return [
        SourceFile(str(path.relative_to(ROOT)))
        for top in tops
        for path in sorted((ROOT / top).rglob("*.py"))
    ]


def _length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1

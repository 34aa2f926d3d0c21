"""End the help text of each command with an example and the exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

EXIT_CODES = "exit codes: 0 done; 1 done, with failures; 2 refused: usage or a setting; 130 stopped"


def add_examples(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    examples: Mapping[str, str],
    prog: str,
) -> None:
    """Add the example of each command, which follows the program's name, and the exit codes.

    Raises KeyError for a command without an example.
    """
    for name, parser in commands.choices.items():
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = f"example:\n  {prog} {examples[name]}\n\n{EXIT_CODES}"

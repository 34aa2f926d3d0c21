"""Read Bicep by a grammar of its language, and the settings' names as the programs read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_bicep
from pydantic_settings import BaseSettings
from tree_sitter import Language, Node, Parser

from bot.domain.settings import Settings as BotSettings
from ingestion.config import Settings as IngestionSettings

ROOT = Path(__file__).parents[2]
AZURE = ROOT / "infra" / "azure"
FILES = (AZURE / "main.bicep", *sorted((AZURE / "modules").glob("*.bicep")))


@dataclass(frozen=True, slots=True)
class Bicep:
    """One file, parsed."""

    path: Path
    root: Node

    @property
    def broken(self) -> bool:
        return self.root.has_error

    def params(self) -> Mapping[str, bool]:
        """Return the parameters, and of each whether it has to be given."""
        found = {}
        for node in self.root.children:
            if node.type == "parameter_declaration":
                # Its name and its type, and what it is unless it is given.
                found[words(node.named_children[0])] = len(node.named_children) == 2
        return found

    def declared(self, kind: str) -> Mapping[str, Node]:
        """Return the declarations of a kind (``module``, ``resource``, ``output``) by name."""
        wanted = f"{kind}_declaration"
        return {
            words(node.named_children[0]): node
            for node in self.root.children
            if node.type == wanted
        }

    def default(self, name: str) -> Node:
        """Return what a parameter is unless it is given."""
        return next(
            node.named_children[-1]
            for node in self.root.children
            if node.type == "parameter_declaration" and words(node.named_children[0]) == name
        )

    def leads_to(self, node: Node, condition: str, *, holds: bool) -> Iterator[str]:
        """Yield all strings, numbers and names that a value is made of, through variables.

        Of ``condition ? one : other`` it is the first if the condition ``holds``, else the second.
        """
        if node.type == "ternary_expression" and words(node.named_children[0]) == condition:
            yield from self.leads_to(node.named_children[1 if holds else 2], condition, holds=holds)
            return
        if node.type in {"string", "number", "identifier"}:
            yield words(node)
        if node.type == "identifier" and words(node) in self._variables():
            yield from self.leads_to(self.variable(words(node)), condition, holds=holds)
        children = node.named_children
        if node.type == "object_property":
            # A key may be called as a variable is.
            yield words(children[0])
            children = children[1:]
        for child in children:
            yield from self.leads_to(child, condition, holds=holds)

    def _variables(self) -> set[str]:
        return {
            words(node.named_children[0])
            for node in self.root.children
            if node.type == "variable_declaration"
        }

    def variable(self, name: str) -> Node:
        return next(
            node.named_children[1]
            for node in self.root.children
            if node.type == "variable_declaration" and words(node.named_children[0]) == name
        )


def read(path: Path) -> Bicep:
    """Parse a file; what the grammar does not know is there as an error."""
    return Bicep(
        path, Parser(Language(tree_sitter_bicep.language())).parse(path.read_bytes()).root_node
    )


def words(node: Node) -> str:
    """Return a node's text, a string's without its quotes."""
    return (node.text or b"").decode().strip("'")


def within(node: Node, kind: str) -> Iterator[Node]:
    """Yield the nodes of a kind at and below a node."""
    if node.type == kind:
        yield node
    for child in node.children:
        yield from within(child, kind)


def properties(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield every name and value of the objects at and below a node."""
    for each in within(node, "object_property"):
        named = each.named_children
        if len(named) == 2:
            yield words(named[0]), named[1]


def entries(node: Node) -> Iterator[dict[str, str]]:
    """Yield the objects of a list as text."""
    for each in within(node, "object"):
        yield {name: words(value) for name, value in properties(each)}


def names_of(settings: type[BaseSettings]) -> frozenset[str]:
    return frozenset((field.alias or name).upper() for name, field in settings.model_fields.items())


BOT_VARIABLES = names_of(BotSettings)
INGESTION_VARIABLES = names_of(IngestionSettings)
AZURE_IDENTITY_VARIABLES = frozenset({"AZURE_CLIENT_ID", "AZURE_TOKEN_CREDENTIALS"})
"""Read by azure-identity: which identity a container has, and that there is no other way in."""

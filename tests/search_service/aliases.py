"""Aliases: a second name of exactly one index. A swap can be kept from being seen for a while."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from tests.search_service.errors import Json, Refused, bad_parameter, not_found
from tests.search_service.schema import check_name


@dataclass(slots=True)
class Aliases:
    """All aliases. Args: supported: False answers 404, as services did that had none; or 400.

    held: While true, documents go where an alias led before: swaps take their time.
    """

    supported: bool = True
    refusal: int = 404
    held: bool = False
    _written: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> str:
        """Return the index that a name stands for; itself where it is no alias."""
        if not self.held:
            self._seen = dict(self._written)
        return self._seen.get(name, name)

    def leads_to(self, index: str) -> bool:
        return index in self._written.values()

    def check_supported(self) -> None:
        if not self.supported:
            raise Refused(self.refusal, "", "Aliases are not known to this version of the service.")

    def put(self, name: str, body: Json, indexes: Container[str]) -> tuple[bool, Json]:
        """Create or move an alias; return whether it is new, and the alias."""
        check_name(name)
        led = body.get("indexes") or []
        if len(led) != 1:
            raise bad_parameter(f"An alias leads to exactly one index, {name!r} to {len(led)}.")
        if name in indexes:
            raise bad_parameter(f"There is an index with the name of the alias {name!r}.")
        if led[0] not in indexes:
            raise bad_parameter(f"The index {led[0]!r} of the alias {name!r} does not exist.")
        new = name not in self._written
        self._written[name] = led[0]
        return new, self._shown(name)

    def get(self, name: str) -> Json:
        if name not in self._written:
            raise not_found("alias", name)
        return self._shown(name)

    def list(self) -> Json:
        return {"value": [self._shown(name) for name in sorted(self._written)]}

    def delete(self, name: str) -> None:
        if self._written.pop(name, None) is None:
            raise not_found("alias", name)

    def _shown(self, name: str) -> Json:
        return {"name": name, "indexes": [self._written[name]]}

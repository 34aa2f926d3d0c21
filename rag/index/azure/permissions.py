"""Who may read a document, as flat fields and as the filter that asks them. Pure; fails closed.

The service has no sets of sets. A document's sets of readers lie in as many fields, all of which
must be met. A field that a document does not need holds what every question names; nobody is what
no question names. The first field is always needed, so that there ``EVERY`` is not named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import quote

from rag.readers import least
from rag.types import Principal, Readers

FIELDS = tuple(f"readers_{number}" for number in range(1, 6))

EVERY = "*"
NOBODY = "!"
_EMPTY = "%"
"""Neither these three nor the delimiter is what any principal is written as."""

_DELIMITER = "|"
_USER = "user:"

Sets = list[frozenset[Principal]]


def fields_of(readers: Readers) -> Mapping[str, list[str]]:
    """Return the permission fields of a document, by name."""
    kept = _fitting(readers)
    if not kept:
        return {field: [NOBODY] for field in FIELDS}
    values = [sorted(map(_written, names)) for names in kept]
    values += [[EVERY]] * (len(FIELDS) - len(kept))
    return dict(zip(FIELDS, values, strict=True))


def readable_by(principals: Collection[Principal]) -> str:
    """Return the filter for documents of which each set of readers holds a principal."""
    names = sorted(map(_written, principals))
    first, *others = FIELDS
    return " and ".join([_any(first, names), *(_any(field, [*names, EVERY]) for field in others)])


def _any(field: str, names: Iterable[str]) -> str:
    return f"{field}/any(p: search.in(p, '{_DELIMITER.join(names)}', '{_DELIMITER}'))"


def _fitting(readers: Readers) -> Sets:
    """Return at most as many sets as there are fields, that let in nobody else; none: nobody.

    Where they are too many, sets of people alone become those who are in all of them. That keeps
    out one who is in each under another name, and lets in nobody.
    """
    kept = _least(readers)
    if len(kept) > len(FIELDS):
        people = [names for names in kept if all(name.startswith(_USER) for name in names)]
        others = [names for names in kept if names not in people]
        kept = _least([*others, frozenset.intersection(*people)]) if people else others
    return kept if len(kept) <= len(FIELDS) else []


def _least(readers: Iterable[frozenset[Principal]]) -> Sets:
    """Return the sets that no smaller one implies, in one order; none where one is empty."""
    kept = least(readers)
    return kept if all(kept) else []


def _written(principal: Principal) -> str:
    """Return the principal with nothing in it that a filter or a delimiter is made of."""
    return quote(principal, safe=":@", errors="surrogatepass") or _EMPTY

"""``make texts``: gather the texts of the product, merge them into each language, compile.

Says how many are untranslated in each language.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from bot.domain.texts import FOLDER, NUMBER

ROOT = Path(__file__).parents[2]
SOURCES = ("bot", "rag", "ingestion")
PYTHON = {"tr": None, "trn": (1, 2), "marked": None}
TEMPLATES = {"_": None, "_n": (1, 2)}

Forms = str | tuple[str, ...] | list[str]
"""A message, or its singular and plural."""


def sources() -> Iterator[Path]:
    """Yield the files that may have texts, in a stable order."""
    for package in SOURCES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".html"):
                yield path


def extracted() -> Catalog:
    """Return the texts of the sources."""
    found = Catalog(charset="utf-8")
    found.add(NUMBER, locations=[("bot/domain/texts/__init__.py", 0)])
    for path in sources():
        template = path.suffix == ".html"
        method = "jinja2.ext:babel_extract" if template else "python"
        keywords = TEMPLATES if template else PYTHON
        place = path.relative_to(ROOT).as_posix()
        for _, message, _, _ in extract_from_file(method, path, keywords):
            found.add(message, locations=[(place, 0)])
    return found


def read_language(path: Path) -> Catalog:
    """Return the catalogue of a language."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def untranslated(catalog: Catalog) -> list[Forms]:
    """Return the ids of the messages without a translation, or with one in doubt."""
    return [each.id for each in catalog if each.id and (each.fuzzy or not all(forms(each.string)))]


def forms(texts: Forms | None) -> tuple[str, ...]:
    """Return the singular and plural of a message; one empty text where nothing was written."""
    return tuple(texts) if isinstance(texts, (tuple, list)) else (texts or "",)


def compiled(catalog: Catalog) -> bytes:
    """Return the bytes of a language's ``.mo`` file."""
    written = io.BytesIO()
    write_mo(written, catalog)
    return written.getvalue()


def written(catalog: Catalog) -> bytes:
    """Return the bytes of a language's ``.po`` file."""
    into = io.BytesIO()
    write_po(
        into,
        catalog,
        width=100,
        omit_header=False,
        sort_output=True,
        ignore_obsolete=True,
        include_lineno=False,
    )
    return into.getvalue()


def main() -> None:
    """Merge what the sources say into each language, compile it and count."""
    found = extracted()
    for path in sorted(FOLDER.glob("*.po")):
        catalog = read_language(path)
        catalog.update(found, no_fuzzy_matching=True, update_creation_date=False)
        path.write_bytes(written(catalog))
        path.with_suffix(".mo").write_bytes(compiled(catalog))
        print(f"{path.stem}: {len(catalog)} texts, {len(untranslated(catalog))} untranslated")


if __name__ == "__main__":
    main()

"""A folder of files as a source: what is listed, read and refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ingestion.errors import PageUnreadable, SourceUnavailable
from ingestion.folder import FolderSource
from ingestion.types import Listing, SourcePage
from rag.types import EVERYONE

ALL = (frozenset({EVERYONE}),)
HR = (frozenset({"group:hr"}),)


def source(root: Path, base_url: str | None = None) -> FolderSource:
    return FolderSource(root, space="HR", readers=ALL, base_url=base_url)


def put(root: Path, name: str, content: str | bytes = "Text") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


async def listed(root: Path, base_url: str | None = None) -> Listing:
    return await source(root, base_url).list()


def reasons(listing: Listing) -> dict[str, str]:
    return {finding.page: finding.reason for finding in (*listing.skipped, *listing.failed)}


async def only(root: Path, base_url: str | None = None) -> SourcePage:
    (page,) = (await listed(root, base_url)).pages
    return page


async def test_page_ids_are_paths_below_the_folder(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.PDF", "a/b/d.Html", "ü x.txt", "e.mdx", "f.docx", "g.htm"):
        put(tmp_path, name)

    ids = [page.id for page in (await listed(tmp_path)).pages]

    assert ids == ["a/b/d.Html", "a/c.PDF", "b.md", "e.mdx", "f.docx", "g.htm", "ü x.txt"]


async def test_addresses_are_encoded_and_keep_the_ending(tmp_path: Path) -> None:
    put(tmp_path, "a b/ü#1?.md")

    assert (await only(tmp_path)).url == "/pages/HR/a%20b/%C3%BC%231%3F.md"
    assert (await only(tmp_path, "https://wiki.example.com/hr")).url == (
        "https://wiki.example.com/hr/a%20b/%C3%BC%231%3F.md"
    )


async def test_front_matter_may_name_another_address_and_other_readers(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nurl: https://w.example.com/a\nreaders: [group:hr]\n---\nText")

    page = await only(tmp_path, "https://W.example.com:443/hr/")

    assert (page.url, page.readers) == ("https://w.example.com/a", HR)


async def test_front_matter_may_name_a_path_on_this_server(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nurl: /pages/HR/b.md\n---\nText")

    assert (await only(tmp_path)).url == "/pages/HR/b.md"


@pytest.mark.mended(id="attack-6")
@pytest.mark.parametrize("base", [None, "/wiki", "https://wiki.acme.example/it"])
@pytest.mark.parametrize(
    "url",
    [
        "https://payroll.evil.example/login",
        "http://wiki.acme.example/it",
        "https://wiki.acme.example:8443/it",
        "https://wiki.acme.example@evil.example/",
        "https://ann@wiki.acme.example/",
        "https://wiki.acme.example.evil.example/",
        "https:///evil.example",
    ],
)
async def test_front_matter_can_not_lead_sources_elsewhere(
    tmp_path: Path, url: str, base: str | None
) -> None:
    put(tmp_path, "a.md", f"---\nurl: {url}\n---\nText")
    plain = tmp_path / "plain"
    put(plain, "a.md")

    listing = await listed(tmp_path, base)
    (page, _) = listing.pages

    assert page.url == (await only(plain, base)).url
    assert [note.page for note in listing.notes] == ["a.md"]
    assert "was ignored" in listing.notes[0].reason


async def test_half_a_character_in_front_matter_stops_no_listing(tmp_path: Path) -> None:
    inside = 'title: "\\ud835\\udc00 \\ud835"\nasked_as: ["\\udc00"]\nlabels: ["\\ud835"]'
    put(tmp_path, "a.md", f"---\n{inside}\n---\nText")

    (page,) = (await listed(tmp_path)).pages

    assert page.ancestors == ("\ufffd",)


async def test_malformed_readers_mean_nobody_and_are_listed(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nreaders: hr\n---\nText")

    listing = await listed(tmp_path)

    assert listing.pages[0].readers == ()
    assert "nobody may read" in listing.notes[0].reason


async def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    for name in (".git/config.md", ".secret.md", "a/.b/c.md"):
        put(tmp_path, name)

    assert await listed(tmp_path) == Listing(())


async def test_other_types_are_listed_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    put(tmp_path, "Makefile")

    assert reasons(await listed(tmp_path)) == {
        "a.png": "files of type .png are not read",
        "Makefile": "files without an ending are not read",
    }


async def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    put(outside, "secret.md", "Secret")
    root.mkdir()
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "dir").symlink_to(outside)
    (root / "broken.md").symlink_to(root / "nowhere.md")
    (root / "loop").symlink_to(root)
    (root / "self.md").symlink_to(root / "self.md")

    listing = await listed(root)

    assert listing.pages == ()
    assert reasons(listing) == {
        "file.md": "symbolic link leaves the folder",
        "dir": "symbolic link leaves the folder",
        "broken.md": "symbolic link leads nowhere",
        "loop": "symbolic link to a folder; its pages are indexed where they are",
        "self.md": "symbolic link leads nowhere",
    }


async def test_a_link_to_a_file_inside_is_a_page(tmp_path: Path) -> None:
    put(tmp_path, ".data/a.md", "Inside")
    (tmp_path / "a.md").symlink_to(tmp_path / ".data" / "a.md")

    page = await only(tmp_path)

    assert (await source(tmp_path).read(page)).blocks[0].text == "Inside"  # type: ignore[union-attr]


async def test_a_link_that_is_turned_outward_after_listing_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "a.md", "Inside")
    put(tmp_path, "secret.md", "Secret")
    page = await only(root)
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(PageUnreadable, match="no plain file of the folder"):
        await source(root).read(page)


@pytest.mark.parametrize("page_id", ["../secret.md", "/etc/passwd", "a/../../secret.md", "x\0.md"])
async def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path, page_id: str) -> None:
    root = tmp_path / "root"
    put(root, "a.md")
    put(tmp_path, "secret.md", "Secret")
    page = replace(await only(root), id=page_id)

    with pytest.raises(PageUnreadable):
        await source(root).read(page)


async def test_a_page_whose_readers_changed_since_it_was_listed_is_left_to_the_next_run(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a.md", "Old")
    page = await only(tmp_path)
    put(tmp_path, "a.md", "---\nreaders: group:hr\n---\nSecret")

    with pytest.raises(PageUnreadable, match="other readers"):
        await source(tmp_path).read(page)


async def test_large_files_are_listed_and_not_read(tmp_path: Path) -> None:
    put(tmp_path, "big.md", b"x" * (1024 * 1024 + 1))
    put(tmp_path, "small.md", b"x" * (1024 * 1024))

    small = FolderSource(tmp_path, space="HR", readers=ALL, largest=1024 * 1024)
    listing = await small.list()

    assert [page.id for page in listing.pages] == ["small.md"]
    assert reasons(listing) == {"big.md": "larger than 1 MB (1.0 MB)"}


async def test_a_pipe_named_like_a_page_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    assert reasons(await listed(tmp_path)) == {"pipe.md": "is no plain file of the folder"}


async def test_binary_content_fails_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.md", bytes(range(256)) * 40)

    listing = await listed(tmp_path)

    assert [finding.page for finding in listing.failed] == ["a.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_unreadable_files_and_folders_fail_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    put(tmp_path, "b/c.md")
    (tmp_path / "a.md").chmod(0)
    (tmp_path / "b").chmod(0)

    assert set(reasons(await listed(tmp_path))) == {"a.md", "b/"}


async def test_a_folder_that_cannot_be_listed_stands_for_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.md")
    put(tmp_path, "b/c.md")
    scan = os.scandir

    def refuse(path: Path) -> Iterator[os.DirEntry[str]]:
        if path.name == "b":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = await listed(tmp_path)

    assert [page.id for page in listing.pages] == ["a.md"]
    assert reasons(listing) == {"b/": "cannot be listed: Permission denied"}


async def test_names_that_are_no_unicode_are_listed(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"bad\xff.md"))

    assert reasons(await listed(tmp_path)) == {
        "bad\\udcff.md": "its name is not valid UTF-8; rename it"
    }


async def test_folders_are_named_by_their_index_page_or_their_name(tmp_path: Path) -> None:
    put(tmp_path, "it_help/index.md", "---\ntitle: IT desk\n---\nText")
    put(tmp_path, "it_help/vpn_tools/a.md")
    put(tmp_path, "hr/README.md", "# Human resources\n\nText")
    put(tmp_path, "hr/a.md")

    ancestors = {page.id: page.ancestors for page in (await listed(tmp_path)).pages}

    assert ancestors == {
        "it_help/index.md": (),
        "it_help/vpn_tools/a.md": ("IT desk", "Vpn tools"),
        "hr/README.md": (),
        "hr/a.md": ("Human resources",),
    }


async def version(root: Path, content: str | bytes, name: str = "a.md") -> str:
    put(root, name, content)
    return (await only(root)).version


async def test_the_version_follows_all_that_shapes_a_page_but_not_its_readers(
    tmp_path: Path,
) -> None:
    plain = await version(tmp_path, "---\ntitle: A\n---\nText")

    assert await version(tmp_path, "---\ntitle: A\n---\nText") == plain
    assert await version(tmp_path, "---\ntitle: A\nreaders: group:hr\n---\nText") == plain
    assert await version(tmp_path, "---\ntitle: B\n---\nText") != plain
    assert await version(tmp_path, "---\ntitle: A\n---\nText!") != plain
    assert await version(tmp_path, "---\ntitle: A\nupdated: 2024-01-01\n---\nText") != plain
    assert await version(tmp_path, "---\ntitle: A\nlabels: [x]\n---\nText") != plain


async def test_the_version_follows_address_and_ancestors(tmp_path: Path) -> None:
    put(tmp_path, "a/b.md")
    first = (await listed(tmp_path)).pages[0].version
    moved = (await listed(tmp_path, "https://w.example.com/")).pages[0].version
    put(tmp_path, "a/index.md", "# Named")
    named = (await listed(tmp_path)).pages[0].version

    assert len({first, moved, named}) == 3


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="no folder"):
        await listed(tmp_path / "nowhere")


async def test_a_file_that_vanishes_after_listing_is_unreadable(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    page = await only(tmp_path)
    (tmp_path / "a.md").unlink()

    with pytest.raises(PageUnreadable, match="cannot be read"):
        await source(tmp_path).read(page)

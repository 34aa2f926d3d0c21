"""The embedder's model, optimized once and mapped into memory from files."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from errno import EACCES
from pathlib import Path, PosixPath
from typing import NoReturn

import numpy as np
import pytest

from rag.models.local_embedder import MiniLM
from rag.models.model_files import TOKENIZER, WEIGHTS, find_model_file

TEXT = "How do I reset my VPN password?"


def network(cache: Path | None) -> MiniLM:
    return MiniLM(find_model_file(WEIGHTS), find_model_file(TOKENIZER), cache)


def folders(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir()]


def test_a_mapped_model_gives_the_same_vectors(tmp_path: Path) -> None:
    in_memory = network(None).read(TEXT)

    for _ in ("written", "read back"):
        mapped = network(tmp_path / "cache").read(TEXT)
        np.testing.assert_array_equal(mapped.states, in_memory.states)


def test_it_is_optimized_once(tmp_path: Path) -> None:
    network(tmp_path)
    (folder,) = tmp_path.iterdir()
    before = folder.stat().st_ino

    network(tmp_path)

    assert folder.stat().st_ino == before


@pytest.mark.parametrize("name", ["model.onnx", "model.weights"])
@pytest.mark.parametrize("damage", ["cut", "absent"])
def test_a_damaged_folder_is_replaced(tmp_path: Path, name: str, damage: str) -> None:
    expected = network(tmp_path).read(TEXT)
    (folder,) = tmp_path.iterdir()
    file = folder / name
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])

    np.testing.assert_array_equal(network(tmp_path).read(TEXT).states, expected.states)
    assert file.read_bytes() == content


@pytest.mark.parametrize("broken", ["a file", "a folder that may not be searched"])
def test_without_a_usable_folder_it_stays_in_memory(tmp_path: Path, broken: str) -> None:
    cache: Path = Unsearchable(tmp_path / "cache")
    if broken == "a file":
        cache = tmp_path / "cache"
        cache.write_text("a file")

    assert network(cache).read(TEXT).states.shape[1] == 384


class Unsearchable(PosixPath):
    """A folder of another account: root, as whom tests may run, could search it."""

    def stat(self, *, follow_symlinks: bool = True) -> NoReturn:
        raise PermissionError(EACCES, "Permission denied", str(self))


@pytest.mark.parametrize(("days", "left"), [(2, 0), (0, 2)])
def test_old_folders_of_other_versions_are_removed(tmp_path: Path, days: int, left: int) -> None:
    names = {"0123456789abcdef-1.0.0-x86_64", "unfinished-x1"}
    for name in (*names, "of-another-program"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - days * 86400,) * 2)

    network(tmp_path)

    assert "of-another-program" in folders(tmp_path)
    assert len(names & {*folders(tmp_path)}) == left
    assert any(name.startswith(WEIGHTS.sha256[:16]) for name in folders(tmp_path))


def test_several_servers_may_begin_at_once(tmp_path: Path) -> None:
    expected = network(None).read(TEXT).states

    with ThreadPoolExecutor(3) as threads:
        opening = [threads.submit(network, tmp_path) for _ in range(3)]

    for each in opening:
        np.testing.assert_array_equal(each.result().read(TEXT).states, expected)
    assert len(folders(tmp_path)) == 1

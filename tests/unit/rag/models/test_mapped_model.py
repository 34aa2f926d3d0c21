"""The embedder's model, optimized once and mapped into memory from files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag.models.local_embedder import TOKENIZER, WEIGHTS, MiniLM, find_model_file
from rag.models.mapped_model import open_session

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


def test_without_a_writable_folder_it_stays_in_memory(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")

    assert network(tmp_path / "cache").read(TEXT).states.shape[1] == 384


def test_the_folder_of_another_version_is_removed(tmp_path: Path) -> None:
    (tmp_path / "0123-1.0.0-x86_64").mkdir()

    network(tmp_path)

    assert len(folders(tmp_path)) == 1
    assert folders(tmp_path)[0].startswith(WEIGHTS.sha256[:16])


def test_several_servers_may_begin_at_once(tmp_path: Path) -> None:
    weights = find_model_file(WEIGHTS)

    with ThreadPoolExecutor(3) as threads:
        opening = [
            threads.submit(open_session, weights, tmp_path, fingerprint="same") for _ in range(3)
        ]

    assert [each.result().get_providers() for each in opening] == [["CPUExecutionProvider"]] * 3
    assert len(folders(tmp_path)) == 1

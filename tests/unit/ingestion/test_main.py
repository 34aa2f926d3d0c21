"""The command line of ingestion: folders, uploads, exit codes and what is printed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingestion.__main__ import main
from ingestion.records.leases import file_lease
from rag.errors import ModelFilesInvalid
from tests.fakes.ingestion import encrypted, pdf, word
from tests.sweeps.sizes import sizes

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTDESK_DATA_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("FRONTDESK_TENANT", "acme")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEveryone has thirty days of leave each year.\n")
    (folder / "pay.md").write_text("---\nreaders: [group:hr]\n---\n# Pay\n\nOn Friday.\n")
    (folder / "vpn.pdf").write_bytes(pdf(("Install the client first.",)))
    (folder / "travel.docx").write_bytes(word(("Normal", "Book by train.")))
    return folder


def rows(tmp_path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(tmp_path / "state" / "index.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_a_folder_is_indexed_listed_and_forgotten(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["folder", str(docs), "--space", "HR"]) == 0
    assert "Space HR: 4 added" in capsys.readouterr().out
    assert rows(tmp_path, "SELECT count(*) FROM vectors") == [(4,)]

    assert main(["folder", str(docs), "--space", "HR"]) == 0
    assert "0 embedded" in capsys.readouterr().out

    assert main(["spaces"]) == 0
    assert capsys.readouterr().out == "HR: 4 pages, 4 chunks\n"

    assert main(["forget", "HR"]) == 2
    assert "Run again with --yes" in capsys.readouterr().err
    assert main(["forget", "HR", "--yes"]) == 0
    assert capsys.readouterr().out == "Removed 4 pages of space 'HR'.\n"
    assert main(["forget", "HR", "--yes"]) == 2


def test_readers_and_addresses_are_as_asked_for(docs: Path, tmp_path: Path) -> None:
    options = ["--readers", "group:it,user:ann", "--base-url", "https://wiki.example.com/hr/"]

    assert main(["folder", str(docs), "--space", "HR", *options]) == 0

    kept = rows(
        tmp_path,
        "SELECT url, readers FROM chunks JOIN places ON places.chunk = chunks.number "
        "JOIN scopes ON scopes.id = places.scope WHERE title IN ('Leave', 'Pay') ORDER BY url",
    )
    assert [url for url, _ in kept] == [
        "https://wiki.example.com/hr/leave.md",
        "https://wiki.example.com/hr/pay.md",
    ]
    assert "group:it" in str(kept[0][1])
    assert "user:ann" in str(kept[0][1])
    assert "group:hr" in str(kept[1][1])
    assert "group:it" not in str(kept[1][1])


def test_a_dry_run_on_nothing_leaves_nothing(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["folder", str(docs), "--space", "HR", "--dry-run"]) == 0

    assert "would be 4 added" in capsys.readouterr().out
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("command", "step"), [("spaces", "python -m ingestion folder"), ("status", "sync --all")]
)
def test_where_there_is_nothing_yet_the_next_step_is_named(
    command: str, step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0

    assert step in capsys.readouterr().out
    assert not (tmp_path / "state" / "index.sqlite").exists()


def test_an_unreadable_file_is_exit_code_1_and_the_rest_is_indexed(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-")

    assert main(["folder", str(docs), "--space", "HR"]) == 1

    out = capsys.readouterr().out
    assert "4 added" in out
    assert "Failed: broken.pdf: is a broken PDF" in out


def test_the_brake_is_exit_code_2_with_the_cure(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        (docs / f"{number}.md").write_text(f"Text {number}")
    main(["folder", str(docs), "--space", "HR"])
    for number in range(6):
        (docs / f"{number}.md").unlink()

    assert main(["folder", str(docs), "--space", "HR"]) == 2
    assert "--allow-mass-delete" in capsys.readouterr().err
    assert main(["folder", str(docs), "--space", "HR", "--allow-mass-delete"]) == 0
    assert "6 removed" in capsys.readouterr().out


def test_a_second_run_on_a_space_is_exit_code_2(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with file_lease(tmp_path / "state", "acme", "HR"):
        assert main(["folder", str(docs), "--space", "HR"]) == 2

    assert "Another run works on space 'HR'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["folder"],
        ["folder", "docs"],
        ["folder", "docs", "--space", "../x"],
        ["folder", "docs", "--space", ""],
        ["folder", "docs", "--space", "HR", "--readers", "hr"],
        ["folder", "docs", "--space", "HR", "--base-url", "javascript:x"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)

    assert stopped.value.code == 2


def test_a_wrong_setting_is_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FRONTDESK_TENANT", "Acme Corp")

    assert main(["spaces"]) == 2
    assert capsys.readouterr().err.startswith("FRONTDESK_TENANT='Acme Corp' is wrong")


def test_a_damaged_index_is_exit_code_1_with_the_cure(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "index.sqlite").write_bytes(b"no database" * 100)

    assert main(["folder", str(docs), "--space", "HR"]) == 1
    assert "Move the file away" in capsys.readouterr().err


def test_absent_weights_mean_keywords_alone_and_a_warning(
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def absent(**_: object) -> None:
        raise ModelFilesInvalid("The weights are not there; install them.")

    monkeypatch.setattr("rag.models.local_embedder.open_local_embedder", absent)

    assert main(["folder", str(docs), "--space", "HR"]) == 0

    shown = capsys.readouterr()
    assert "Warning: The weights are not there; install them." in shown.err
    assert "Warning: No embedder" in shown.out
    assert rows(tmp_path, "SELECT count(*) FROM chunks") == [(4,)]
    assert rows(tmp_path, "SELECT count(*) FROM vectors") == [(0,)]


CONTENT = """
SELECT chunks.id, ordinal, title, section, breadcrumb, text, url, document_page, labels,
       pages.id, pages.version, scopes.readers, vectors.vector
FROM chunks JOIN places ON places.chunk = chunks.number JOIN pages ON pages.number = places.page
JOIN scopes ON scopes.id = places.scope JOIN vectors ON vectors.chunk = chunks.number
ORDER BY chunks.id
"""


def started(docs: Path, state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ingestion", "folder", str(docs), "--space", "HR"],
        cwd=state.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FRONTDESK_DATA_DIR": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def indexed(state: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(state / "index.sqlite")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        connection.rollback()
        return connection.execute(CONTENT).fetchall()
    finally:
        connection.close()


def wait_for_pages(state: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Return once the run has written so many pages, or has ended."""
    while process.poll() is None:
        if (state / "index.sqlite").exists():
            connection = sqlite3.connect(state / "index.sqlite")
            try:
                (pages,) = connection.execute("SELECT count(*) FROM pages").fetchone()
            except sqlite3.OperationalError:
                pages = 0
            finally:
                connection.close()
            if pages >= count:
                return
        time.sleep(0.01)


@sizes("kills", smoke=1, whole=20)
def test_a_killed_run_leaves_whole_pages_and_the_next_one_ends_like_a_fresh_one(
    kills: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs, state, fresh = tmp_path / "many", tmp_path / "state", tmp_path / "fresh"
    docs.mkdir()
    dice = random.Random(11)  # noqa: S311  # moments to kill at
    kept: set[object] = set()
    for number in range(24):
        steps = "".join(f"## Step {n}\n\n{f'part {n} of {number} ' * 22}\n\n" for n in range(2))
        (docs / f"{number:02}.md").write_text(f"# Page {number}\n\n{steps}")

    tries = 20
    while tries and kills:
        tries -= 1
        with started(docs, state) as process:
            wait_for_pages(state, len(kept) + 1, process)
            time.sleep(dice.random() / 20)
            process.kill()
        pages = [row[9] for row in indexed(state)]
        assert all(pages.count(page) == 2 for page in pages)
        if len(set(pages)) < 24:
            kept, kills = set(pages), kills - 1
        elif kept:
            break
        else:  # too fast to be killed in the middle: once more from nothing
            shutil.rmtree(state)
    assert 0 < len(kept) < 24, "no run was killed in the middle"

    for target in (state, fresh):
        monkeypatch.setenv("FRONTDESK_DATA_DIR", str(target))
        assert main(["folder", str(docs), "--space", "HR"]) == 0
    assert "24 added" in capsys.readouterr().out
    assert indexed(state) == indexed(fresh)


def test_uploads_are_not_dropped_by_a_folder_and_go_with_their_space(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uploaded = tmp_path / "state" / "documents" / "HR"
    uploaded.mkdir(parents=True)
    (uploaded / "a.md").write_text("Text")

    assert main(["folder", str(docs), "--space", "HR"]) == 2
    assert "filled by uploads" in capsys.readouterr().err

    assert main(["forget", "HR"]) == 2
    assert "what was uploaded into it" in capsys.readouterr().err
    assert uploaded.exists()
    assert main(["forget", "HR", "--yes"]) == 0
    assert not uploaded.exists()


def test_a_folder_that_is_known_is_synced_again_with_all_that_is_known(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["folder", str(docs), "--space", "HR"])
    (docs / "leave.md").write_text("# Leave\n\nThirty-one days.\n")
    (docs / "closed.pdf").write_bytes(encrypted(pdf(["Secret terms."])))
    capsys.readouterr()

    assert main(["sync", "--all"]) == 1
    told = capsys.readouterr().out
    assert "Space HR: 0 added, 1 changed" in told
    assert "Failed: closed.pdf" in told
    assert main(["status"]) == 0
    told = capsys.readouterr().out
    assert "all spaces, by command line: done; 0 added, 1 changed" in told
    assert "HR: looked at" in told
    assert "1 failures" in told


def test_a_sync_that_held_back_is_exit_code_2_until_it_is_allowed(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["folder", str(docs), "--space", "HR"])
    for file in docs.iterdir():
        file.unlink()

    assert main(["sync", "HR"]) == 2
    told = capsys.readouterr().err
    assert "shows none of the 4 pages of space 'HR'" in told
    assert "--allow-mass-delete" in told
    assert main(["sync", "HR", "--allow-mass-delete"]) == 0
    assert "4 removed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["folder", "nowhere", "--space", "HR"], "no folder"),
        (["sync", "NONE"], "is unknown. Name it once"),
        (["sync", "--page", "https://elsewhere.example.com/7"], "Check the address"),
        (["cancel", "HR"], "No run is under way"),
        (["rebuild"], "The index is one file"),
    ],
)
def test_what_is_not_there_is_exit_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert told in capsys.readouterr().err

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from bot.domain.errors import DataDirInUse
from bot.store.database import lock_data_dir


def test_a_second_holder_is_told_of_the_first(tmp_path: Path) -> None:
    with (
        lock_data_dir(tmp_path),
        pytest.raises(DataDirInUse, match="Another server runs"),
        lock_data_dir(tmp_path),
    ):
        pass


def test_it_can_be_held_again_afterwards(tmp_path: Path) -> None:
    with lock_data_dir(tmp_path):
        pass
    with lock_data_dir(tmp_path):
        pass


def hold(data_dir: Path, told: Event) -> None:
    with lock_data_dir(data_dir):
        told.set()
        time.sleep(60)


@contextmanager
def held_elsewhere(data_dir: Path) -> Iterator[BaseProcess]:
    """Hold a directory in another process until the block ends."""
    forking = get_context("fork")
    told = forking.Event()
    holder = forking.Process(target=hold, args=(data_dir, told))
    holder.start()
    try:
        assert told.wait(10)
        yield holder
    finally:
        holder.kill()
        holder.join()


def test_a_holder_in_another_process_keeps_others_out_until_it_is_killed(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as holder:
        for _ in range(2):
            with (
                pytest.raises(DataDirInUse, match=r"Stop it, or name another folder.*DATABASE_URL"),
                lock_data_dir(tmp_path),
            ):
                pass
        holder.kill()
        holder.join()

        with lock_data_dir(tmp_path):
            pass


def test_a_folder_that_is_a_file_is_named_with_the_cure(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")

    with pytest.raises(DataDirInUse, match=r"can't be used.*may write to"), lock_data_dir(file):
        pass


def test_a_lock_that_can_t_be_opened_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "server.lock").mkdir()

    with pytest.raises(DataDirInUse, match=r"can't be used.*may write to"), lock_data_dir(tmp_path):
        pass

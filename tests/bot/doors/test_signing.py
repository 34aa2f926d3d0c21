from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import SettingInvalid
from bot.web.auth.cookie_signer import KEY_BYTES, Signer, secrets_match, signing_key

KEY = b"k" * KEY_BYTES


@given(st.text(min_size=1))
def test_what_was_signed_is_read_back(value: str) -> None:
    signer = Signer(KEY, "visitor")

    assert signer.read(signer.sign(value)) == value


@given(st.text())
def test_what_was_not_signed_is_not_read(forged: str) -> None:
    assert Signer(KEY, "visitor").read(forged) is None


def test_another_value_purpose_or_key_does_not_fit_the_mark() -> None:
    signed = Signer(KEY, "visitor").sign("anna")

    assert Signer(KEY, "visitor").read(signed.replace("anna", "ben")) is None
    assert Signer(KEY, "session").read(signed) is None
    assert Signer(b"x" * KEY_BYTES, "visitor").read(signed) is None
    assert Signer(KEY, "visitor").read(signed[:-1]) is None


def test_the_key_is_made_once_and_only_we_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cookie.key"

    key = signing_key(path)

    assert len(key) == KEY_BYTES
    assert signing_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["cookie.key"]


def test_a_share_without_hard_links_holds_a_key_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "cookie.key"

    key = signing_key(path)

    assert len(key) == KEY_BYTES
    assert signing_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["cookie.key"]


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(signing_key, [tmp_path / "cookie.key"] * 16))

    assert len(keys) == 1


def test_a_file_that_is_no_key_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "cookie.key").write_bytes(b"short")

    with pytest.raises(SettingInvalid, match=r"has 5 bytes.*Delete it"):
        signing_key(tmp_path / "cookie.key")


@given(st.text(), st.text())
def test_secrets_are_the_same_only_when_equal(one: str, other: str) -> None:
    assert secrets_match(one, one)
    assert secrets_match(one, other) == (one == other)


def test_a_key_that_is_a_folder_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "cookie.key").mkdir()

    with pytest.raises(SettingInvalid, match="move what is there away"):
        signing_key(tmp_path / "cookie.key")

"""What the start says of where people work."""

from __future__ import annotations

from bot.app.cli.serve import address_lines

HERE = "http://127.0.0.1:3978"


def test_the_start_names_the_board() -> None:
    assert list(address_lines(HERE, demo=False)) == ["Board http://127.0.0.1:3978/board"]


def test_with_the_sample_it_names_who_one_can_be() -> None:
    _, line = address_lines(HERE, demo=True)

    assert "Mika (sales, asks)" in line
    assert "Tomas (IT admins, answers colleagues)" in line
    assert "You" not in line

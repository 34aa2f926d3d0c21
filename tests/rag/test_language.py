from __future__ import annotations

import pytest

from rag.text.words import looks_english


@pytest.mark.parametrize(
    "text", ["how do I reset my password", "vpn setup", "ORA-12541", "", "a la carte menu?", "café"]
)
def test_english_and_bare_terms_look_english(text: str) -> None:
    assert looks_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "wie kann ich mein Passwort zurücksetzen",
        "comment puis-je réinitialiser mon mot de passe",
        "¿cómo puedo restablecer mi contraseña para el correo?",
        "как сбросить пароль",
        "パスワードをリセットするには",
    ],
)
def test_other_languages_do_not(text: str) -> None:
    assert not looks_english(text)

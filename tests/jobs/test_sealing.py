"""Secrets at rest."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet

from jobs import sealing
from jobs.targets.shapes import TargetError

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))
URL = "https://a.example/"


def target(url: str = URL, **headers: str) -> dict[str, object]:
    return {"type": "http", "url": url, "headers": headers}


def headers(shape: dict[str, object]) -> dict[str, str]:
    found = shape["headers"]
    assert isinstance(found, dict)
    return found


def test_a_sealed_text_names_its_key_and_opens_under_any_of_the_keys() -> None:
    sealed = sealing.seal("hush 🤫", [OLD])
    assert sealed.startswith(f"sealed:{sealing.key_id(OLD)}:")
    assert "hush" not in sealed
    assert sealing.unseal(sealed, [NEW, OLD]) == "hush 🤫"


@pytest.mark.parametrize("text", ["", "sealed:", "sealed:x:é", "sealed:x:y", "plain"])
def test_what_no_key_opens_is_an_error_that_names_the_remedy(text: str) -> None:
    with pytest.raises(sealing.SealingError, match="put that key back"):
        sealing.unseal(text, [OLD])


def test_a_changed_or_foreign_text_does_not_open() -> None:
    sealed = sealing.seal("hush", [OTHER])
    with pytest.raises(sealing.SealingError):
        sealing.unseal(sealed, [NEW, OLD])
    with pytest.raises(sealing.SealingError):
        sealing.unseal(sealed[:-4] + "AAAA", [OTHER])


@pytest.mark.parametrize("keys", [[], ["short"], ["é" * 44]])
def test_keys_that_are_none_are_said_so(keys: list[str]) -> None:
    with pytest.raises(sealing.SealingError, match="Fernet"):
        sealing.seal("hush", keys)


def test_rotation_moves_a_secret_to_the_first_key() -> None:
    stored = sealing.seal_headers(target(Authorization="hush", Accept="*/*"), [OLD])
    rotated = sealing.rotate_headers(stored, [NEW, OLD])
    assert sealing.unseal_headers(rotated, [NEW]) == target(Authorization="hush", Accept="*/*")


def test_only_secret_headers_are_sealed() -> None:
    stored = sealing.seal_headers(target(Cookie="hush", Accept="*/*"), [NEW])
    assert sealing.is_sealed(headers(stored)["Cookie"])
    assert headers(stored)["Accept"] == "*/*"
    assert sealing.seal_headers(stored, [NEW]) == stored
    task = {"type": "task", "name": "a", "args": [], "kwargs": {}}
    assert sealing.seal_headers(task, [NEW]) == task


def test_a_mask_keeps_the_secret_through_an_edit() -> None:
    stored = sealing.seal_headers(target(Authorization="hush"), [NEW])
    edited = sealing.merge_masked(stored, target(f"{URL}other", authorization="********"))
    assert headers(edited)["authorization"] == headers(stored)["Authorization"]
    assert (
        headers(sealing.merge_masked(stored, target(Authorization="new")))["Authorization"] == "new"
    )


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "http://a.example/", "https://a.example:8443/"]
)
def test_a_secret_does_not_follow_the_target_to_another_origin(url: str) -> None:
    stored = sealing.seal_headers(target(Authorization="hush"), [NEW])
    with pytest.raises(TargetError, match="another host") as wrong:
        sealing.merge_masked(stored, target(url, Authorization="********"))
    assert wrong.value.field == "target.headers.Authorization"


def test_a_mask_with_nothing_behind_it_is_refused() -> None:
    with pytest.raises(TargetError, match="not there"):
        sealing.merge_masked(target(), target(Cookie="********"))
    with pytest.raises(TargetError, match="not there"):
        sealing.seal_headers(target(Cookie="********"), [NEW])


def test_the_same_secret_entered_again_keeps_its_sealed_text() -> None:
    stored = sealing.seal_headers(target(Cookie="hush"), [NEW])
    assert sealing.seal_headers(target(Cookie="hush"), [NEW], old=stored) == stored
    assert sealing.seal_headers(target(Cookie="other"), [NEW], old=stored) != stored
    assert sealing.seal_headers(target(Cookie="hush"), [OTHER], old=stored) != stored

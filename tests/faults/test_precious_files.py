"""Files that took hours to make are not overwritten by a slip (row 27, and `--json FILE`)."""

import json
from pathlib import Path

import pytest
from fixture_types import Spacil


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "Reacher-v4", "--num", "2", "--out"),
        ("export", "Reacher-v4"),
        ("import", "Reacher-v4"),
    ],
    ids=lambda words: words[0],
)
def test_overwriting_is_asked_for(spacil: Spacil, tmp_path: Path, words: tuple[str, ...]) -> None:
    precious = tmp_path / "mine.demos.safetensors"
    precious.write_text("hours of work")
    refusal = spacil("demos", *words, precious)
    assert refusal.code == 74
    assert "exists already: --overwrite replaces it" in refusal.err
    assert precious.read_text() == "hours of work"
    assert spacil("demos", *words, precious, "--overwrite").code == 0
    assert spacil("demos", "check", precious).code == 0


def test_pictures_are_overwritten_when_asked(spacil: Spacil, tmp_path: Path) -> None:
    for words, picture in (
        (("demos", "show", "Reacher-v4", "--figure"), tmp_path / "show.png"),
        (("smoothness", "Reacher-v4", "--episodes", 1, "--pictures"), tmp_path),
    ):
        precious = picture if picture.suffix else picture / "j_along_episode.png"
        precious.write_text("hours of work")
        refusal = spacil(*words, picture)
        assert refusal.code == 74
        assert "exists already: --overwrite replaces it" in refusal.err
        assert precious.read_text() == "hours of work"
        assert spacil(*words, picture, "--overwrite").code == 0
        assert precious.read_bytes().startswith(b"\x89PNG")


def test_a_bare_json_flag_overwrites_no_file_after_it(spacil: Spacil, tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        assert spacil("demos", "export", "Reacher-v4", tmp_path / name).code == 0
    before = (tmp_path / "a.npz").read_bytes()
    refusal = spacil("demos", "check", "--json", tmp_path / "a.npz", tmp_path / "b.npz")
    assert refusal.code == 74
    assert "it exists and is no result of spacil" in refusal.err
    assert (tmp_path / "a.npz").read_bytes() == before


def test_a_result_may_be_written_again_other_json_not(spacil: Spacil, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    for _ in range(2):
        assert spacil("tasks", "--json", result).code == 0
    assert "spacil_version" in json.loads(result.read_text())
    result.write_text('{"thesis": 1}')
    assert spacil("tasks", "--json", result).code == 74
    assert result.read_text() == '{"thesis": 1}'
    refusal = spacil("tasks", "--json", "/dev/null")
    assert refusal.code == 74 and "it exists and is no result" in refusal.err
    assert not Path("/dev/null").is_file()

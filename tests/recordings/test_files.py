"""Recordings in files: which columns are what, the verb, its document and its page."""

import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from fixture_types import Spacil

import spacil as library
from spacil.recordings.diagnosis import RecordingDiagnosis
from spacil.recordings.page import recording_html

LEROBOT = Path(__file__).parents[1] / "demos" / "files"
CLOCK = np.arange(900) / 30
COMMANDS = np.stack([np.sin(1.3 * CLOCK), 0.7 * np.cos(0.8 * CLOCK), np.sin(0.5 * CLOCK)], 1)
COMMANDS[:, 1] += 0.03 * np.sin(2 * np.pi * 8 * CLOCK)
MEASURED = np.roll(COMMANDS, 3, axis=0)
NAMES = ("pan", "lift", "grip")


def write(path: Path) -> Path:
    """One recording in each layout that people use."""
    flat = {"time_s": CLOCK}
    for place, name in enumerate(NAMES):
        flat |= {f"{name}.target": COMMANDS[:, place]}
    for place, name in reversed(list(enumerate(NAMES))):
        flat |= {f"{name}.present_pos": MEASURED[:, place], f"{name}.vel": CLOCK}
    match path.name:
        case "keys.npz":
            np.savez(path, commands=COMMANDS, measured=MEASURED, time=CLOCK)
        case "flat.csv":
            pd.DataFrame(flat).to_csv(path, index=False)
        case "flat.parquet":
            pd.DataFrame(flat).to_parquet(path)
        case "vectors.parquet":
            vectors = {"action": list(COMMANDS), "observation.state": list(MEASURED)}
            pd.DataFrame({"timestamp": CLOCK, **vectors}).to_parquet(path)
        case "aloha.hdf5":
            with h5py.File(path, "w") as file:
                file["action"], file["observations/qpos"] = COMMANDS, MEASURED
                file["observations/qvel"] = MEASURED
                file["observations/images/top"] = np.zeros((900, 2, 2, 3), np.uint8)
        case "robomimic.hdf5":
            with h5py.File(path, "w") as file:
                file.create_group("data").attrs["env_args"] = json.dumps(
                    {"env_kwargs": {"control_freq": 30}}
                )
                for demo, part in enumerate((slice(0, 400), slice(400, 900))):
                    file[f"data/demo_{demo}/actions"] = COMMANDS[part]
                    file[f"data/demo_{demo}/obs/joint_pos"] = MEASURED[part]
    return path


@pytest.mark.parametrize(
    "name",
    ["keys.npz", "flat.csv", "flat.parquet", "vectors.parquet", "aloha.hdf5", "robomimic.hdf5"],
)
def test_columns_are_found_by_the_names_they_usually_have(
    spacil: Spacil, tmp_path: Path, name: str
) -> None:
    rate = ("--rate", 30) if name == "aloha.hdf5" else ()
    shown = spacil("diagnose", write(tmp_path / name), *rate, "--json", "-")
    assert (shown.code, shown.err) == (0, "")
    document = json.loads(shown.out)
    assert document["rate_hz"] == pytest.approx(30)
    assert document["latency_s"] == pytest.approx(0.1, abs=0.02)
    causes = {one["cause"]: one for one in document["causes"]}
    assert {"tremor", "latency"} <= causes.keys()
    assert all(one.keys() >= {"cause", "share", "evidence", "remedy"} for one in causes.values())
    assert document["spacil_version"] == library.__version__
    if name.startswith("flat"):
        assert causes["tremor"]["joints"] == ["lift.target"]


@pytest.mark.parametrize("name", ["lerobot_v21", "lerobot_v30"])
def test_a_dataset_of_lerobot_is_a_recording_with_its_joints_names(
    spacil: Spacil, name: str
) -> None:
    shown = spacil("diagnose", LEROBOT / name, "--json", "-")
    document = json.loads(shown.out)
    assert document["joints"] == ["shoulder", "elbow"]
    assert document["causes"][0]["cause"] == "tremor"
    assert document["causes"][0]["numbers"]["hz"]["elbow"] == pytest.approx(9, abs=0.2)


def test_columns_can_be_named_and_what_is_there_is_listed(spacil: Spacil, tmp_path: Path) -> None:
    odd = {"a1": COMMANDS[:, 0], "a2": COMMANDS[:, 1], "b1": MEASURED[:, 0], "b2": MEASURED[:, 1]}
    pd.DataFrame(odd | {"clock": CLOCK}).to_csv(tmp_path / "odd.csv", index=False)
    shown = spacil("diagnose", tmp_path / "odd.csv")
    assert shown.code == 2
    assert "choose with --commands among a1, a2, b1, b2, clock" in shown.err
    flags = ("--commands", "a*", "--measured", "b1", "b2", "--time", "clock")
    shown = spacil("diagnose", tmp_path / "odd.csv", *flags)
    assert shown.code == 0 and "tremor" in shown.out and "latency" in shown.out
    shown = spacil("diagnose", tmp_path / "odd.csv", "--commands", "c")
    assert shown.code == 2 and "has no such column; it has a1, a2" in shown.err


def test_the_page_is_whole_and_written_over_nothing(spacil: Spacil, tmp_path: Path) -> None:
    source, out = write(tmp_path / "keys.npz"), tmp_path / "page.html"
    shown = spacil("diagnose", source, "-o", out)
    assert shown.code == 0 and f"page: {out}" in shown.out
    page = out.read_text()
    assert "http:" not in page.replace("http://www.w3.org", "") and "default-src 'none'" in page
    for heading in ("Causes", "Traces", "Spectra", "Time from row to row"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("data-chart=") == 3 + 3 + 1
    again = spacil("diagnose", source, "-o", out)
    assert again.code == 74 and "--overwrite" in again.err
    assert spacil("diagnose", source, "-o", out, "--overwrite").code == 0
    assert spacil("diagnose", source, "-o", tmp_path / "page.txt").code == 2


def test_a_notebook_shows_the_page() -> None:
    found = library.diagnose_recording({"commands": COMMANDS, "measured": MEASURED}, rate=30)
    assert isinstance(found, RecordingDiagnosis)
    shown = found._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "uPlot" in shown
    assert "tremor" in recording_html(found)


def test_jumps_are_marked_on_the_traces(tmp_path: Path) -> None:
    jumps = 0.1 * np.random.default_rng(0).normal(size=(45, 3)).repeat(20, 0)
    found = library.diagnose_recording({"commands": COMMANDS + jumps}, rate=30)
    assert found.causes[0].cause == "chunk-seams" or "chunk-seams" in str(found)
    found.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    charts = json.loads(text.split('id="charts">')[1].split("</script>")[0])
    marks = [one for one in charts[0]["series"] if one["label"] == "chunk-seams"]
    assert [one["is_joined"] for one in marks] == [False]


def test_broken_files_are_told_in_words(spacil: Spacil, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "b.csv").write_text("")
    np.savez(tmp_path / "c.npz", commands=np.array([None]))
    for name in ("a.parquet", "b.csv", "c.npz", "none.csv"):
        shown = spacil("diagnose", tmp_path / name)
        assert shown.code in (2, 65), name
        assert name in shown.err

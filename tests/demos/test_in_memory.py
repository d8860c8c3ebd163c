"""Demonstrations taken directly: arrays, a Minari dataset, tables whose columns are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import Spacil

import spacil
from spacil.errors import ConfigError, DataError

STATES = np.random.default_rng(0).normal(size=(3, 5, 2))
ACTIONS = np.tanh(STATES[:, :, :1])


def same(found: spacil.Demonstrations) -> bool:
    return np.allclose(found.states, STATES.reshape(-1, 2), atol=1e-6) and np.allclose(
        found.executed_actions, ACTIONS.reshape(-1, 1), atol=1e-6
    )


@pytest.mark.parametrize(
    "source",
    [
        {"observations": STATES, "actions": ACTIONS},
        {"obs": STATES.reshape(-1, 2), "acts": ACTIONS.reshape(-1, 1), "episode_lengths": [5] * 3},
        (STATES, ACTIONS),
        (list(STATES), list(ACTIONS)),
    ],
)
def test_arrays_are_demonstrations(source: Any) -> None:
    found = spacil.load_demos(source)
    assert found.episode_lengths.tolist() == [5, 5, 5] and same(found)
    assert spacil.load_demos(found) is found


def test_an_algorithm_takes_what_load_demos_takes() -> None:
    demos = spacil.load_demos("Reacher-v4").first(3)
    actions = [episode.executed_actions.numpy() for episode in demos.episodes]
    pair = [episode.observations.numpy() for episode in demos.episodes], actions
    agent = spacil.BC("Reacher-v4", pair, policy_hidden=(8,), evaluation_steps=100)
    assert repr(agent) == "BC(Reacher-v4, seed 0, 0 of 100 iterations)"
    agent.close()


def test_what_is_none_is_refused_with_the_ways() -> None:
    with pytest.raises(ConfigError, match=r"from a int: pass a file.*a dict of arrays, a pair"):
        spacil.load_demos(3)
    with pytest.raises(DataError, match="does not say where episodes end"):
        spacil.load_demos({"obs": STATES.reshape(-1, 2), "acts": ACTIONS.reshape(-1, 1)})


def test_a_minari_dataset_is_taken_and_a_missing_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    spacil.save_demos(spacil.load_demos((STATES, ACTIONS)), "minari:toy/line-v0")
    assert same(spacil.load_demos(minari.load_dataset("toy/line-v0")))
    with pytest.raises(DataError, match=r"a Minari dataset. write minari:toy/line-v0"):
        spacil.load_demos("toy/line-v0")
    with pytest.raises(DataError, match="`minari download toy/other-v0` fetches it"):
        spacil.load_demos("minari:toy/other-v0")


def table(folder: Path, ending: str, episode: str) -> Path:
    pandas = pytest.importorskip("pandas")
    columns = {"x": STATES[..., 0], "note": np.full((3, 5), "hi"), "y": STATES[..., 1]}
    columns |= {"u": ACTIONS[..., 0], "n": np.repeat([[7], [3], [3.5]], 5, 1)}
    columns["t"] = np.tile(np.arange(5) * 0.02, (3, 1))
    path = folder / f"log{ending}"
    frame = pandas.DataFrame({name: column.ravel() for name, column in columns.items()})
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("episode", ["t", "n"])
def test_columns_of_a_table_are_named(
    ending: str, episode: str, tmp_path: Path, spacil: Spacil
) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path, out = table(tmp_path, ending, episode), tmp_path / "out.npz"
    words = ("demos", "import", path, out, "--obs", "x,y")
    assert spacil(*words, "--act", "u", "--episode-from", episode).code == 0
    import spacil as library

    found = library.load_demos(out)
    assert found.episode_lengths.tolist() == [5, 5, 5] and same(found)
    alone = library.load_demos(path, obs=["y"], episode_from=episode)
    assert (alone.num_states, alone.num_actions, alone.num_steps) == (1, 0, 12)
    refused = spacil(*words, "--act", "w", "--episode-from", episode, "--overwrite")
    assert refused.code == 65 and "has no column of numbers 'w'; it has x, " in refused.err
    assert "with one in --episode-from" in spacil(*words, "--act", "u", "--overwrite").err

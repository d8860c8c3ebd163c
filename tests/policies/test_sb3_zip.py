"""Files of Stable-Baselines3 read without it: the same actions, or a refusal that names a way."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from fixture_types import Spacil
from stable_baselines3 import DDPG, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from spacil.errors import ConfigError, DataError
from spacil.policies.open import open_policy

TASK = "Pendulum-v1"
SMALL = {"net_arch": [24, 16]}
MODELS: dict[str, Callable[[], Any]] = {
    "PPO": lambda: PPO("MlpPolicy", TASK, device="cpu"),
    "PPO, ReLU": lambda: PPO(
        "MlpPolicy", TASK, device="cpu", policy_kwargs={**SMALL, "activation_fn": nn.ReLU}
    ),
    "PPO, gSDE": lambda: PPO("MlpPolicy", "Reacher-v5", use_sde=True, device="cpu"),
    "SAC": lambda: SAC("MlpPolicy", TASK, buffer_size=1, device="cpu", policy_kwargs={**SMALL}),
    "TD3": lambda: TD3("MlpPolicy", TASK, buffer_size=1, device="cpu", policy_kwargs={**SMALL}),
    "DDPG": lambda: DDPG("MlpPolicy", TASK, buffer_size=1, device="cpu", policy_kwargs={**SMALL}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_zip_acts_as_the_model_that_the_library_loads(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    model.save(tmp_path / "model.zip")
    opened = open_policy(tmp_path / "model.zip")
    states = 3 * torch.randn(200, opened.num_states, generator=torch.Generator().manual_seed(0))
    theirs, _ = model.predict(states.numpy(), deterministic=True)
    assert opened.action_bounds is not None
    ours = opened.mean(states).clamp(*opened.action_bounds)
    assert np.abs(theirs - ours.numpy()).max() < 1e-5 and np.abs(theirs).max() > 1e-3
    known = open_policy(model)
    assert (opened.num_actions, opened.kind) == (known.num_actions, known.kind)
    assert (opened.std is None, opened.weights is None) == (
        known.std is None,
        known.weights is None,
    )


@pytest.fixture(scope="module")
def normalized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PPO]:
    """A model behind VecNormalize, saved with its statistics, as pickle and as npz."""
    folder = tmp_path_factory.mktemp("normalized")
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make(TASK)]), clip_obs=1.5)
    model = PPO("MlpPolicy", env, n_steps=64, device="cpu", seed=0).learn(64)
    model.save(folder / "model.zip")
    env.save(folder / "vn.pkl")
    rms = env.obs_rms
    known = {"epsilon": env.epsilon, "clip": env.clip_obs}
    np.savez(folder / "vn.npz", mean=rms.mean, var=rms.var, **known)
    return folder, model


@pytest.mark.parametrize("statistics", ["vn.pkl", "vn.npz"])
def test_statistics_of_vecnormalize_are_part_of_the_policy(
    normalized: tuple[Path, PPO], statistics: str
) -> None:
    folder, model = normalized
    opened = open_policy(folder / "model.zip", vecnormalize=folder / statistics)
    states = 3 * torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(opened.mean(states), open_policy(model).mean(states), atol=1e-6)
    plain = open_policy(folder / "model.zip").mean(states)
    assert not torch.allclose(opened.mean(states), plain, atol=1e-3)


def test_verbs_take_a_zip_and_its_statistics(
    normalized: tuple[Path, PPO], spacil: Spacil, tmp_path: Path
) -> None:
    folder, _ = normalized
    words = ("diagnose", folder / "model.zip", "--task", TASK, "--episodes", 1)
    told = spacil(*words, "--vecnormalize", folder / "vn.pkl")
    assert told.code == 0 and "VecNormalize" not in told.err and "checks found" in told.out
    assert "--vecnormalize FILE" in spacil(*words).err
    with pytest.raises(ConfigError, match=r"--vecnormalize is for the \.zip"):
        open_policy("Hopper-v4", vecnormalize=folder / "vn.pkl")


class Runs:
    def __reduce__(self) -> Any:
        return os.mkdir, ("code-ran",)


def rewritten(source: Path, target: Path, **parts: bytes) -> Path:
    """A copy of a .zip with other contents for some of its files, by their stems."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name.partition(".")[0], old.read(name)))
    return target


def test_no_pickle_in_these_files_is_run(
    normalized: tuple[Path, PPO], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = normalized
    monkeypatch.chdir(tmp_path)
    content, file = io.BytesIO(), tmp_path / "bad.zip"
    torch.save({"log_std": Runs()}, content)
    with pytest.raises(DataError, match="never opened"):
        open_policy(rewritten(folder / "model.zip", file, policy=content.getvalue()))
    Path("bad.pkl").write_bytes(pickle.dumps(("VecNormalize", "norm_obs", Runs())))
    with pytest.raises(DataError, match=r"VecNormalize\.load\(.*\n.*numpy\.savez"):
        open_policy(folder / "model.zip", vecnormalize="bad.pkl")
    assert not Path("code-ran").exists()
    pickle.loads(pickle.dumps(Runs()))  # noqa: S301  # our own: the others could have run
    assert Path("code-ran").exists()


def changed(known: dict[str, Any], **parts: Any) -> bytes:
    return json.dumps(known | {name: known[name] | part for name, part in parts.items()}).encode()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"policy_class": {"__module__": "mine.policies"}}, "it is of mine.policies"),
        ({"policy_kwargs": {"activation_fn": "<class 'mine.Sine'>"}}, "its activation is Sine"),
        ({"policy_kwargs": {"features_extractor_class": "x"}}, "a features extractor"),
        ({"observation_space": {"_shape": "[3, 2]"}}, "no Box of shape"),
        ({"action_space": {"low": "[-2. -2.]"}}, "bounds of actions"),
    ],
)
def test_what_the_file_does_not_tell_is_asked_of_a_module(
    normalized: tuple[Path, PPO], tmp_path: Path, part: dict[str, Any], words: str
) -> None:
    folder, _ = normalized
    with zipfile.ZipFile(folder / "model.zip") as file:
        known = json.loads(file.read("data"))
    bad = rewritten(folder / "model.zip", tmp_path / "bad.zip", data=changed(known, **part))
    with pytest.raises(DataError, match=f"(?s)my_model:model.*PPO.load.*{words}"):
        open_policy(bad)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (lambda: VecNormalize(DummyVecEnv([lambda: gymnasium.make("Reacher-v5")])), "of 10 obs"),
        (
            lambda: VecNormalize(DummyVecEnv([lambda: gymnasium.make(TASK)]), norm_obs=False),
            "leave --vecnormalize out",
        ),
    ],
)
def test_statistics_of_another_model_are_refused(
    normalized: tuple[Path, PPO], tmp_path: Path, env: Callable[[], Any], words: str
) -> None:
    folder, _ = normalized
    env().save(tmp_path / "other.pkl")
    with pytest.raises(DataError, match=words):
        open_policy(folder / "model.zip", vecnormalize=tmp_path / "other.pkl")
    with pytest.raises(DataError, match="no such file"):
        open_policy(folder / "model.zip", vecnormalize=tmp_path / "gone.pkl")

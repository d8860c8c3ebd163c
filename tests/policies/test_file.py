"""Saved policies act as they did, in another process too; damaged ones are refused in words."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixture_types import Tiny

from spacil import TRPO, storage
from spacil.errors import DataError, StorageError
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import FORMAT, FORMAT_VERSION
from spacil.policies.open import load_policy, save_policy
from spacil.runs import checkpoint

ACT = """
import sys
import numpy as np
import spacil
inputs = np.load(sys.argv[1])
for name, source in zip(("five", "reacher"), sys.argv[2:]):
    policy = spacil.load_policy(source).policy
    sys.stdout.buffer.write(policy.predict(inputs[name]).tobytes())
"""


@pytest.fixture
def policy() -> GaussianPolicy:
    """A policy with a history: uneven normaliser, masked dim, one open bound."""
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(
        5, [-1.0, -np.inf], [1.0, np.inf], (16, 8), initial_log_std=-0.5, generator=generator
    )
    with torch.no_grad():
        policy.mean_net.layers[-1].weight.mul_(30)
    states = torch.randn(500, 5, generator=generator) * torch.tensor([0.1, 1, 10, 100, 0]) + 3
    policy.normalizer.merge(states)
    return policy


@pytest.fixture
def observations() -> np.ndarray:
    return np.random.default_rng(0).normal(3.0, 20.0, size=(1_000, 5)).astype(np.float32)


@pytest.fixture
def saved(policy: GaussianPolicy, tmp_path: Path) -> Path:
    path = tmp_path / "my.policy.safetensors"
    save_policy(policy, path, "Five-v0", {"iteration": 7})
    return path


def test_a_policy_acts_the_same_in_a_fresh_process(
    policy: GaussianPolicy, saved: Path, observations: np.ndarray, tiny: Tiny, tmp_path: Path
) -> None:
    agent = TRPO("Reacher-v4", **tiny("trpo")).learn(1)
    agent.save(tmp_path / "agent")
    states = np.random.default_rng(1).normal(size=(1_000, 11)).astype(np.float32)
    np.savez(tmp_path / "inputs.npz", five=observations, reacher=states)
    finished = subprocess.run(
        [sys.executable, "-c", ACT, tmp_path / "inputs.npz", saved, tmp_path / "agent"],
        capture_output=True,
        timeout=120,
        check=True,
    )
    actions = policy.predict(observations), agent.policy.predict(states)
    assert all(len(np.unique(numbers)) > 1_000 for numbers in actions)
    assert finished.stdout == b"".join(numbers.tobytes() for numbers in actions)


def test_a_file_keeps_a_policy_task_and_history(policy: GaussianPolicy, saved: Path) -> None:
    loaded = load_policy(saved)
    assert (loaded.task, loaded.provenance) == ("Five-v0", {"iteration": 7})
    assert loaded.policy.hidden == [16, 8]
    for name, value in policy.state_dict().items():
        assert torch.equal(loaded.policy.state_dict()[name], value)
    assert not any(parameter.requires_grad for parameter in loaded.policy.parameters())


def test_saving_again_replaces_the_file(policy: GaussianPolicy, saved: Path) -> None:
    with torch.no_grad():
        policy.log_std.fill_(0.25)
    save_policy(policy, saved, "Five-v0", {})
    assert load_policy(saved).policy.log_std.tolist() == [0.25, 0.25]
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_run_folder_gives_its_best_or_its_last_policy(finished_run: Path) -> None:
    checkpoints = finished_run / "checkpoints"
    last, best = checkpoint.newest(checkpoints), checkpoint.best(checkpoints)
    assert last is not None and best is not None
    expected = {
        (finished_run, "last"): last,
        (finished_run, "best"): best,
        (checkpoints / "iter-000001.safetensors", "best"): checkpoint.read(
            checkpoints / "iter-000001.safetensors"
        ),
    }
    weight = "mean_net.layers.0.weight"
    for (source, which), found in expected.items():
        loaded = load_policy(source, which)  # type: ignore[arg-type]
        assert loaded.task == "Reacher-v4"
        assert loaded.provenance["iteration"] == found.iteration
        assert torch.equal(loaded.policy.state_dict()[weight], found.tensors[f"policy.{weight}"])


def test_a_folder_without_a_policy_says_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no best checkpoint: expected a run folder"):
        load_policy(tmp_path / "empty")
    with pytest.raises(DataError, match="missing: no such file or folder"):
        load_policy(tmp_path / "missing")
    with pytest.raises(DataError, match="did you mean the bundled expert Hopper-v4"):
        load_policy("Hoper-v4")


def test_a_run_without_the_wanted_checkpoint_says_which_one_there_is(
    finished_run: Path, tiny: Tiny, tmp_path: Path
) -> None:
    TRPO("Reacher-v4", **tiny("trpo")).save(tmp_path / "agent")
    with pytest.raises(DataError, match="has no last checkpoint"):
        load_policy(tmp_path / "agent", "last")
    checkpoints = finished_run / "checkpoints"
    (checkpoints / checkpoint.BEST).unlink()
    with pytest.raises(DataError, match="has no best checkpoint"):
        load_policy(finished_run)
    assert load_policy(finished_run, "last").task == "Reacher-v4"
    shutil.rmtree(checkpoints)
    for which in ("best", "last"):
        with pytest.raises(DataError, match=f"has no {which} checkpoint"):
            load_policy(finished_run, which)  # type: ignore[arg-type]


def test_damage_falls_back_or_is_told(finished_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoints = finished_run / "checkpoints"
    (checkpoints / "iter-000003.safetensors").write_bytes(b"damaged")
    with pytest.raises(StorageError, match="damaged, or of another kind"):
        load_policy(checkpoints / "iter-000003.safetensors")
    assert load_policy(finished_run, "last").provenance["iteration"] == 2
    assert "damaged checkpoint iter-000003" in caplog.text
    (checkpoints / checkpoint.BEST).write_bytes(b"damaged")
    with pytest.raises(StorageError, match=r"best\.safetensors: not a checkpoint file"):
        load_policy(finished_run, "best")


def test_a_file_of_another_kind_is_refused(saved: Path) -> None:
    torch.save({"weight": torch.zeros(3)}, saved)
    with pytest.raises(DataError, match="can run code and are never opened"):
        load_policy(saved)
    storage.save_sealed(saved, {}, {}, "spacil-demonstrations", 1)
    with pytest.raises(DataError, match=r"not a policy file.*its format is spacil-demonstrations"):
        load_policy(saved)
    storage.save_sealed(saved, {}, {}, FORMAT, FORMAT_VERSION + 1)
    with pytest.raises(DataError, match=f"format version {FORMAT_VERSION + 1}, this spacil reads"):
        load_policy(saved)


Forge = Callable[[dict[str, torch.Tensor], dict[str, Any]], None]


def _poison(name: str, value: float) -> Forge:
    return lambda tensors, document: tensors[name].view(-1)[:1].fill_(value)


FORGERIES: dict[str, Forge] = {
    "a NaN weight": _poison("mean_net.layers.0.weight", np.nan),
    "an infinite spread": _poison("log_std", np.inf),
    "a NaN in the normaliser's mean": _poison("normalizer.mean", np.nan),
    "an infinite count": _poison("normalizer.count", np.inf),
    "a negative variance": _poison("normalizer.squared_deviations", -1e9),
    "a NaN bound": _poison("action_low", np.nan),
    "bounds the wrong way round": _poison("action_low", 2.0),
    "a missing tensor": lambda tensors, document: tensors.pop("log_std"),
    "a tensor too many": lambda tensors, document: tensors.update(extra=torch.zeros(1)),
    "no sizes": lambda tensors, document: document.pop("hidden"),
    "no task": lambda tensors, document: document.pop("task"),
    "a task that is no name": lambda tensors, document: document.update(task=["Five-v0"]),
    "sizes of another network": lambda tensors, document: document.update(hidden=[16, 9]),
    "sizes that are no numbers": lambda tensors, document: document.update(hidden="16"),
    "negative sizes": lambda tensors, document: document.update(num_states=-5),
    "a network of a thousand terabytes": lambda tensors, document: document.update(
        hidden=[10**7, 10**7]
    ),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_file_with_its_hash_and_no_policy_that_can_act_is_refused(saved: Path, kind: str) -> None:
    sealed = storage.load_sealed(saved, FORMAT, FORMAT_VERSION)
    tensors, document = sealed.tensors, sealed.document
    FORGERIES[kind](tensors, document)
    storage.save_sealed(saved, tensors, document, FORMAT, FORMAT_VERSION)
    with pytest.raises(DataError, match=str(saved)):
        load_policy(saved)


def test_a_checkpoint_with_nan_weights_is_refused(finished_run: Path) -> None:
    last = checkpoint.newest(finished_run / "checkpoints")
    last.tensors["policy.mean_net.layers.1.bias"][0] = torch.nan
    state = checkpoint.RunState(last.tensors, last.document, last.notes)
    checkpoint.write(finished_run / "checkpoints", last.iteration, state)
    with pytest.raises(DataError, match="weights that are not finite"):
        load_policy(finished_run, "last")

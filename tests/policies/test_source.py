"""Every kind of policy, with real objects, and every kind of bad one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import policies_of_others as foreign
import pytest
import torch
from torch import Tensor, nn

from spacil.errors import ConfigError, DataError
from spacil.measuring.measure import measure_smoothness
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import open_policy, save_policy


def make_states(num: int = 64, width: int = 11) -> Tensor:
    return torch.randn(num, width, generator=torch.Generator().manual_seed(1))


def test_one_network_measures_the_same_in_every_form(tmp_path: Path) -> None:
    module, states = foreign.make_module(), make_states()
    onnx_file = foreign.write_onnx(module, tmp_path / "policy.onnx")
    reports = {
        "module": measure_smoothness(module, states=states),
        "onnx": measure_smoothness(str(onnx_file), states=states),
        "callable": measure_smoothness(foreign.as_function(module), states=states.numpy()),
    }
    exact = reports["module"].on_fixed_states
    for kind, report in reports.items():
        assert report.kind == kind
        assert report.derivative == ("exact" if kind == "module" else "finite differences")
        assert report.as_document().keys() == reports["module"].as_document().keys()
        found = report.on_fixed_states
        assert found is not None and found.num_states == 64
        for name in ("mean", "median", "p95", "max"):
            expected = getattr(exact.own, name)
            assert getattr(found.own, name) == pytest.approx(expected, rel=2e-3)
        # No normaliser of its own: the own frame is the raw one.
        assert found.raw == found.own
        assert report.estimators["power"] == pytest.approx(
            reports["module"].estimators["power"], rel=5e-3
        )
    assert reports["module"].certificate is not None
    assert reports["onnx"].certificate is None


def test_a_module_is_measured_as_a_frozen_copy() -> None:
    module = nn.Sequential(nn.Linear(11, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 2))
    module.train()
    measure_smoothness(module, states=make_states())
    assert module.training and all(layer.training for layer in module)
    assert all(p.requires_grad and p.grad is None for p in module.parameters())


def test_a_float64_module_is_measured_in_float64() -> None:
    module = foreign.make_module().double()
    report = measure_smoothness(module, states=make_states().double())
    expected = torch.linalg.matrix_norm(
        torch.stack(
            [
                torch.autograd.functional.jacobian(lambda s: module(s[None])[0], state)
                for state in make_states().double()
            ]
        ),
        ord=2,
    )
    assert report.smoothness_j_own == pytest.approx(float(expected.mean()), rel=1e-12)


def test_our_own_policies_in_memory_and_on_disk_agree(tmp_path: Path) -> None:
    policy = GaussianPolicy(
        11, [-1.0] * 2, [1.0] * 2, (16, 8), generator=torch.Generator().manual_seed(0)
    )
    policy.normalizer.merge(make_states(500) * 3)
    save_policy(policy, tmp_path / "p.policy.safetensors", "Reacher-v4", {"made": "here"})
    in_memory = measure_smoothness(policy, states=make_states())
    on_disk = measure_smoothness(tmp_path / "p.policy.safetensors", states=make_states())
    assert on_disk.on_fixed_states.own == in_memory.on_fixed_states.own
    assert on_disk.provenance == {"made": "here"}
    assert in_memory.on_fixed_states.raw.mean < in_memory.on_fixed_states.own.mean / 2


def make_ppo(**settings: Any) -> Any:
    from stable_baselines3 import PPO

    return PPO("MlpPolicy", gymnasium.make("Pendulum-v1"), device="cpu", seed=0, **settings)


def test_a_stable_baselines3_model_is_read_by_what_it_can_do() -> None:
    model = make_ppo()
    source = open_policy(model)
    assert source.kind == "stable-baselines3"
    assert (source.num_states, source.num_actions) == (3, 1)
    states = make_states(16, 3)
    predicted, _ = model.predict(states.numpy(), deterministic=True)
    assert np.allclose(source.mean(states).numpy().clip(-2, 2), predicted, atol=1e-6)
    assert source.std is not None and source.std.tolist() == [1.0]  # log_std starts at 0
    assert torch.equal(open_policy(model.policy).mean(states), source.mean(states))


def test_a_model_loaded_without_its_env_may_lack_a_normaliser_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = make_ppo(n_steps=64, batch_size=64)
    open_policy(model)
    assert caplog.text == ""
    model.save(tmp_path / "model.zip")
    open_policy(type(model).load(tmp_path / "model.zip", device="cpu"))
    assert "if it was trained behind VecNormalize, load it with that env" in caplog.text


def test_a_stable_baselines3_model_plays_and_is_certified() -> None:
    model = make_ppo(n_steps=64, batch_size=64)
    model.learn(64)  # a trained policy keeps a graph, which must not get in the way
    report = measure_smoothness(model, env="Pendulum-v1", episodes=2)
    assert report.played is not None and report.certificate is not None
    looseness = report.certificate["own_looseness"]
    assert looseness is not None and looseness >= 1


def test_the_observation_normaliser_of_a_stable_baselines3_model_is_part_of_it() -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    normalized = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
    model = PPO("MlpPolicy", normalized, device="cpu", seed=0, n_steps=64, batch_size=64)
    model.learn(128)
    source = open_policy(model)
    raw = normalized.unnormalize_obs(np.zeros((4, 3), dtype=np.float32)) + 0.1
    predicted, _ = model.predict(normalized.normalize_obs(raw), deterministic=True)
    found = source.mean(torch.from_numpy(raw.astype(np.float32)))
    assert np.allclose(found.numpy().clip(-2, 2), predicted, atol=1e-5)
    std = np.sqrt(normalized.obs_rms.var + normalized.epsilon)
    assert np.allclose(source.own.scale.numpy(), 1 / std, rtol=1e-5)


def test_a_squashed_stable_baselines3_policy_is_told_in_the_envs_units() -> None:
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", gymnasium.make("Pendulum-v1"), device="cpu", seed=0, buffer_size=10)
    source = open_policy(model)
    states = make_states(16, 3)
    predicted, _ = model.predict(states.numpy(), deterministic=True)
    assert np.allclose(source.mean(states).numpy(), predicted, atol=1e-6)
    assert source.std is None and source.weights is None
    assert measure_smoothness(model, states=states).smoothness_j_own > 0


@pytest.fixture
def typed_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a module into the working folder; returns its name."""
    monkeypatch.chdir(tmp_path)
    names: list[str] = []

    def write(text: str) -> str:
        name = f"typed_policy_{len(names)}"
        (tmp_path / f"{name}.py").write_text(text)
        names.append(name)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_a_policy_is_found_by_the_name_that_was_typed(typed_module: Callable[[str], str]) -> None:
    name = typed_module(
        "import torch\nnet = torch.nn.Linear(11, 2)\n"
        "def act(states):\n    return 2.0 * states[:, :2]\n"
    )
    path_before = list(sys.path)
    source = open_policy(f"{name}:act")
    assert source.kind == "callable" and sys.path == path_before
    assert measure_smoothness(source, states=make_states()).smoothness_j_own == pytest.approx(
        2, rel=1e-3
    )
    assert open_policy(f"{name}:net").kind == "module"  # which keeps its gradients


def test_states_of_another_width_are_refused() -> None:
    with pytest.raises(DataError, match="11 state dims, states has 17"):
        measure_smoothness(foreign.make_module(), states=make_states(width=17))


def test_a_module_that_only_fails_when_called_is_refused_too() -> None:
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = foreign.make_module()

        def forward(self, states: Tensor) -> Tensor:
            return self.inner(states)

    with pytest.raises(DataError, match=r"Wrapped: the policy raised RuntimeError.*\(8, 17\)"):
        measure_smoothness(Wrapped(), states=make_states(width=17))


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    module = foreign.make_module()
    with torch.no_grad():
        module[2].weight[0, 0] = torch.nan
    with pytest.raises(DataError, match=r"'2\.weight' are not finite"):
        measure_smoothness(module, states=make_states())
    policy = GaussianPolicy(3, [-1.0], [1.0], (4,))
    with torch.no_grad():
        policy.mean_net.weights_and_biases[0][0].fill_(torch.inf)
    with pytest.raises(DataError, match="not finite"):
        open_policy(policy)


def broken(states: np.ndarray) -> np.ndarray:
    raise KeyError("no such joint")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda s: None, "returned a NoneType"),
        (lambda s: (s, s), r"shape \(2, 8, 11\)"),
        (lambda s: s[:, 0], r"shape \(8,\), expected \(8, A\)"),
        (lambda s: s[:3, :2], r"shape \(3, 2\)"),
        (lambda s: s * np.nan, "not finite for 8 of 8 states, first in row 0"),
        (lambda s: np.array(["left"] * len(s)), "expected one array of actions"),
        (broken, "broken: the policy raised KeyError: 'no such joint'"),
        (lambda s: s + np.random.random(), "measure the mean action, not a sample"),
        (lambda s: s[:, :2] - s[:, :2].mean(0), "depends on the other rows"),
    ],
)
def test_answers_that_are_no_mean_actions_are_refused(answer: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        measure_smoothness(answer, states=make_states())


def test_without_onnxruntime_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = foreign.write_onnx(foreign.make_module(), tmp_path / "policy.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacil\[export\]'"):
        open_policy(path)


@pytest.mark.parametrize("name", ["model.zip", "policy.pt"])
def test_pickled_models_are_never_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    remedy = rf"my_model\.py, .*my_model:model.*PPO\.load\(.*{name}.*VecNormalize"
    with pytest.raises(DataError, match=f"(?s)never opened.*{remedy}"):
        open_policy(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no_such_module_anywhere:act", "cannot import 'no_such_module_anywhere'"),
        ("math:no_such_name", "has no 'no_such_name'"),
        ("math:pi", "cannot open a float"),
        ("sys:prefix", "is a string"),
    ],
)
def test_typed_names_that_lead_nowhere_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        open_policy(text)


def test_a_typed_module_that_raises_is_told(typed_module: Callable[[str], str]) -> None:
    name = typed_module("raise ValueError('not today')\n")
    with pytest.raises(ConfigError, match="raised ValueError: not today"):
        open_policy(f"{name}:act")


def test_a_function_with_another_number_of_actions_than_the_env_is_refused() -> None:
    with pytest.raises(DataError, match="5 action dims, Reacher-v4 has 2"):
        measure_smoothness(lambda s: s[:, :5], env="Reacher-v4", episodes=1)


def test_a_normaliser_that_is_not_finite_is_refused() -> None:
    policy = GaussianPolicy(11, [-1.0] * 2, [1.0] * 2, (8,))
    policy.normalizer.scale[3] = torch.nan
    with pytest.raises(DataError, match="the policy's action is not finite"):
        measure_smoothness(policy, states=make_states())


def test_discrete_actions_are_refused() -> None:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu", seed=0)
    with pytest.raises(ConfigError, match="only a Box"):
        open_policy(model)

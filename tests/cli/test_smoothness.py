import json
from pathlib import Path

import numpy as np
import policies_of_others as foreign
import pytest
from fixture_types import Spacil
from pictures import assert_drawn

from spacil.errors import ConfigError, DataError

REACHER = Path("src/spacil/demos/assets/Reacher-v4.policy.safetensors").absolute()


def test_the_tables_tell_everything_once(spacil: Spacil, tmp_path: Path) -> None:
    done = spacil(
        "smoothness", REACHER, "--episodes", 2, "--robustness", "--attack-radius", 0.1,
        "--json", tmp_path / "report.json", "--pictures", tmp_path / "pictures",
    )  # fmt: skip
    assert done.code == 0 and done.err == ""
    for words in (
        "own trajectories, mean actions (100 states)",
        "fixed states: bundled demonstrations of Reacher-v4 (2500 states)",
        "common", "effective", "jeffreys policy std", "own layer product", "zero action", "random",
        "spectrum score Sm", "Sm convention: ASAP", "SPARC", "observation noise", "attack",
        "observation delay", "action delay", "Robust Sarsa attacks are stronger",
    ):  # fmt: skip
        assert words in done.out
    assert "INACTIVE" not in done.out
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["robustness"]["action_difference_attack"]["level"] == 0.1
    names = {"j_along_episode.png", "actions_and_spectrum.png", "noise_curve.png"}
    assert {picture.name for picture in (tmp_path / "pictures").iterdir()} == names
    for name in names:
        assert_drawn(tmp_path / "pictures" / name)


def test_fixed_states_alone_need_no_task(spacil: Spacil, tmp_path: Path) -> None:
    foreign.write_onnx(foreign.make_module(), tmp_path / "policy.onnx")
    np.savez(tmp_path / "states.npz", states=np.random.default_rng(0).normal(size=(50, 11)))
    done = spacil("smoothness", tmp_path / "policy.onnx", "--states", tmp_path / "states.npz")
    assert done.code == 0
    assert "by finite differences" in done.out and "(50 states)" in done.out
    assert "no common frame: pass --demos" in done.out
    assert "nn.Sequential of linear layers with tanh or ReLU can be certified" in done.out


def test_a_module_that_calls_a_sequential_is_certified_by_that_part(
    spacil: Spacil, here: Path
) -> None:
    (here / "wrapped_for_cli.py").write_text(
        "from torch import nn\n"
        "class Model(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.net = nn.Sequential(nn.Linear(11, 8), nn.Tanh(), nn.Linear(8, 2))\n"
        "    def forward(self, states):\n"
        "        return self.net(states)\n"
        "model = Model()\n"
    )
    np.savez("states.npz", states=np.random.default_rng(0).normal(size=(50, 11)))
    whole = spacil("smoothness", "wrapped_for_cli:model", "--states", "states.npz")
    part = spacil("smoothness", "wrapped_for_cli:model.net", "--states", "states.npz")
    assert "pass that part, such as my_model:model.net" in whole.out
    assert "layer product" in part.out


def test_dead_is_inactive(spacil: Spacil, here: Path) -> None:
    (here / "dead_for_cli.py").write_text(
        "import numpy as np\ndef act(states):\n    return np.zeros((len(states), 2))\n"
    )
    done = spacil("smoothness", "dead_for_cli:act", "--task", "Reacher-v4", "--episodes", 1)
    assert done.code == 0 and "INACTIVE" in done.out


@pytest.mark.parametrize(
    ("flags", "code", "complaint"),
    [
        (["missing.onnx"], DataError.exit_code, "no such file"),
        ([REACHER, "--attack-radius", 0.1], 2, "--attack-radius is read with --robustness only"),
        (
            [REACHER, "--task", "Hopper-v4"],
            DataError.exit_code,
            "demonstrations of Hopper-v4 has 3",
        ),
        ([REACHER, "--states", "missing.npz"], DataError.exit_code, "missing.npz"),
        ([REACHER, "--episodes", 0], ConfigError.exit_code, "expected 1 or more"),
    ],
)
def test_bad_input_gets_a_clear_typed_error(
    flags: list[object], code: int, complaint: str, spacil: Spacil
) -> None:
    done = spacil("smoothness", *flags)
    assert done.code == code
    assert complaint in done.err and done.out == ""

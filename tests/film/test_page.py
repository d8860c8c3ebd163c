"""The live page in a real browser: its policies and its physics are Python's."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import drawing
import numpy as np
import point_mass
import pytest
import torch
from browser import Browser

import spacil
from spacil.cli.main import run as run_command
from spacil.config.settings import ConditionsConfig
from spacil.envs.conditions import under
from spacil.envs.registry import TASKS, make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, StorageError
from spacil.nets.policy import GaussianPolicy
from spacil.policies.policy import Policy, own_policy

DESK, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if browser.CHROMIUM is None:
        pytest.skip("no Chromium here to open the page in: apt install chromium")
    with Browser(tmp_path_factory.mktemp("profile"), *DESK) as opened:
        yield opened


def some_policy(task: str, gain: float = 3.0, **conditions: Any) -> Policy:
    """A policy with random weights that moves, for some delay."""
    made_for, sizes = ConditionsConfig(**conditions), TASKS[task]
    num_past = made_for.num_observations * sizes.num_states
    width = sizes.num_states + made_for.num_commands * sizes.num_actions + num_past
    generator = torch.Generator().manual_seed(0)
    bounds = np.ones(sizes.num_actions)
    network = GaussianPolicy(width, -bounds, bounds, (32, 24), generator=generator)
    with torch.no_grad():
        for weight, _ in network.mean_net.weights_and_biases:
            weight.mul_(gain)
    network.normalizer.merge(torch.randn((50, width), generator=generator))
    return own_policy(network, task, task=task, conditions=made_for)


def open_page(chromium: Browser, path: Path) -> None:
    chromium.open(path)
    deadline = time.monotonic() + 60
    while not chromium.ask("!!window.spacil"):
        assert time.monotonic() < deadline, chromium.complaints
        time.sleep(0.1)
    chromium.ask("spacil.pause()")


def test_actions_are_python_s_on_a_thousand_states(chromium: Browser, tmp_path: Path) -> None:
    policy = some_policy("Walker2d-v4")
    spacil.page(policy, tmp_path / "page.html")
    open_page(chromium, tmp_path / "page.html")
    states = 1.5 * torch.randn((1_000, 17), generator=torch.Generator().manual_seed(1))
    asked = f"{json.dumps(states.tolist())}.map(s => [...spacil.panels[0].env.policy.act(s)])"
    actions = torch.tensor(chromium.ask(asked))
    assert (actions - policy.policy.clip(policy.act(states))).abs().max() <= 1e-5


@pytest.mark.parametrize(
    ("task", "num_steps", "conditions"),
    [
        ("Hopper-v4", 100, {}),
        ("Hopper-v4", 100, {"action_delay": "2"}),
        ("Walker2d-v5", 100, {"action_delay": "0-2"}),
        ("HalfCheetah-v4", 100, {}),
        ("Ant-v4", 3, {}),  # the two versions of MuJoCo step it differently
        ("Ant-v5", 3, {"action_delay": "1"}),
        ("Reacher-v4", 50, {}),
        ("Swimmer-v4", 100, {}),
    ],
)
def test_steps_are_python_s(
    chromium: Browser, tmp_path: Path, task: str, num_steps: int, conditions: dict[str, str]
) -> None:
    policy = some_policy(task, **conditions)
    spacil.page(policy, tmp_path / "page.html")
    open_page(chromium, tmp_path / "page.html")
    seeds, longest = ResetSeeds(3, "page"), policy.conditions.range_of("action")[1]
    fixed = ConditionsConfig(action_delay=str(longest))
    with contextlib.closing(make_vector_env(task, 1, seeds)) as bare:
        env = under(bare, fixed, seeds, inputs=policy.conditions)
        states = env.reset()
        model, physics = bare.scene().model, bare.save_state()["physics"][0].tolist()
        played, total = [], 0.0
        for _ in range(num_steps):
            step = env.step(policy.policy.clip(policy.act(states.float())))
            states, total = step.observations, total + float(step.rewards)
            played.append(step.final_observations[0, : bare.spec.num_states])
            if step.terminated.any() or step.truncated.any():
                break
    qpos, qvel = physics[1 : 1 + model.nq], physics[1 + model.nq : 1 + model.nq + model.nv]
    shown = chromium.ask(
        f"""(() => {{
          const {{ env }} = spacil.panels[0], sliders = spacil.sliders, seen = [];
          spacil.set({{ delay: {longest} }});
          env.mujoco.mj_resetData(env.model, env.physics);
          env.physics.qpos.set({qpos});
          env.physics.qvel.set({qvel});
          env.begin(sliders);
          while (seen.length < {num_steps} && !env.isOver) {{
            env.step(sliders);
            seen.push(env.observe());
          }}
          return {{ seen, total: env.total }};
        }})()"""
    )
    assert len(shown["seen"]) == len(played) > 2
    assert (torch.tensor(shown["seen"]) - torch.stack(played)).abs().max() <= 1e-3
    assert shown["total"] == pytest.approx(total, abs=1e-3)


def test_sliders_change_what_all_policies_meet(chromium: Browser, tmp_path: Path) -> None:
    made = {"one": some_policy("Hopper-v4"), "two": some_policy("Hopper-v4", action_delay="1")}
    page = spacil.page(made, tmp_path / "page.html", env="Hopper-v4", title="<b>Which</b>?")
    assert page.is_live and page.num_bytes < 8e6
    chromium.complaints.clear()
    chromium.requests.clear()
    open_page(chromium, page.path)
    assert chromium.ask("document.querySelector('h1').textContent") == "<b>Which</b>?"
    names = chromium.ask("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert names == ["one", "two (made for a delay of 1)"]
    assert chromium.ask("spacil.sliders.delay") == 1

    def first_states(changes: str) -> list[list[float]]:
        steps = "for (let i = 0; i < 5; i++) p.env.step(spacil.sliders)"
        read = f"{{ p.reset(7, spacil.sliders); {steps}; return [...p.env.input()] }}"
        states: list[list[float]] = chromium.ask(
            f"spacil.set({{noise: 0, delay: 0, shove: 0, gravity: 1, friction: 1, ...{changes}}}), "
            f"spacil.panels.map(p => {read})"
        )
        return states

    calm = first_states("{}")
    assert first_states("{}") == calm  # one seed, one episode
    for changes in ("{noise: 0.1}", "{delay: 2}", "{gravity: 1.5}"):
        assert all(a != b for a, b in zip(first_states(changes), calm, strict=True))
    chromium.ask("spacil.set({noise: 0.3})")
    chromium.ask("document.getElementById('calm').click()")
    assert chromium.ask("[spacil.sliders.noise, spacil.sliders.delay]") == [0, 1]
    chromium.ask("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'n'}))")
    assert chromium.ask("spacil.sliders.noise") == pytest.approx(0.05)
    for size in (DESK, PHONE):
        chromium.resize(*size)
        chromium.ask("spacil.pause()")
        time.sleep(0.7)
        chromium.ask("spacil.pause()")
        assert chromium.ask("document.documentElement.scrollWidth <= window.innerWidth")
        for name in ("scene", "trace", "spectrum"):  # something is drawn
            drawn = f"document.querySelector('.{name}').toDataURL()"
            assert len(chromium.ask(drawn)) > 1_000
    chromium.resize(*DESK)
    assert not chromium.complaints and chromium.requests == [page.path.absolute().as_uri()]


def test_other_envs_are_filmed(tmp_path: Path, chromium: Browser) -> None:
    drawing.require_gl()
    spacil.page(lambda states: 0 * states[:, :2], tmp_path / "page.html", env="Reacher-v4")
    chromium.complaints.clear()
    chromium.open(tmp_path / "page.html")
    assert chromium.ask("document.querySelector('video').src").startswith("data:video/mp4")
    assert not chromium.complaints


def test_the_command_writes_a_page_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    words = ["page", "Hopper-v4", "-o", str(out), "--names", "ours"]
    assert run_command([*words, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["is_live"] and document["panels"][0]["name"] == "ours"
    assert document["num_bytes"] == out.stat().st_size
    with pytest.raises(StorageError):
        run_command(words)
    assert run_command(["page", "Hopper-v4", "-o", str(out), "--overwrite"]) == 0
    assert "expert of Hopper-v4" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="2 policies"):
        run_command(["page", "Hopper-v4", "Hopper-v4", "-o", str(out), "--names", "ours"])
    with pytest.raises(ConfigError, match="at most 3"):
        spacil.page([point_mass.jerky_teacher] * 4, tmp_path / "other.html", env="Hopper-v4")

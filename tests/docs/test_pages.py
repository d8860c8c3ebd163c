"""The Python of README and docs, run from top to bottom of each page as a reader would, cut short.

Pages whose blocks need more around them have tests of their own, which name them.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_runs

import spacil
from spacil.learning import own_play

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHORTER = {
    r"seed=(\d)\)": r"seed=\1, **tiny)",
    r"24 \* env.num_envs,": "24 * env.num_envs, warm_start_steps=20, discriminator_steps=1,",
    r"iterations=\d+": "iterations=1",
    r"keep_return=0.98\)": "keep_return=0.98, **tiny)",
    r"\.learn\(300,": ".learn(1,",
    r"\.learn\(\)": ".learn(1)",
    r"\.learn\([\d_]+\)": ".learn(512)",
    r"episodes=\d+": "episodes=1",
    r'run_dir="runs/pendulum"\)': 'run_dir="runs/pendulum", **quick)',
    r'"Reacher-v5"\)': '"Reacher-v5", n_steps=512)',
}
RUN_HERE = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "attach",
            "demonstrations",
            "diagnose",
            "index",
            "page",
            "recordings",
            "resume",
        )
    ),
    *(f"docs/{name}.md" for name in ("smooth", "stable_baselines3", "wishes")),
    *(
        f"docs/tutorials/{name}.md"
        for name in ("compare_and_report", "motion_clip", "robots", "smooth_sb3")
    ),
]
SLOW = {"docs/wishes.md"}
"""Minutes, even cut short: the run looks for its weight"""
OWN_PLAY = {"STEPS_PER_ENV": 30, "FIT_STEPS": 20, "CLONE_STEPS": 20, "REFRESH_STEPS": 20}
QUICK = {"fit_steps": 20, "steps_per_iteration": 400, "evaluation_steps": 400}


def shortened(block: str) -> str:
    for long, short in SHORTER.items():
        block = re.sub(long, short, block)
    return block


def furnish(page: str) -> Mapping[str, Any]:
    """What a page takes for granted: files in this folder, and names."""
    tiny = tiny_runs.tiny("spacil", iterations=1, warm_start_steps=20)
    match page:
        case "README.md":
            return {"tiny": tiny, "observation": np.zeros(11)}
        case "docs/attach.md":
            pytest.importorskip("rsl_rl")
            sys.path.insert(0, str(ROOT / "examples"))
            from rsl_rl_smoothness_penalty import Carts, settings

            return {"env": Carts(16), "train_cfg": settings()}
        case "docs/demonstrations.md":
            demos = spacil.load_demos("Hopper-v4").first(2)
            spacil.save_demos(demos, "mine.npz")
            states = np.random.default_rng(0).normal(size=(2, 6, 3))
            return {"observations": list(states), "actions": list(states[:, :-1, :2])}
        case "docs/stable_baselines3.md":
            sb3 = pytest.importorskip("stable_baselines3")
            sb3.PPO("MlpPolicy", "Hopper-v5", device="cpu").save("ppo_hopper.zip")
        case "docs/tutorials/compare_and_report.md":
            for kind in (spacil.GAIL, spacil.SPaCIL):
                settings = tiny_runs.tiny(kind.__name__.lower(), iterations=1, warm_start_steps=0)
                agent = kind("Reacher-v4", **settings)
                agent.learn(run_dir=f"sweeps/first/{kind.__name__}")
                agent.close()
        case "docs/tutorials/robots.md":
            pytest.importorskip("rsl_rl")
            from toy_robots import ToyRobots, settings

            return {
                "env": ToyRobots(16, horizon=10),
                "train_cfg": settings(),
                "clip": np.random.default_rng(0).normal(2, 0.5, size=(40, 4)).astype(np.float32),
            }
        case "docs/tutorials/smooth_sb3.md":
            pytest.importorskip("stable_baselines3")
    return {"tiny": tiny, "quick": QUICK}


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in RUN_HERE]
)
@pytest.mark.filterwarnings("ignore:You are trying to run PPO on the GPU")
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, size in OWN_PLAY.items():
        monkeypatch.setattr(own_play, name, size)
    names = dict(furnish(page))
    for block in PYTHON.findall((ROOT / page).read_text()):
        exec(compile(shortened(block), page, "exec"), names)


def test_every_other_page_with_python_is_named_by_a_test_of_its_own() -> None:
    """If this fails for a page of yours: add it to RUN_HERE, or run its blocks in a test."""
    others = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    tests = "".join(path.read_text() for path in others)
    pages = (page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md"))
    rest = [p for p in pages if PYTHON.search((ROOT / p).read_text()) and str(p) not in RUN_HERE]
    assert rest
    assert [page for page in rest if page.name not in tests] == []

"""`spacil train`: help with the task's defaults, presets, flags that win, and what it prints."""

import json
import re
from pathlib import Path

import pytest
from fixture_types import Spacil, TinyFlags, Train
from own_env import SOURCE, write_own_demos
from pictures import assert_drawn


def words_of(text: str) -> str:
    """Help without its boxes and line breaks."""
    return " ".join(re.sub(r"[│╭╮╰╯─┌┐└┘|]", " ", text).split())


def test_help_without_a_task_lists_the_algorithms(spacil: Spacil) -> None:
    shown = spacil("train", "--help").out
    for algorithm in ("trpo", "gail", "spacil"):
        assert re.search(rf"^  {algorithm}\s+\S", shown, re.MULTILINE)
    assert spacil("train").out == shown


@pytest.mark.parametrize(
    ("algorithm", "task", "defaults"),
    [
        (
            "gail",
            "Hopper-v4",
            {"gamma": "0.995", "gae-lambda": "0.99", "steps-per-iteration": "6000"},
        ),
        (
            "trpo",
            "Reacher-v4",
            {"gamma": "0.99", "gae-lambda": "0.95", "steps-per-iteration": "5000"},
        ),
        ("spacil", "Ant-v4", {"steps-per-iteration": "15000", "penalty": "exact=0.1"}),
    ],
)
def test_help_with_a_task_shows_that_tasks_defaults(
    spacil: Spacil, algorithm: str, task: str, defaults: dict[str, str]
) -> None:
    shown = spacil("train", algorithm, "--task", task, "--help-all")
    assert shown.code == 0
    short = words_of(spacil("train", algorithm, "--task", task, "--help").out)
    assert short.count("(default") < 50 and "--cg-damping" not in short and "--gamma" in short
    for flag, default in defaults.items():
        found = re.search(rf"--{flag} [FI[].*?\(default: (\S+)\)", words_of(shown.out))
        assert found is not None and found[1] == default, flag


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ppo"], "spacil train trpo --policy-step ppo"),
        (["dqn"], "expected one of spacil, gail, airl, trpo, bc"),
        (["GAIL", "--env", "Reacher-v4"], "--env: it is --task NAME"),
        (["gail", "--task", "Reacher-v4", "--total-timesteps", "9"], "a run has --iterations"),
        (["gail", "--task", "my_arm.py"], "my_arm:Env-v0, the id that it registers"),
        (["gail", "--task", "PointMaze_UMaze-v3"], "module:PointMaze_UMaze-v3"),
        (["smooth", "--task", "Reacher-v4"], "expected one of spacil, gail, airl, trpo, bc"),
        (["gail"], "--task"),
        (["gail", "--task"], "--task"),
        (["gail", "--task", "Reacher-v4", "--bogus", "1"], "--bogus"),
        (["gail", "--task", "Reacher-v4", "--max-kl", "little"], "--max-kl"),
        (["gail", "--task", "Reacher-v4", "--init", "zeros"], "zeros"),
        (["gail", "--task", "Reacher-v4", "--preset", "mean"], "gail has no such preset"),
        (
            ["trpo", "--task", "Reacher-v4", "--preset", "paper-mean"],
            "trpo has no such preset; it has none, fast",
        ),
        (["spacil", "--task", "Pendulum-v1", "--preset", "paper-sum"], "no weights for Pendulum"),
        (["gail", "--task", "Recher-v4"], "did you mean Reacher-v"),
        (["gail", "--task", "Pendulum-v1"], "no demonstrations are bundled for Pendulum-v1"),
        (["trpo", "--task", "Reacher-v4", "--num-demos", "3"], "takes no --num-demos"),
        (["trpo", "--task", "Reacher-v4", "--demos", "Reacher-v4"], "takes no --demos"),
        (["gail", "--task", "Reacher-v4", "--overwrite"], "--overwrite needs --run-dir"),
    ],
)
def test_a_mistake_is_refused_in_words_and_leaves_nothing_behind(
    spacil: Spacil, here: Path, arguments: list[str], message: str
) -> None:
    refusal = spacil("train", *arguments)
    assert (refusal.code, refusal.out) == (2, "")
    assert message in words_of(refusal.err)
    assert not list(here.rglob("run.json"))


def test_a_preset_sets_its_fields_and_flags_win(train: Train, tmp_path: Path) -> None:
    trained = train(
        *("spacil", "--run-dir", tmp_path / "run", "--preset", "paper-sum"),
        *("--lambda-cost", 0.5, "--discriminator-activation", "relu"),
        iterations=1,
    )
    assert trained.code == 0
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    term, weight = "scale=paper-sum:rule=raw", 0.01  # of the paper's column for Reacher
    assert config["penalty"] == [f"pgd={weight}:{term}"]
    assert config["cost_penalty_form"] == "response:scale=paper-sum:estimator=pgd:rule=raw"
    assert config["standardize_actions"] is False
    assert config["lambda_cost"] == 0.5
    assert config["discriminator_activation"] == "relu"


EVALUATION = {
    "iteration",
    "env_steps",
    "average_return",
    "return_std",
    "return_low",
    "return_high",
    "num_episodes",
    "mean_length",
    "smoothness_j",
    "smoothness_j_own",
    "smoothness_j_raw",
    "smoothness_j_common",
    "smoothness_j_effective",
}


def test_the_result_has_stable_keys_and_is_kept_in_the_folder(train: Train, tmp_path: Path) -> None:
    trained = train("gail", "--run-dir", tmp_path / "run")
    assert (trained.code, trained.err) == (0, "")
    result = trained.result
    assert result.keys() >= {"run_dir", "best", "last"}
    assert result["run_dir"] == str(tmp_path / "run")
    assert result["best"].keys() >= EVALUATION
    assert result["last"].keys() == result["best"].keys()
    assert result["last"]["iteration"] == 3 and result["last"]["env_steps"] == 600
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (kept["best"], kept["last"]) == (result["best"], result["last"])


def test_a_run_prints_plain_lines_and_a_summary_where_there_is_no_terminal(
    spacil: Spacil, tiny_flags: TinyFlags, tmp_path: Path
) -> None:
    command = ("train", "gail", "--task", "Reacher-v4", "--run-dir", tmp_path / "run")
    trained = spacil(*command, *tiny_flags())
    assert trained.code == 0
    lines = trained.err.splitlines()
    assert "\x1b" not in trained.err + trained.out
    untrained, *lines = lines
    assert re.match(r"\[0/3\]  return -\d+\.\d\d  J \d", untrained)
    assert all(re.match(r"\[\d/3\] .*KL 0\.\d{4}", line) for line in lines)
    evaluated = [line for line in lines if "]  return -" in line]
    assert [line[:5] for line in evaluated] == ["[2/3]", "[3/3]"]
    heads, first = trained.out.splitlines()[:2]
    assert re.match(r" +demonstrator +handed out: highest return( +last)?$", heads)
    assert re.match(r"return G( +-\d+\.\d{3}){2,3}$", first)
    assert f"run folder: {tmp_path / 'run'}\n" in trained.out
    assert_drawn(tmp_path / "run" / "learning_curve.png")


UNPAID = """
class Unpaid(Cart):
    def step(self, action):
        state, _, *others = super().step(action)
        return (state, 0.0, *others)


def make_unpaid():
    return Unpaid()
"""


@pytest.mark.parametrize(("algorithm", "picked"), [("gail", "highest return"), ("bc", "held-out")])
def test_where_no_reward_is_paid_the_table_compares_with_the_demonstrations(
    spacil: Spacil,
    tiny_flags: TinyFlags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
    picked: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    module, demos = f"unpaid_by_{algorithm}", write_own_demos(tmp_path / "demos.npz")
    (tmp_path / f"{module}.py").write_text(SOURCE.partition("gymnasium.register")[0] + UNPAID)
    task, run = ("--task", f"{module}:make_unpaid"), tmp_path / "run"
    flags = (*task, "--demos", demos, "--run-dir", run, "--quiet")
    trained = spacil("train", algorithm, *flags, *tiny_flags(algorithm))
    assert trained.code == 0 and picked in trained.out.splitlines()[0]
    played = spacil("evaluate", run, *task, "--episodes", 3)
    for shown in (trained.out, played.out):
        assert re.search(r"^return G( +-)+$", shown, re.MULTILINE)
        scores = re.search(r"^imitation score, 0 is alike +(?:- +)?(\d\.\d+)", shown, re.MULTILINE)
        assert scores is not None and float(scores[1]) > 0
        assert re.search(r"^  alike up to( +0\.\d+)+$", shown, re.MULTILINE)
        assert "every episode earned 0, so the return says nothing" in shown
    kept = spacil("evaluate", run, *task, "--episodes", 3, "--keep")
    compared = spacil("compare", run)
    assert (kept.code, compared.code) == (0, 0)
    assert "earned 0, so G says nothing" in compared.out and "no fresh" not in compared.out
    assert "imitation score" in compared.out and "return G" not in compared.out


def test_cloning_that_stops_early_says_why(
    spacil: Spacil, tiny_flags: TinyFlags, tmp_path: Path
) -> None:
    flags = tiny_flags("bc", iterations=50, clone_patience=2, clone_learning_rate=0.3)
    flags = ("--task", "Reacher-v4", "--run-dir", tmp_path / "run", *flags)
    told = spacil("train", "bc", *flags).err
    stop = re.search(r"stopped after epoch (\d+): .* has not fallen for 2 epochs", told)
    assert stop is not None
    assert f"the policy of epoch {int(stop[1]) - 2} is handed out" in told

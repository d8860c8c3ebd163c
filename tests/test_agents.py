"""The Python face: the verbs people know, and what they promise."""

import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tiny_runs import tiny

import spacil as library
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.recording import record_demonstrations
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, DataError
from spacil.runs import checkpoint, metrics_log
from spacil.runs.facts import read_run


@pytest.fixture(scope="session")
def pendulum_demos() -> Demonstrations:
    """Of somebody who pushes against the motion."""
    env = make_vector_env("Pendulum-v1", 4, ResetSeeds(0, "demos"))
    demos = record_demonstrations(env, lambda states: -states[:, 2:], 4, {"policy": "a brake"})
    env.close()
    return demos


def saved_state(agent: Any, folder: Path) -> checkpoint.Checkpoint:
    agent.save(folder)
    found = checkpoint.best(folder / "checkpoints")
    assert found is not None
    return found


def make_pendulum() -> Any:
    return gymnasium.make("Pendulum-v1")


@pytest.mark.parametrize("kind", ["id", "instance", "factory"])
def test_an_env_may_be_an_id_an_instance_or_a_function(
    pendulum_demos: Demonstrations, tmp_path: Path, kind: str
) -> None:
    env = {"id": "Pendulum-v1", "instance": make_pendulum(), "factory": make_pendulum}[kind]
    agent = library.GAIL(env=env, demonstrations=pendulum_demos, **tiny())
    agent.learn(2)
    expected_name = "make_pendulum" if kind == "factory" else "Pendulum-v1"
    assert agent.config.task == expected_name
    # However the env was given, it is the same env and the same run.
    reference = library.GAIL("Pendulum-v1", pendulum_demos, **tiny()).learn(2)
    for name, value in reference.policy.state_dict().items():
        assert torch.equal(agent.policy.state_dict()[name], value)
    agent.save(tmp_path / "agent")
    loaded = library.GAIL.load(tmp_path / "agent", env=env, demonstrations=pendulum_demos)
    assert loaded.learn(1).policy.predict([1.0, 0.0, 0.0]).shape == (1,)


def test_settings_are_those_of_the_command_line() -> None:
    agent = library.SPaCIL("Reacher-v4", max_kl=0.02, policy_hidden=[8, 8], num_envs=10, seed=3)
    assert agent.config.policy_step.max_kl == 0.02
    assert agent.config.nets.policy_hidden == (8, 8)
    assert agent.config.run.seed == 3
    assert agent.policy.hidden == [8, 8]
    assert library.GAIL("Reacher-v4", preset="paper-mean", num_envs=10).config.discriminator == (
        library.SPaCIL("Reacher-v4", preset="paper-mean", num_envs=10).config.discriminator
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_kll": 0.02}, r"unknown setting max_kll: did you mean max_kl[,?]"),
        ({"lambda_polcy": 0.02}, "did you mean lambda_policy"),
        ({"max_kl": "0.02"}, "max_kl is '0.02', expected a finite number"),
        ({"max_kl": True}, "max_kl is True"),
        ({"init": "zeros"}, "init is 'zeros', expected fan-in, paper-numel"),
        ({"policy_hidden": (16, "8")}, "policy_hidden is"),
        ({"gamma": 1.5}, r"^gamma is 1\.5, expected in \(0, 1\]"),
        ({"seed": -1}, r"^seed is -1, expected 0 or more"),
        ({"steps_per_iteration": 7}, "^steps_per_iteration is 7, expected a multiple of num_envs"),
        ({"warm_start_epochs": 5, "lambda_policy": -1.0}, "^penalty exact=-1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_that_do_not_exist_or_fit_are_refused_by_keyword(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        library.SPaCIL("Reacher-v4", **settings)
    assert "--" not in str(caught.value)


def test_learning_twice_is_learning_once_for_as_long(tmp_path: Path) -> None:
    # Evaluated every time, so that the end of a call is no evaluation more.
    settings = tiny("spacil", evaluation_interval=1)
    twice = library.SPaCIL("Reacher-v4", **settings).learn(2).learn(1)
    once = library.SPaCIL("Reacher-v4", **settings).learn(3)
    states = [
        saved_state(agent, tmp_path / name) for name, agent in zip("ab", (twice, once), strict=True)
    ]
    assert states[0].content_hash == states[1].content_hash


@pytest.mark.parametrize("number", [0, -1, 1.5, True, np.True_, "2", np.float64(2), None])
def test_only_whole_numbers_are_taken_and_nothing_runs_before(number: Any) -> None:
    agent = library.TRPO("Reacher-v4", **tiny("trpo"))
    refusal = re.escape(f"is {number!r}, expected 1 or more, a whole number")
    if number is not None:  # as many as the config says
        with pytest.raises(ConfigError, match=f"^iterations {refusal}"):
            agent.learn(number)
    with pytest.raises(ConfigError, match=f"^episodes {refusal}"):
        agent.evaluate(number)
    with pytest.raises(ConfigError, match=r"^seed is -1, expected 0 or more"):
        agent.evaluate(1, seed=-1)
    assert agent.config.run.iterations == tiny("trpo")["iterations"]


def test_what_a_numpy_number_of_iterations_keeps_can_be_read_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    agent = library.TRPO("Reacher-v4", **tiny("trpo")).learn(np.int64(2), run_dir=run)  # type: ignore[arg-type]
    assert read_run(run).config.run.iterations == 2
    assert library.TRPO("Reacher-v4", **tiny("trpo")).learn(3, run_dir=run).config.run.iterations
    agent.save(tmp_path / "saved")
    assert library.TRPO.load(tmp_path / "saved").learn(1).config.run.iterations == 3


def test_a_callback_sees_every_iteration_and_may_stop() -> None:
    seen: list[dict[str, Any]] = []

    def watch(agent: Any, metrics: dict[str, Any]) -> bool | None:
        seen.append(metrics)
        assert agent.policy.predict(np.zeros(11)).shape == (2,)
        return False if metrics["iteration"] == 2 else None

    agent = library.GAIL("Reacher-v4", **tiny(iterations=50))
    agent.learn(callback=watch)
    assert [metrics["iteration"] for metrics in seen] == [1, 2]
    assert seen[0].keys() >= {"env_steps", "train_return", "kl", "value_loss", "disc_acc"}
    assert seen[1].keys() >= {"average_return", "smoothness_j", "is_best"}
    agent.learn(1, callback=watch)
    assert seen[-1]["iteration"] == 3


def test_a_run_folder_keeps_the_run_and_goes_on_up_to_the_same_total(tmp_path: Path) -> None:
    def script() -> Any:
        return library.TRPO("Reacher-v4", **tiny("trpo")).learn(4, run_dir=tmp_path / "run")

    def die(agent: Any, metrics: dict[str, Any]) -> None:
        if metrics["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.TRPO("Reacher-v4", **tiny("trpo")).learn(4, callback=die, run_dir=tmp_path / "run")
    again, undisturbed = script(), library.TRPO("Reacher-v4", **tiny("trpo")).learn(4)
    for name, value in undisturbed.policy.state_dict().items():
        assert torch.equal(again.policy.state_dict()[name], value)
    rows = metrics_log.read(tmp_path / "run" / "metrics.jsonl")
    assert [row["iteration"] for row in rows] == [0, 1, 2, 3, 4]
    with pytest.raises(ConfigError, match=r"max_kl: 0\.01 -> 0\.02"):
        library.TRPO("Reacher-v4", **tiny("trpo", max_kl=0.02)).learn(4, run_dir=tmp_path / "run")


@pytest.mark.parametrize("agent_type", [library.TRPO, library.GAIL, library.SPaCIL, library.BC])
def test_a_loaded_agent_goes_on_as_if_there_had_been_no_break(
    tmp_path: Path, agent_type: type[Any]
) -> None:
    going_on = agent_type("Reacher-v4", **tiny(agent_type.algorithm, seed=4)).learn(2)
    going_on.save(tmp_path / "saved")
    loaded = agent_type.load(tmp_path / "saved")
    assert loaded.config == going_on.config
    going_on.learn(2)
    loaded.learn(2)
    first, second = (
        saved_state(agent, tmp_path / name) for name, agent in (("a", going_on), ("b", loaded))
    )
    assert first.content_hash == second.content_hash


def test_saving_over_a_former_save_replaces_it(tmp_path: Path) -> None:
    agent = library.GAIL("Reacher-v4", **tiny())
    for iteration in (1, 2):
        agent.learn(1).save(tmp_path / "saved")
        agent.save(tmp_path / "saved")  # also when nothing has changed
        assert library.GAIL.load(tmp_path / "saved")._learner.counters.iteration == iteration
    names = [path.name for path in (tmp_path / "saved" / "checkpoints").iterdir()]
    assert names == [checkpoint.BEST]


def test_a_run_folder_can_be_loaded_but_not_saved_over(finished_run: Path) -> None:
    best = checkpoint.best(finished_run / "checkpoints")
    assert best is not None
    agent = library.GAIL.load(finished_run)
    assert agent._learner.counters.iteration == best.iteration
    with pytest.raises(ConfigError, match="is a run folder, with a best policy of its own"):
        agent.save(finished_run)


def test_loading_what_is_not_there_or_of_another_kind_is_refused(
    pendulum_demos: Demonstrations, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="no saved agent here"):
        library.GAIL.load(tmp_path)
    library.GAIL("Reacher-v4", **tiny()).save(tmp_path / "saved")
    with pytest.raises(ConfigError, match="holds a gail agent, not a trpo one"):
        library.TRPO.load(tmp_path / "saved")
    with pytest.raises(ConfigError, match="cannot resume with other demonstrations"):
        library.GAIL.load(
            tmp_path / "saved", demonstrations=library.load_demos("Reacher-v4").first(3)
        )
    library.GAIL(make_pendulum, pendulum_demos, **tiny()).save(tmp_path / "pendulum")
    with pytest.raises(ConfigError, match="unknown task 'make_pendulum'"):
        library.GAIL.load(tmp_path / "pendulum", demonstrations=pendulum_demos)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_an_agent_of_a_gpu_is_loaded_without_one_on_request(tmp_path: Path) -> None:
    agent = library.TRPO("Reacher-v4", **tiny("trpo")).learn(1)
    state = saved_state(agent, tmp_path / "cpu")
    free = {"free_settings": state.notes["free_settings"] | {"device": "cuda"}}
    gpu = checkpoint.RunState(state.tensors, state.document, state.notes | free)
    checkpoint.write_best(tmp_path / "gpu" / "checkpoints", gpu)
    with pytest.raises(ConfigError, match="no such CUDA device here"):
        library.TRPO.load(tmp_path / "gpu")
    loaded = library.TRPO.load(tmp_path / "gpu", device="cpu")
    assert saved_state(loaded, tmp_path / "loaded").tensors.keys() == state.tensors.keys()
    assert loaded.learn(1).config.run.device == "cpu"


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        *(
            (np.zeros(shape), r"takes \(11,\) or \(batch, 11\)")
            for shape in [(10,), (0,), (2, 3, 11), ()]
        ),
        *((np.full((3, 11), value), "NaN or infinity") for value in (np.nan, np.inf)),
    ],
)
def test_observations_of_another_shape_or_that_are_no_numbers_are_refused(
    observations: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        library.TRPO("Reacher-v4", **tiny("trpo")).policy.predict(observations)


def test_an_evaluation_repeats_for_its_seed_and_leaves_the_agent_alone(tmp_path: Path) -> None:
    agent = library.GAIL("Reacher-v4", **tiny()).learn(1)
    before = saved_state(agent, tmp_path / "before").content_hash
    result = agent.evaluate(episodes=60)
    assert result.num_episodes == 60 and result.mean_length == 50
    assert result == agent.evaluate(episodes=60)
    assert result != agent.evaluate(episodes=60, seed=1)
    assert saved_state(agent, tmp_path / "after").content_hash == before


def test_agent_policy_and_file_predict_the_same(tmp_path: Path) -> None:
    agent = library.GAIL("Reacher-v4", **tiny()).learn(1)
    library.save_policy(agent, tmp_path / "mine.policy.safetensors")
    loaded = library.load_policy(tmp_path / "mine.policy.safetensors")
    assert loaded.task == "Reacher-v4"
    assert loaded.provenance == {"algorithm": "gail", "seed": 0}
    assert loaded.common_frame is not None and agent.common_frame is not None
    assert loaded.common_frame.is_same_as(agent.common_frame)
    observation = np.linspace(-1, 1, 11)
    expected = agent.policy.predict(observation)
    assert np.array_equal(agent.predict(observation), expected)
    assert np.array_equal(loaded.predict(observation), expected)


def test_a_bare_policy_is_saved_with_the_name_of_its_task(tmp_path: Path) -> None:
    path, policy = tmp_path / "x.policy.safetensors", library.load_expert("Reacher-v4").policy
    for given, words in (
        (policy, "does not know its task"),
        ({}, "cannot open a dict as a policy"),
    ):
        with pytest.raises(ConfigError, match=words):
            library.save_policy(given, path)
    library.save_policy(policy, path, task="Reacher-v5")
    assert library.load_policy(path).task == "Reacher-v5"


def test_missing_demonstrations_are_asked_for_by_keyword() -> None:
    with pytest.raises(ConfigError, match="pass demonstrations=FILE"):
        library.GAIL("Pendulum-v1")


@pytest.mark.parametrize("arrays", [np.zeros((50, 11)), [np.zeros((50, 11))]])
def test_arrays_without_names_are_refused_with_what_makes_a_record_of_them(arrays: Any) -> None:
    message = rf"from a {type(arrays).__name__}: .*spacil\.Demonstrations\.from_arrays"
    with pytest.raises(ConfigError, match=message):
        library.SPaCIL("Reacher-v4", demonstrations=arrays, **tiny("spacil"))
    with pytest.raises(ConfigError, match=message):
        library.load_demos(arrays)


def test_arrays_by_name_have_to_say_where_episodes_end() -> None:
    with pytest.raises(DataError, match="where episodes end; add episode_lengths"):
        library.load_demos({"observations": np.zeros((50, 11))})


@pytest.mark.parametrize("agent_type", [library.GAIL, library.SPaCIL, library.BC])
def test_the_evaluation_of_the_untrained_policy_changes_nothing_that_follows(
    tmp_path: Path, agent_type: type[Any]
) -> None:
    without = agent_type("Reacher-v4", **tiny(agent_type.algorithm)).learn(2)
    with_it = agent_type("Reacher-v4", **tiny(agent_type.algorithm))
    with_it.learn(2, run_dir=tmp_path / "run")
    assert metrics_log.read(tmp_path / "run" / "metrics.jsonl")[0]["iteration"] == 0
    expected = without._learner.state.tensors()
    for name, value in with_it._learner.state.tensors().items():
        assert torch.equal(value, expected[name]), name


def policy_of(agent: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in agent.policy.state_dict().items()}


def test_a_weight_that_a_callback_writes_is_read_by_the_next_iteration_and_saved(
    tmp_path: Path,
) -> None:
    plain = {"preset": "plain", "penalty_ramp_iterations": 1, "lambda_cost": 0.0}
    late = library.SPaCIL("Reacher-v4", **plain, **tiny("spacil", penalty="exact=1"))
    written = library.SPaCIL("Reacher-v4", **plain, **tiny("spacil", lambda_policy=0.0))

    def write_once(agent: Any, metrics: dict[str, Any]) -> None:
        if metrics["iteration"] == 1:
            agent.penalty_weights["exact"] = 1.0

    late.learn(2)
    written.learn(2, callback=write_once)
    written.save(tmp_path / "agent")
    loaded = library.SPaCIL.load(tmp_path / "agent")
    assert loaded.penalty_weights == {"exact": 1.0}
    for agent in (late, written, loaded):
        agent.learn(1)
    expected = policy_of(late)
    for agent in (written, loaded):
        assert all(torch.equal(value, expected[name]) for name, value in policy_of(agent).items())
    found: list[dict[str, Any]] = []
    for weight in (2.0, 0.0):
        written.penalty_weights["exact"] = weight
        written.learn(1, callback=lambda _, metrics: found.append(metrics))
    assert ["loss_penalty_exact" in metrics for metrics in found] == [True, False]
    written.penalty_weights["steep"] = 1.0
    with pytest.raises(ConfigError, match="there is no penalty 'steep'"):
        written.learn(1)
    for agent in (late, written, loaded):
        agent.close()


@pytest.mark.parametrize("agent_type", [library.TRPO, library.GAIL])
def test_a_term_of_the_reward_is_added_to_every_step(agent_type: Any) -> None:
    means: list[float] = []
    for terms in ([], [lambda batch: torch.full_like(batch.env_rewards, 3.0)] * 2):
        agent = agent_type("Reacher-v4", **tiny(agent_type.algorithm))
        agent.reward_terms.extend(terms)
        agent.learn(1, callback=lambda _, found: means.append(found["reward_mean"]))
        agent.close()
    assert means[1] == pytest.approx(means[0] + 6, abs=1e-5)


def test_what_cannot_be_a_term_or_has_none_is_refused() -> None:
    agent = library.GAIL("Reacher-v4", **tiny())
    agent.reward_terms.append(lambda batch: batch.env_rewards.sum())
    with pytest.raises(
        ConfigError, match=r"returned the shapes \[\(\)\], expected one reward per step"
    ):
        agent.learn(1)
    agent.close()
    clone = library.BC("Reacher-v4", **tiny("bc"))
    with pytest.raises(ConfigError, match="bc has no penalty_weights"):
        clone.penalty_weights["exact"] = 1.0
    clone.close()

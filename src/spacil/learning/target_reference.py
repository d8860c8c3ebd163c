"""Which J or action change a target means: a number, or a fraction of somebody's."""

import logging
from pathlib import Path

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.config.wishes import WishConfig
from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.demonstrator import action_change_in
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.learning.cloner import clone
from spacil.measuring.evaluate import Evaluation, evaluate
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import load_policy, require_fit

_logger = logging.getLogger(__name__)

REFERENCE_EPISODE = 0
"""That of the untrained policy too; evaluations that count have later ones."""


def refuse_own_reference(wish: WishConfig, run_path: Path) -> None:
    """A run's target cannot be a fraction of what the run itself replaces."""
    references = {
        "--smoothness-target-reference": wish.smoothness_target_reference,
        "--fluctuation-target-reference": wish.fluctuation_target_reference,
    }
    for flag, reference in references.items():
        is_path = reference not in ("none", "demonstrator")
        if is_path and Path(reference).resolve().is_relative_to(run_path.resolve()):
            raise ConfigError(
                f"{flag} {reference}: it lies in the folder of this run, which replaces it; choose "
                "another --run-dir"
            )


def target_j(
    config: TrainConfig,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None,
    eval_env: VectorEnv,
) -> float:
    """J*, in the run's common frame. Policies are measured on `eval_env`."""
    target, reference = config.wish.smoothness_target, config.wish.smoothness_target_reference
    if demonstrations is None or common_frame is None:
        raise ConfigError("--smoothness-target is in the demonstrations' units: pass --demos")
    if reference == "none":
        return target
    if reference == "demonstrator":
        reference_j = _recorded_j(demonstrations, common_frame)
        if reference_j is None:
            _logger.warning(
                "the demonstrations were edited or do not say how smooth the demonstrator is: "
                "cloning it"
            )
            policy = _clone(config, demonstrations, eval_env)
            reference_j = _measured(policy, common_frame, eval_env).smoothness_j
    else:
        policy = _loaded(Path(reference), eval_env, "--smoothness-target-reference")
        reference_j = _measured(policy, common_frame, eval_env).smoothness_j
    if not reference_j:
        raise ConfigError("the reference policy does not react to the state: its J is 0")
    _logger.info("smoothness target: %g of %s's J %.4g", target, reference, reference_j)
    return target * reference_j


def target_fluctuation(
    config: TrainConfig,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None,
    eval_env: VectorEnv,
) -> float:
    """The action change to end at, E |a_{t+1} - a_t|. Policies are measured on `eval_env`."""
    target, reference = config.wish.fluctuation_target, config.wish.fluctuation_target_reference
    if reference == "none":
        return target
    if reference == "demonstrator":
        if demonstrations is None:
            raise ConfigError(
                "--fluctuation-target-reference demonstrator: there are no demonstrations"
            )
        change = action_change_in(demonstrations)
        if change is None:
            _logger.warning(
                "steps were left out of the demonstrations, and with them how much the "
                "demonstrator's actions change: cloning it"
            )
            policy = _clone(config, demonstrations, eval_env)
            change = _measured(policy, common_frame, eval_env).action_fluctuation
    else:
        policy = _loaded(Path(reference), eval_env, "--fluctuation-target-reference")
        change = _measured(policy, common_frame, eval_env).action_fluctuation
    if not change:
        raise ConfigError(f"the actions of {reference} never change: no fraction of that is less")
    _logger.info("fluctuation target: %g of %s's change %.4g", target, reference, change)
    return target * change


def _recorded_j(demonstrations: Demonstrations, common_frame: CommonFrame) -> float | None:
    """As recorded with the demonstrations, where that is in this frame."""
    match recorded_evaluation(demonstrations, common_frame):
        case {"smoothness_j": float(recorded)} if recorded > 0:
            return recorded
    return None


def _clone(
    config: TrainConfig, demonstrations: Demonstrations, eval_env: VectorEnv
) -> GaussianPolicy:
    settings = with_settings(default_config("bc", config.task), {"seed": config.run.seed})
    return clone(demonstrations, eval_env.spec, settings)


def _loaded(path: Path, eval_env: VectorEnv, flag: str) -> GaussianPolicy:
    if not path.exists():
        raise ConfigError(
            f"{flag} {path}: expected none, demonstrator, or a run folder or policy file that "
            "exists"
        )
    policy = load_policy(path, "last").policy
    require_fit(policy, eval_env.spec, path)
    return policy


def _measured(
    policy: GaussianPolicy, common_frame: CommonFrame | None, eval_env: VectorEnv
) -> Evaluation:
    return evaluate(policy, eval_env, REFERENCE_EPISODE, eval_env.num_envs, common_frame)

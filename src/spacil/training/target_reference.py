"""Which J a smoothness target means: a number, or a fraction of somebody's, in the common frame."""

import logging
from pathlib import Path

from spacil.cloning.cloner import clone
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.evaluate import evaluate
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import load_policy, require_fit

_logger = logging.getLogger(__name__)

REFERENCE_EPISODE = 0
"""That of the untrained policy too; evaluations that count have later ones."""


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
        reference_j = _demonstrator_j(config, demonstrations, common_frame, eval_env)
    else:
        policy = _loaded(Path(reference), eval_env)
        reference_j = _measured_j(policy, common_frame, eval_env)
    _logger.info("smoothness target: %g of %s's J %.4g", target, reference, reference_j)
    return target * reference_j


def _demonstrator_j(
    config: TrainConfig,
    demonstrations: Demonstrations,
    common_frame: CommonFrame,
    eval_env: VectorEnv,
) -> float:
    """As recorded with the demonstrations where that is in this frame, or else as cloned."""
    match recorded_evaluation(demonstrations, common_frame):
        case {"smoothness_j": float(recorded)} if recorded > 0:
            return recorded
    _logger.warning(
        "the demonstrations were edited or do not say how smooth the demonstrator is: cloning it"
    )
    settings = with_settings(default_config("bc", config.task), {"seed": config.run.seed})
    return _measured_j(clone(demonstrations, eval_env.spec, settings), common_frame, eval_env)


def _loaded(path: Path, eval_env: VectorEnv) -> GaussianPolicy:
    if not path.exists():
        raise ConfigError(
            f"--smoothness-target-reference {path}: expected none, demonstrator, or a run folder "
            "or policy file that exists"
        )
    policy = load_policy(path, "last").policy
    require_fit(policy, eval_env.spec, path)
    return policy


def _measured_j(policy: GaussianPolicy, common_frame: CommonFrame, eval_env: VectorEnv) -> float:
    result = evaluate(policy, eval_env, REFERENCE_EPISODE, eval_env.num_envs, common_frame)
    assert result.smoothness_j is not None
    if result.smoothness_j == 0:
        raise ConfigError("the reference policy does not react to the state: its J is 0")
    return result.smoothness_j

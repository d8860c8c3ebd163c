"""What a weight search starts from: targets, thresholds and references, measured before a run.

Nothing here draws from a run's streams.
"""

import logging
import math
from pathlib import Path
from typing import Literal

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.settings import WishConfig
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.errors import ConfigError
from spacil.learning.cloning import Cloner, clone, cloning_config
from spacil.learning.weight_search import Constraint, ScoreSearch
from spacil.measuring.evaluate import evaluate
from spacil.measuring.frames import mean_j
from spacil.measuring.imitation_score import score_threshold
from spacil.measuring.played import random_return
from spacil.policies.open import load_policy
from spacil.seeding import stream

_logger = logging.getLogger(__name__)

TargetName = Literal["smoothness", "fluctuation"]

REFERENCE_EPISODE = 0
"""Episode of the untrained policy too; evaluations that count have later ones."""
J_AT_ONE_PAIR, J_DECAY = 0.6, 0.08
"""J* / J_ref = 0.6 M^-0.08 with M demonstrated pairs: scarce demonstrations allow less."""
J_OF_CONFIG_WEIGHT, LARGEST_SCALE = 1.8, 10.0
"""The J_ref down to which the config's weight is the first one; most it is multiplied by."""
NUM_REFERENCE_STATES = 1_000
REFERENCE_STEPS = 1_500
"""Adam steps of the unpenalised clone where the run itself starts untrained."""


def refuse_own_reference(wish: WishConfig, run_path: Path) -> None:
    """Refuse a target that is a fraction of what the run itself replaces."""
    for name in ("smoothness", "fluctuation"):
        reference = getattr(wish, f"{name}_target_reference")
        is_path = reference not in ("none", "demonstrator")
        if is_path and Path(reference).resolve().is_relative_to(run_path.resolve()):
            raise ConfigError(
                f"--{name}-target-reference {reference}: it lies in the folder of this run, which "
                "replaces it; choose another --run-dir"
            )


def wanted_value(
    name: TargetName,
    config: TrainConfig,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None,
    eval_env: VectorEnv,
) -> float:
    """J in the run's common frame, or the action change E |a_{t+1} - a_t|, to end at.

    Reference policies are measured on `eval_env`.
    """
    flag = f"--{name}-target"
    target: float = getattr(config.wish, f"{name}_target")
    reference: str = getattr(config.wish, f"{name}_target_reference")
    if name == "smoothness" and (demonstrations is None or common_frame is None):
        raise ConfigError(f"{flag} is in the demonstrations' units: pass --demos")
    if reference == "none":
        return target
    value = None
    if reference == "demonstrator":
        if demonstrations is None:
            raise ConfigError(f"{flag}-reference demonstrator: there are no demonstrations")
        value = _recorded(name, demonstrations, common_frame)
    if value is None:
        if reference == "demonstrator":
            assert demonstrations is not None
            _logger.warning(
                "%s: the demonstrations do not tell their demonstrator's: clone it", flag
            )
            settings = {"seed": config.run.seed}
            settings_of_clone = with_settings(default_config("bc", config.task), settings)
            policy = clone(demonstrations, eval_env.spec, settings_of_clone)
        else:
            path = Path(reference)
            if not path.exists():
                raise ConfigError(
                    f"{flag}-reference {path}: expected none, demonstrator, or a run folder or "
                    "policy file that exists"
                )
            loaded = load_policy(path, "last")
            loaded.require_env(eval_env.spec)
            policy = loaded.policy
        found = evaluate(policy, eval_env, REFERENCE_EPISODE, eval_env.num_envs, common_frame)
        value = found.smoothness_j if name == "smoothness" else found.action_fluctuation
    if not value:
        raise ConfigError(
            f"{flag}-reference {reference}: its policy does not react to the state or does not "
            "move, and there is no fraction of 0; choose another reference"
        )
    _logger.info("%s: %g of %s's %.4g", flag, target, reference, value)
    return target * value


def _recorded(
    name: TargetName, demonstrations: Demonstrations, common_frame: CommonFrame | None
) -> float | None:
    """The demonstrator's own value, where its demonstrations tell it: whole, and in this frame."""
    if name == "fluctuation":
        return demonstrations.action_change
    assert common_frame is not None
    match recorded_evaluation(demonstrations, common_frame):
        case {"smoothness_j": float(recorded)} if recorded > 0:
            return recorded
    return None


def threshold_of(demonstrations: Demonstrations, seed: int) -> float:
    """tau, the score up to which a policy counts as like the demonstrations."""
    episodes = demonstrations.episode_of_step
    return score_threshold(demonstrations.states, episodes, stream(seed, "score threshold"))


def start_score_search(
    config: TrainConfig, demonstrations: Demonstrations, common_frame: CommonFrame, spec: EnvSpec
) -> ScoreSearch:
    """The default's search before the first iteration.

    J_ref is the J of an unpenalised clone on demonstrated states, which comes out near GAIL's
    without running it; J* is 0.38 J_ref at 300 pairs, 0.3 at 6,000. The first weight is the
    config's times (1.8 / J_ref)^2, where that is above 1: the penalty is quadratic in J, and what
    J_ref a task has is its own. How the numbers were chosen: docs/results/recipe.md.
    """
    threshold = threshold_of(demonstrations, config.run.seed)
    reference_j = unpenalized_j(config, demonstrations, common_frame, spec)
    target_j = target_fraction(demonstrations.num_steps) * reference_j
    config_weight = config.policy_penalty.first_weight
    first = weight_scale(reference_j) * config_weight
    _logger.debug("weight search: score up to %.3f, J down to %.3f", threshold, target_j)
    return ScoreSearch.starting(threshold, target_j, config_weight, first)


def target_fraction(num_pairs: int) -> float:
    """J* / J_ref with so many demonstrated pairs."""
    return float(J_AT_ONE_PAIR * num_pairs**-J_DECAY)


def weight_scale(reference_j: float) -> float:
    """First weight / the config's, where an unpenalised clone has this J."""
    if reference_j >= J_OF_CONFIG_WEIGHT:
        return 1.0
    lowest_j = J_OF_CONFIG_WEIGHT / math.sqrt(LARGEST_SCALE)
    return (J_OF_CONFIG_WEIGHT / max(reference_j, lowest_j)) ** 2


def unpenalized_j(
    config: TrainConfig, demonstrations: Demonstrations, common_frame: CommonFrame, spec: EnvSpec
) -> float:
    """J_ref: of a clone without penalty, on demonstrated states."""
    unpenalized = with_settings(config, {"penalty": (), "penalty_weight": "fixed"})
    cloner = Cloner(cloning_config(unpenalized), spec, demonstrations)
    clone = cloner.run(config.warm_start.warm_start_steps or REFERENCE_STEPS)
    stride = -(-demonstrations.num_steps // NUM_REFERENCE_STATES)
    return mean_j(clone, demonstrations.states.float()[::stride], common_frame)


def start_constraint(
    config: TrainConfig, demonstrations: Demonstrations, eval_env: VectorEnv
) -> Constraint:
    """What the smoothest policy must keep, before the first iteration."""
    keep, threshold = config.wish.keep_return, threshold_of(demonstrations, config.run.seed)
    if not keep:
        return Constraint(0.0, threshold)
    random = random_return(eval_env, config.run.seed)
    returns = demonstrations.returns
    reference = math.nan if returns is None else float(returns.mean())
    if not math.isfinite(reference):
        _logger.warning(
            "the demonstrations hold no rewards, or some that are not finite: --keep-return %g is "
            "of the best return that the run has seen",
            keep,
        )
        return Constraint(keep, threshold, random, follows_best=True)
    if reference <= random:
        raise ConfigError(
            f"--keep-return {keep}: the demonstrator earns {reference:.4g}, no more than random "
            f"actions ({random:.4g}), so there is no share to keep; leave it out, and --smoothest "
            "keeps to the demonstrated states"
        )
    _logger.info(
        "--keep-return %g: of the demonstrator's return %.4g, from that of random actions %.4g",
        keep,
        reference,
        random,
    )
    return Constraint(keep, threshold, random, reference)

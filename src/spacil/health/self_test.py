"""A short test, on this machine, that spacil does what it promises.

Each check returns its finding in words or raises; `run_checks` turns every error into a result.
"""

import importlib.util
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spacil import storage
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.engine.torch_threads import torch_threads
from spacil.errors import SpacilError
from spacil.learning.intake import demonstrations_for
from spacil.learning.learner import Learner, make_learner
from spacil.learning.saved_run import restore, state_to_save
from spacil.runs import checkpoint

MIN_SPEED_SHARE = 0.3
"""As a share of bare `mj_step` calls; 0.6 to 0.9 is usual."""
_EXACT_STEPS = 100
_TINY = {
    "num_envs": 10,
    "steps_per_iteration": 500,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (32, 32),
    "value_hidden": (32,),
    "discriminator_hidden": (32,),
    "evaluation_steps": 100,
}


class CheckFailedError(SpacilError):
    """This machine failed a check."""


class NotCheckedError(SpacilError):
    """A check needs what training does not: it says nothing about this machine."""


@dataclass(frozen=True)
class CheckResult:
    name: str
    is_passed: bool
    """False only where a check failed: one that could not be made is no reason against training"""
    detail: str
    seconds: float
    is_skipped: bool = False


def run_checks(folder: Path) -> list[CheckResult]:
    """All checks, in order; `folder` is where run folders would be created."""
    checks: dict[str, Callable[[], str]] = {
        "step-exactness": steps_equal_gymnasium,
        "determinism": one_seed_gives_one_run,
        "checkpoint round trip": lambda: a_saved_run_resumes(folder),
        "simulation speed": simulation_is_near_its_floor,
    }
    return [_timed(name, check) for name, check in checks.items()]


def steps_equal_gymnasium() -> str:
    """Our simulator against `gymnasium.make`, bit for bit."""
    from spacil.envs.fidelity import difference_from_gymnasium
    from spacil.envs.registry import PAPER_TASKS, TASKS

    if importlib.util.find_spec("imageio") is None:
        # Gymnasium's own envs import it to save pictures; ours do not.
        raise NotCheckedError("gymnasium's MuJoCo envs need imageio: pip install imageio")
    for name in PAPER_TASKS:
        difference = difference_from_gymnasium(TASKS[name], _EXACT_STEPS)
        if difference is not None:
            raise CheckFailedError(f"our simulator differs from gymnasium's: {difference}")
    return f"{len(PAPER_TASKS)} tasks x {_EXACT_STEPS} steps equal gymnasium.make, difference 0"


def one_seed_gives_one_run() -> str:
    hashes = {_state_after(2) for _ in range(2)}
    if len(hashes) > 1:
        raise CheckFailedError("two runs with the same seed ended in different states")
    return "two runs with the same seed are equal, bit for bit"


def a_saved_run_resumes(folder: Path) -> str:
    """Two iterations, saved, loaded and continued for one more, against three in one go."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".spacil-doctor-") as scratch:
        learner = _learner()
        _iterate(learner, 2)
        began = time.perf_counter()
        path = checkpoint.write(Path(scratch), 2, state_to_save(learner))
        milliseconds = 1e3 * (time.perf_counter() - began)
        learner.close()
        resumed = _learner()
        restore(resumed, checkpoint.read(path))
        _iterate(resumed, 1)
        found = _hash_of(resumed)
        resumed.close()
    if found != _state_after(3):
        raise CheckFailedError("a run that was saved and resumed ended in a different state")
    return f"resumed bit for bit; written in {milliseconds:.1f} ms"


def simulation_is_near_its_floor() -> str:
    from spacil.envs.fidelity import share_of_raw_speed
    from spacil.envs.registry import TASKS

    share = share_of_raw_speed(TASKS["Hopper-v4"])
    words = f"Hopper at {share:.2f} of bare mj_step, one thread"
    if share < MIN_SPEED_SHARE:
        raise CheckFailedError(f"{words}; expected {MIN_SPEED_SHARE} or more")
    return words


def _timed(name: str, check: Callable[[], str]) -> CheckResult:
    began = time.perf_counter()
    is_skipped = False
    try:
        is_passed, detail = True, check()
    except NotCheckedError as error:
        is_passed, is_skipped, detail = True, True, str(error)
    except SpacilError as error:
        is_passed, detail = False, str(error)
    except Exception as error:  # a missing or broken library is what we are looking for
        is_passed, detail = False, f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - began, 2)
    return CheckResult(name, is_passed, detail, seconds, is_skipped)


def _learner() -> Learner:
    config = with_settings(default_config("spacil", "Reacher-v4", "plain"), _TINY)
    intake, config = demonstrations_for(config, "Reacher-v4", None)
    return make_learner(config, "Reacher-v4", intake.used)


def _iterate(learner: Learner, iterations: int) -> None:
    with torch_threads(learner.config.run.torch_threads):
        for _ in range(iterations):
            learner.iterate()


def _state_after(iterations: int) -> str:
    learner = _learner()
    _iterate(learner, iterations)
    state = _hash_of(learner)
    learner.close()
    return state


def _hash_of(learner: Learner) -> str:
    tensors, document, _ = state_to_save(learner)
    return storage.content_hash(tensors, document)

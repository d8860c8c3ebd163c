"""`spacil demos {collect,check}`: make demonstrations, and find what is wrong with them."""

import json
import math
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.errors import ConfigError, SpacilError

if TYPE_CHECKING:
    from spacil.data.demo_recording import Act
    from spacil.envs.vector_env import EnvSpec, FloatArray
    from spacil.nets.policy import GaussianPolicy

USAGE = """usage: spacil demos {collect,check} ...

  collect  record a policy's mean actions as demonstrations
  check    everything that could be wrong with a file; exit 65 when it cannot be used
"""


@dataclass(frozen=True)
class CollectArguments:
    source: Annotated[Path, tyro.conf.Positional]
    """A run folder, a saved agent, a checkpoint folder or a policy file."""
    out: Path
    """File to write: .safetensors (native) or .npz."""
    num: int = 10
    """Whole episodes to record."""
    seed: int = 0
    """Seed of the start states and of the noise."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise on the mean action, in units of the action."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    task: str | None = None
    """Record on this task; by default the one the policy was trained on."""
    evaluation_episodes: int = 0
    """Also evaluate the policy over so many episodes, and keep the numbers with the file."""


@dataclass(frozen=True)
class CheckArguments:
    file: Annotated[str, tyro.conf.Positional]
    """A demonstration file, or a task name for the bundled ones."""
    task: str | None = None
    """Check against this task; by default the one the file names, where it can be made here."""
    allow_env_mismatch: bool = False
    """Only warn when the file was recorded in another env or version of the same sizes."""
    json: bool = False
    """Print the report as JSON."""


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    verb, *rest = arguments
    if verb == "collect":
        return _collect(
            parse(CollectArguments, rest, "spacil demos collect", "Record a policy's mean actions.")
        )
    if verb == "check":
        return _check(
            parse(CheckArguments, rest, "spacil demos check", "Find what is wrong with a file.")
        )
    raise ConfigError(f"demos {verb!r}: expected collect or check")


def _collect(parsed: CollectArguments) -> int:
    from spacil.data.demo_file import require_savable, save_demos
    from spacil.data.demo_recording import record_demonstrations
    from spacil.envs.registry import make_vector_env, task_named_in_file
    from spacil.envs.vector_env import ResetSeeds
    from spacil.training.evaluate import evaluate
    from spacil.training.policy_file import load_policy, require_fit

    if not 0 <= parsed.noise < math.inf:
        raise ConfigError(f"--noise is {parsed.noise}, expected 0 or more")
    for flag, value, least in (
        ("--num", parsed.num, 1),
        ("--seed", parsed.seed, 0),
        ("--evaluation-episodes", parsed.evaluation_episodes, 0),
    ):
        if value < least:
            raise ConfigError(f"{flag} is {value}, expected {least} or more")
    require_savable(parsed.out)
    saved = load_policy(parsed.source, parsed.which)
    task = parsed.task or task_named_in_file(saved.task, parsed.source)

    def say(done: int, wanted: int) -> None:
        print(f"recorded {done} of {wanted} episodes", file=sys.stderr, flush=True)

    env = make_vector_env(task, min(parsed.num, 50), ResetSeeds(parsed.seed, "demos"), 2)
    try:
        require_fit(saved.policy, env.spec, parsed.source)
        provenance: dict[str, Any] = {
            "policy": dict(saved.provenance),
            "seed": parsed.seed,
            "noise": parsed.noise,
            "actions": "mean",
        }
        demos = record_demonstrations(
            env,
            _mean_actions(saved.policy, parsed.noise, parsed.seed),
            parsed.num,
            provenance,
            say,
        )
        if parsed.evaluation_episodes:
            result = evaluate(
                saved.policy, env, 1_000_000, parsed.evaluation_episodes, demos.state_std
            )
            provenance["evaluation"] = asdict(result)
            demos = replace(demos, metadata=replace(demos.metadata, provenance=provenance))
    finally:
        env.close()
    save_demos(demos, parsed.out)
    returns = demos.returns
    assert returns is not None
    print(
        f"{parsed.out}: {demos.num_episodes} episodes, {demos.num_steps} steps, "
        f"return {float(returns.mean()):.2f} ± {float(returns.std(correction=0)):.2f}"
    )
    return 0


def _mean_actions(policy: "GaussianPolicy", noise: float, seed: int) -> "Act":
    """Raw states to raw mean actions, with seeded noise where it is asked for."""
    import numpy as np
    import torch

    from spacil.envs.vector_env import ActionArray, FloatArray
    from spacil.seeding import stream

    generator = stream(seed, "demos-noise")

    def act(states: FloatArray) -> ActionArray:
        with torch.no_grad():
            actions = policy.mean(torch.from_numpy(states.astype(np.float32)))
        if noise:
            actions = actions + noise * torch.randn(actions.shape, generator=generator)
        raw: ActionArray = actions.numpy()
        return raw

    return act


def _check(parsed: CheckArguments) -> int:
    from spacil.data.demo_check import check_demonstrations, report_lines
    from spacil.data.demo_file import load_demos
    from spacil.errors import DataError

    demos = load_demos(parsed.file)
    spec, reset_states = _probe(parsed.task, demos.metadata.task, parsed.file)
    report = check_demonstrations(
        demos, spec, reset_states, allow_env_mismatch=parsed.allow_env_mismatch
    )
    if parsed.json:
        print(json.dumps(report.as_dict()))
    else:
        print("\n".join(report_lines(report)))
    return 0 if report.is_usable else DataError.exit_code


def _probe(
    asked_for: str | None, named_in_file: str | None, file: str
) -> "tuple[EnvSpec | None, FloatArray | None]":
    """The env to check against and some of its starts; none where the file names none we can make.

    A file may come from an env that is not installed here; what the user asks for must be there.
    """
    from spacil.envs.registry import make_vector_env, task_named_in_file
    from spacil.envs.vector_env import ResetSeeds
    from spacil.training.intake import NUM_PROBE_ENVS

    if asked_for is None and named_in_file is None:
        return None, None
    try:
        task = asked_for or task_named_in_file(str(named_in_file), file)
        probe = make_vector_env(task, NUM_PROBE_ENVS, ResetSeeds(0, "probe"), 1)
    except SpacilError as error:
        if asked_for is not None:
            raise
        print(f"spacil: checked without an env; --task chooses one: {error}", file=sys.stderr)
        return None, None
    try:
        return probe.spec, probe.reset()
    finally:
        probe.close()

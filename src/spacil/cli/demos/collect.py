"""`spacil demos collect SOURCE --out FILE`: record a policy's mean actions."""

import math
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, show
from spacil.errors import ConfigError

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations
    from spacil.envs.episodes import Actor
    from spacil.envs.vector_env import VectorEnv
    from spacil.policies.policy import Policy


@dataclass(frozen=True)
class CollectArguments:
    source: Annotated[str, tyro.conf.Positional]
    """The policy to record: a task name for its bundled expert, a run folder, a saved agent, a
    checkpoint folder, a policy file, an .onnx file, or module:name of a function from raw states
    to actions, of a torch module or of a Stable-Baselines3 model."""
    out: str
    """Where to: a file whose ending names the format, e.g. .safetensors (native), or minari:ID."""
    num: int = 10
    """Number of whole episodes."""
    seed: int = 0
    """Seed of the start states and of the noise."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise on the mean action, in units of the action."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    task: str | None = None
    """Record on this task; by default the one that the policy was trained on."""
    evaluation_episodes: int = 0
    """Also evaluate the policy over this many episodes, and store the numbers in the file."""
    overwrite: bool = False
    """Replace OUT if it exists."""
    json: JsonTarget = None


def run_collect(arguments: list[str]) -> int:
    parsed = parse(
        CollectArguments, arguments, "spacil demos collect", "Record a policy's mean actions."
    )
    from spacil.cli.demos.check import identity_of
    from spacil.cli.demos.files import refuse_existing
    from spacil.demos.file import require_savable, save_demos
    from spacil.demos.recording import record_demonstrations
    from spacil.envs.registry import make_vector_env
    from spacil.envs.vector_env import ResetSeeds
    from spacil.policies.open import open_policy

    _check(parsed)
    require_savable(parsed.out)
    refuse_existing(parsed.out, overwrite=parsed.overwrite)
    policy = open_policy(parsed.source, parsed.which)
    task = _task(parsed, policy)
    env = make_vector_env(task, min(parsed.num, 50), ResetSeeds(parsed.seed, "demos"), 2)
    try:
        policy.require_env(env.spec)
        provenance: dict[str, Any] = {
            "policy": dict(policy.provenance) or {"kind": policy.kind, "name": policy.name},
            "seed": parsed.seed,
            "noise": parsed.noise,
            "actions": "mean",
        }
        act = _mean_actions(policy, parsed.noise, parsed.seed)
        demos = record_demonstrations(env, act, parsed.num, provenance, _say)
        try:
            if parsed.evaluation_episodes:
                provenance["evaluation"] = _evaluation(policy, env, demos, parsed)
                demos = replace(demos, metadata=replace(demos.metadata, provenance=provenance))
        finally:  # whatever becomes of the evaluation, the recording is kept
            save_demos(demos, parsed.out)
    finally:
        env.close()
    assert demos.returns is not None
    mean, std = float(demos.returns.mean()), float(demos.returns.std(correction=0))
    document = identity_of(demos) | {
        "source": parsed.source,
        "out": parsed.out,
        "num_episodes": demos.num_episodes,
        "num_steps": demos.num_steps,
        "average_return": mean,
        "return_std": std,
        "provenance": dict(demos.metadata.provenance),
    }
    summary = f"{demos.num_episodes} episodes, {demos.num_steps} steps"
    show(
        document,
        parsed.json,
        lambda: print(f"{parsed.out}: {summary}, return {mean:.2f} ± {std:.2f}"),
    )
    return 0


def _check(parsed: CollectArguments) -> None:
    if not 0 <= parsed.noise < math.inf:
        raise ConfigError(f"--noise is {parsed.noise}, expected 0 or more")
    for flag, value, least in (
        ("--num", parsed.num, 1),
        ("--seed", parsed.seed, 0),
        ("--evaluation-episodes", parsed.evaluation_episodes, 0),
    ):
        if value < least:
            raise ConfigError(f"{flag} is {value}, expected {least} or more")


def _task(parsed: CollectArguments, policy: "Policy") -> str:
    from spacil.policies.policy import task_of

    if parsed.task is not None:
        return parsed.task
    if policy.task is None:
        raise ConfigError(f"{parsed.source}: does not say which task it is for: pass --task NAME")
    return task_of(policy)


def _say(done: int, wanted: int) -> None:
    print(f"recorded {done} of {wanted} episodes", file=sys.stderr, flush=True)


def _evaluation(
    policy: "Policy", env: "VectorEnv", demos: "Demonstrations", parsed: CollectArguments
) -> dict[str, Any]:
    """Evaluate a policy of any kind, in the common frame of what it has demonstrated."""
    from spacil.demos.common_frame import CommonFrame
    from spacil.measuring.evaluate import evaluate

    num_episodes = parsed.evaluation_episodes
    return asdict(evaluate(policy, env, 1_000_000, num_episodes, CommonFrame.of(demos)))


def _mean_actions(policy: "Policy", noise: float, seed: int) -> "Actor":
    """Raw states to raw mean actions, with seeded noise if requested."""
    import torch

    from spacil.seeding import stream

    generator = stream(seed, "demos-noise")

    def act(states: torch.Tensor) -> torch.Tensor:
        actions = policy.mean(states).float()
        if noise:
            actions = actions + noise * torch.randn(actions.shape, generator=generator)
        return actions

    return act

"""`spacil evaluate RUN|POLICY`: return G and smoothness J, on fresh seeds."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.plain_text import shown

if TYPE_CHECKING:
    from spacil.measuring.frames import FrameFacts


@dataclass(frozen=True)
class EvaluateArguments:
    source: Annotated[Path, tyro.conf.Positional]
    """A run folder, a saved agent, a checkpoint folder or a policy file."""
    episodes: int = 100
    """Whole episodes, mean actions."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    seed: int = 0
    """Seed of the evaluation's own start states; no training run uses them."""
    demos: str | None = None
    """Demonstrations that define the common frame of J; by default the frame kept with the
    policy, else the task's bundled ones."""
    task: str | None = None
    """Evaluate on another task of the same sizes."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        EvaluateArguments,
        arguments,
        "spacil evaluate",
        "Return G and smoothness J of a trained policy, with mean actions and fresh seeds.",
    )
    from spacil.demos.file import load_demos
    from spacil.envs.registry import task_named_in_file
    from spacil.errors import ConfigError
    from spacil.measuring.evaluate import evaluate_afresh
    from spacil.measuring.frames import choose_frame, frame_facts
    from spacil.policies.file import load_policy, require_fit

    for flag, value, least in (("--episodes", parsed.episodes, 1), ("--seed", parsed.seed, 0)):
        if value < least:
            raise ConfigError(f"{flag} is {value}, expected {least} or more")
    saved = load_policy(parsed.source, parsed.which)
    task = parsed.task or task_named_in_file(saved.task, parsed.source)
    demos = None if parsed.demos is None else load_demos(parsed.demos)
    frame = choose_frame(demos, saved.common_frame, task)
    result = evaluate_afresh(
        saved.policy,
        task,
        parsed.episodes,
        parsed.seed,
        _num_cores(),
        frame,
        check=lambda spec: require_fit(saved.policy, spec, parsed.source),
    )
    facts = frame_facts(frame, saved.policy.normalizer.scale)
    algorithm = saved.provenance.get("algorithm")
    document = identity(task=task, algorithm=algorithm, seed=parsed.seed) | {
        "source": str(parsed.source),
        "provenance": dict(saved.provenance),
        "common_frame": None if facts is None else asdict(facts),
        **asdict(result),
    }
    show(document, parsed.json, lambda: _print(document, facts))
    return 0


def _print(document: dict[str, object], facts: "FrameFacts | None") -> None:
    from spacil.cli.table import print_table

    task, num_episodes = shown(document["task"]), document["num_episodes"]
    print(f"{task}: {num_episodes} episodes, seed {document['seed']}")
    print_table(
        ["", "value"],
        [
            ["return G", document["average_return"]],
            ["  std over episodes", document["return_std"]],
            ["  95 % interval of the mean, low", document["return_low"]],
            ["  95 % interval of the mean, high", document["return_high"]],
            ["episode length", document["mean_length"]],
            ["J, common frame", document["smoothness_j_common"]],
            ["J, effective (after clipping)", document["smoothness_j_effective"]],
            ["J, own normalised frame", document["smoothness_j_own"]],
            ["J, raw units", document["smoothness_j_raw"]],
            ["action fluctuation E|da|", document["action_fluctuation"]],
        ],
    )
    print(
        "no common frame: pass --demos to compare policies of this task"
        if facts is None
        else f"common frame: {facts}"
    )


def _num_cores() -> int:
    from spacil.config.general import RunConfig

    return RunConfig().simulation_threads

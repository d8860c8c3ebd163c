"""`spacil evaluate RUN|POLICY`: return G and smoothness J, on fresh seeds."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.plain_text import shown

if TYPE_CHECKING:
    from spacil.demos.common_frame import CommonFrame
    from spacil.measuring.frames import FrameFacts
    from spacil.runs.facts import DemonstratorRow


@dataclass(frozen=True)
class EvaluateArguments:
    source: Annotated[Path, tyro.conf.Positional]
    """A run folder, a saved agent, a checkpoint folder, a policy file, or a task's name for its
    bundled expert."""
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
    """Evaluate on another task of the same sizes, or on an env of your own: module:Env-v0."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        EvaluateArguments,
        arguments,
        "spacil evaluate",
        "Return G and smoothness J of a trained policy, with mean actions and fresh seeds.",
    )
    from spacil.demos.file import load_demos
    from spacil.envs.vector_env import require_dims
    from spacil.errors import ConfigError
    from spacil.measuring.evaluate import evaluate_afresh
    from spacil.measuring.frames import choose_frame, frame_facts
    from spacil.policies.open import load_policy
    from spacil.policies.policy import task_of

    for flag, value, least in (("--episodes", parsed.episodes, 1), ("--seed", parsed.seed, 0)):
        if value < least:
            raise ConfigError(f"{flag} is {value}, expected {least} or more")
    saved = load_policy(parsed.source, parsed.which)
    task = parsed.task or task_of(saved)
    demos = None if parsed.demos is None else load_demos(parsed.demos)
    if demos is not None:
        ours = (saved.policy.num_states, saved.policy.num_actions)
        require_dims(demos.source, (demos.num_states, demos.num_actions), ours, "the policy")
    frame = choose_frame(demos, saved.common_frame, task)
    result = evaluate_afresh(
        saved.policy,
        task,
        parsed.episodes,
        parsed.seed,
        _num_cores(),
        frame,
        check=saved.require_env,
    )
    facts = frame_facts(frame, saved.policy.normalizer.scale)
    is_elsewhere = saved.task is not None and task != saved.task  # where nobody showed it anything
    demonstrator = (
        None if is_elsewhere else demonstrator_of(parsed.source, task, saved.common_frame, frame)
    )
    algorithm = saved.provenance.get("algorithm")
    document = identity(task=task, algorithm=algorithm, seed=parsed.seed) | {
        "source": str(parsed.source),
        "provenance": dict(saved.provenance),
        "common_frame": None if facts is None else asdict(facts),
        "demonstrator": None if demonstrator is None else dict(demonstrator),
        **asdict(result),
    }
    show(document, parsed.json, lambda: _print(document, facts))
    return 0


def demonstrator_of(
    source: Path, task: str, kept: "CommonFrame | None", frame: "CommonFrame | None"
) -> "DemonstratorRow | None":
    """Whom the policy learned from, as its run remembers it; else the bundled one, if it is that.

    `kept`: the frame of the demonstrations it learned from; `frame`: the one it is measured in.
    """
    from spacil.demos.common_frame import IN_THE_COMMON_FRAME, bundled_frame, demonstrator_row
    from spacil.demos.file import load_demos
    from spacil.runs.facts import inputs_of

    inputs, bundled, known = inputs_of(source), bundled_frame(task), None
    # Where nothing says which demonstrations it had, it is taken to have had the bundled ones.
    if bundled is not None and (inputs is None if kept is None else kept.is_same_as(bundled)):
        known = demonstrator_row(load_demos(task), frame, task)
    remembered = None if inputs is None else inputs.demonstrator
    if remembered is None:
        return known
    if kept is None or frame is None or not kept.is_same_as(frame):
        return {**remembered, **dict.fromkeys(IN_THE_COMMON_FRAME)}
    return remembered


def _print(document: dict[str, Any], facts: "FrameFacts | None") -> None:
    from spacil.cli.output import print_table

    task, num_episodes = shown(document["task"]), document["num_episodes"]
    noun = "episode" if num_episodes == 1 else "episodes"
    print(f"{task}: {num_episodes} {noun}, seed {document['seed']}")
    if num_episodes == 1:  # which says nothing about the spread of others
        document = {**document, **dict.fromkeys(("return_std", "return_low", "return_high"))}
    beside: dict[str, float | None] | None = document["demonstrator"]
    rows = [
        [noun, document[key], *([] if beside is None else [beside.get(same)])]
        for noun, key, same in (
            ("return G", "average_return", "average_return"),
            ("  std over episodes", "return_std", "return_std"),
            ("  95 % interval of the mean, low", "return_low", ""),
            ("  95 % interval of the mean, high", "return_high", ""),
            ("episode length", "mean_length", ""),
            ("J, common frame", "smoothness_j_common", "smoothness_j"),
            ("J, effective (after clipping)", "smoothness_j_effective", "smoothness_j_effective"),
            ("J, own normalised frame", "smoothness_j_own", "smoothness_j_own"),
            ("J, raw units", "smoothness_j_raw", ""),
            ("action change E|da|", "action_fluctuation", "action_fluctuation"),
        )
    ]
    print_table(["", "policy", *([] if beside is None else ["demonstrator"])], rows)
    print(
        "no common frame: pass --demos to compare policies of this task"
        if facts is None
        else f"common frame: {facts}"
    )


def _num_cores() -> int:
    from spacil.config.settings import RunConfig

    return RunConfig().simulation_threads

"""`spacil smooth MODEL --task T`: distil any policy into a smooth one."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.filming.video import tell
from spacil.cli.output import JsonTarget, identity, show
from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings

if TYPE_CHECKING:
    from spacil.learning.smooth import SmoothingResult
    from spacil.learning.smoothing_comparison import Comparison, Contender
    from spacil.policies.source import PolicySource

_SETTINGS = (
    "penalty",
    "keep_return",
    "smoothness_target",
    "fluctuation_target",
    "iterations",
    "steps_per_iteration",
    "fit_steps",
    "policy_hidden",
    "seed",
    "simulation_threads",
    "torch_threads",
)

VIDEO_SECONDS = 5.0
EXPORT_EPISODES = 5
"""For the J among the facts of the exported policy."""


@dataclass(frozen=True)
class SmoothArguments:
    model: Annotated[str, tyro.conf.Positional]
    """The policy: a run folder, a policy or .onnx file, a task's name for its bundled expert, or
    module:name of a torch module, a Stable-Baselines3 model or a function from raw states [B, S] to
    actions [B, A]."""
    task: str | None = None
    """Task name, or any Gymnasium id with Box spaces; by default the task the policy is from,
    where it says."""
    penalty: tuple[str, ...] | None = None
    """exact=W, on the largest slope of the mean action, and cats=W, on its squared change from one
    step to the next. They fall where the return does. By default weights follow from the states
    that the smooth policy visits, and no reward is read."""
    keep_return: float | None = None
    """Instead of weights: the smoothest policy that keeps this share of the teacher's return,
    counted from what random actions earn, e.g. 0.98."""
    smoothness_target: float | None = None
    """Instead of weights: J to end at, at most, per standard deviation of the states."""
    fluctuation_target: float | None = None
    """Action change from one step to the next to end at, at most, in units of the actions; alone or
    beside the others."""
    iterations: int | None = None
    """Rounds of playing, labelling and fitting; 12 by default."""
    steps_per_iteration: int | None = None
    """Env steps per round; 4000 by default."""
    fit_steps: int | None = None
    """Adam steps per round; 800 by default."""
    policy_hidden: tuple[int, ...] | None = None
    """Hidden widths of the smooth policy; 128 128 by default."""
    seed: int | None = None
    """Root of every random stream of the run; 0 by default."""
    simulation_threads: int | None = None
    """Threads that step the simulator; by default one per core."""
    torch_threads: int | None = None
    """Threads of the matrix products; by default one per core."""
    episodes: int = 20
    """Whole episodes for each row of the final table."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    run_dir: Path | None = None
    """Folder of the run; by default runs/smooth/<task>/seed<S>-<stamp>."""
    resume: bool = False
    """Resume the run in --run-dir, or the newest unfinished run of these settings."""
    overwrite: bool = False
    """Delete the run in --run-dir first."""
    video: bool = True
    """End with a video of teacher and smooth policy side by side; what is missing for it is named,
    and changes nothing else."""
    export: bool = True
    """End with the smooth policy as files for a robot (`spacil export`) in deploy/ of the run
    folder; what is missing for it is named, and changes nothing else."""
    json: JsonTarget = None
    quiet: bool = False
    """No progress display."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        SmoothArguments,
        arguments,
        "spacil smooth",
        "Distil any policy into a smooth one, in closed loop: the student acts, the teacher "
        "labels. No reward is needed. Ends with a table beside the teacher and filters on it.",
    )
    from spacil.errors import ConfigError
    from spacil.learning.smooth import Interrupted, smooth_in_folder
    from spacil.policies.open import open_policy
    from spacil.policies.source import task_of
    from spacil.runs.progress import Silent, progress_for

    if parsed.episodes < 1:
        raise ConfigError(f"--episodes is {parsed.episodes}, expected 1 or more")
    teacher = open_policy(parsed.model, parsed.which)
    task = parsed.task or task_of(teacher, parsed.model)
    given = {name: getattr(parsed, name) for name in _SETTINGS}
    config = with_user_settings(
        default_config("smooth", task), {k: v for k, v in given.items() if v is not None}
    )
    result = smooth_in_folder(
        config,
        task,
        teacher,
        Silent() if parsed.quiet else progress_for(config.run.iterations),
        parsed.episodes,
        run_dir=parsed.run_dir,
        resume=parsed.resume,
        overwrite=parsed.overwrite,
    )
    if isinstance(result, Interrupted):
        print(
            f"interrupted; the same command with --resume goes on in {result.run_dir}",
            file=sys.stderr,
        )
        return result.exit_code
    pictures = _draw(result)
    video = _film(result, teacher, task) if parsed.video else None
    exported = _export(result, task) if parsed.export else None
    document = identity(task=task, algorithm="smooth", seed=config.run.seed) | {
        "teacher_source": teacher.name,
        "pictures": [str(path) for path in pictures],
        "video": str(video) if isinstance(video, Path) else None,
        "export": str(exported) if isinstance(exported, Path) else None,
        **result.as_document(),
    }
    show(document, parsed.json, lambda: _print(result, pictures, video, exported))
    return 0


def _draw(result: "SmoothingResult") -> list[Path]:
    from spacil.comparison.smoothing_pictures import draw_smoothing

    assert result.run_dir is not None
    return draw_smoothing(result.comparison, result.traces, result.run_dir)


def _film(result: "SmoothingResult", teacher: "PolicySource", task: str) -> Path | str:
    """The file; or, since the policy is there either way, why there is none."""
    from spacil.errors import SpacilError
    from spacil.film.render import check_target, write_film
    from spacil.film.video import make_film, open_panels
    from spacil.learning.smooth import POLICY_FILE

    assert result.run_dir is not None
    path = result.run_dir / "video.mp4"
    # From its file: the frame of the table's J is in there.
    policies = [("teacher", teacher), ("smooth policy", result.run_dir / POLICY_FILE)]
    try:
        check_target(path)  # refuses early
        panels, seed = open_panels(policies, task, "best"), result.comparison.seed
        film = make_film(panels, seed, VIDEO_SECONDS, on_frame=tell)
        write_film(film, path)
    except SpacilError as error:
        return str(error)
    return path


def _export(result: "SmoothingResult", task: str) -> Path | str:
    """The folder; or, since the policy is there either way, why there is none."""
    from spacil.errors import SpacilError
    from spacil.export.export import export_policy
    from spacil.learning.smooth import POLICY_FILE

    assert result.run_dir is not None
    table, policy = result.comparison, result.run_dir / POLICY_FILE
    try:
        return export_policy(
            policy,
            result.run_dir / "deploy",
            task,
            episodes=min(table.num_episodes, EXPORT_EPISODES),
            seed=table.seed,
            overwrite=True,
        ).folder
    except SpacilError as error:
        return str(error)


def _print(
    result: "SmoothingResult",
    pictures: list[Path],
    video: Path | str | None = None,
    exported: Path | str | None = None,
) -> None:
    from spacil.cli.output import print_table
    from spacil.learning.smoothing_comparison import DELAYS, LEAST_DISTURBED_SHARE, NOISE_LEVELS

    table = result.comparison
    print(f"{table.task}: {table.num_episodes} episodes each, seed {table.seed}")
    noise = [f"G, noise {level:g}" for level in NOISE_LEVELS]
    delay = [f"G, delay {steps}" for steps in DELAYS]
    print_table(
        ["", "return G", "± std", "share", "J", "E|da|", "Sm", *noise, *delay],
        [_row(row) for row in table.rows],
    )
    print(f"\n{result.verdict}")
    print(about_filters(table))
    print(
        f"share: of the teacher's return above that of random actions, {table.random_return:.1f}; "
        f"J, noise: per standard deviation of {table.frame}; a filter that keeps less than "
        f"{LEAST_DISTURBED_SHARE:.0%} of the return is not played further"
    )
    assert result.run_dir is not None
    print(f"run folder: {result.run_dir}\npolicy: {result.run_dir / 'policy.safetensors'}")
    for path in pictures:
        print(f"picture: {path}")
    for name, made in (("video", video), ("export", exported)):
        if made is not None:
            print(f"{name}: {made}" if isinstance(made, Path) else f"no {name}: {made}")


def _row(row: "Contender") -> list[Any]:
    from spacil.learning.smoothing_comparison import DELAYS, NOISE_LEVELS

    signal = row.played.action_signal
    conditions = [("noise", level) for level in NOISE_LEVELS] + [("delay", d) for d in DELAYS]
    returns = [found and found.average_return for found in (row.under(*c) for c in conditions)]
    return [
        row.name,
        row.played.average_return,
        row.played.return_std,
        row.return_share,
        row.smoothness_j,
        signal.action_fluctuation,
        signal.spectrum_score,
        *returns,
    ]


def about_filters(table: "Comparison") -> str:
    """Whether a filter on the teacher would have done as well, in one sentence."""
    from spacil.learning.verdict import REQUIRED_SHARE

    as_good = table.as_good_filters(REQUIRED_SHARE)
    if not as_good:
        return (
            "filters: none keeps the return, moves the actions as little, and earns as much under "
            "noise and delay"
        )
    names = ", ".join(row.name.removeprefix("teacher, ") for row in as_good)
    return (
        f"filters: as good here in return, action change, noise and delay: {names}. "
        "A filter needs no training, but leaves J as it is and remembers the past"
    )

"""`spacil smooth MODEL --task T`: distil any policy into a smooth one."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.cli.arguments import Output, PolicySource, UnderConditions
from spacil.cli.output import identity, print_records, show
from spacil.config.defaults import default_config
from spacil.config.flat import settings_of
from spacil.errors import SpacilError

if TYPE_CHECKING:
    from spacil.learning.smooth import SmoothingResult

VIDEO_SECONDS = 5.0
EXPORT_EPISODES = 5
"""Episodes for the J among the facts of the exported policy."""

_COLUMNS = (
    *("average_return", "return_std", "share", "smoothness_j", "action_fluctuation"),
    "spectrum_score",
)
_DEFAULT = default_config("smooth", "")


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, UnderConditions, Output):
    """Distil any policy into a smooth one, in closed loop: the student acts, the teacher labels.

    No reward is needed. Ends with a table beside the teacher and filters on it.
    """

    penalty: tuple[str, ...] | None = None
    """exact=W, on the largest slope of the mean action, and cats=W, on its squared change from one
    step to the next. They fall where the return does. By default weights follow from the states
    that the smooth policy visits, and no reward is read."""
    keep_return: float = _DEFAULT.wish.keep_return
    """Instead of weights: the smoothest policy that keeps this share of the teacher's return,
    counted from what random actions earn, e.g. 0.98."""
    smoothness_target: float = _DEFAULT.wish.smoothness_target
    """Instead of weights: J to end at, at most, per standard deviation of the states."""
    fluctuation_target: float = _DEFAULT.wish.fluctuation_target
    """Action change from one step to the next to end at, at most, in units of the actions; alone or
    beside the others."""
    iterations: int = _DEFAULT.run.iterations
    """Rounds of playing, labelling and fitting."""
    steps_per_iteration: int = _DEFAULT.sampling.steps_per_iteration
    """Env steps per round."""
    fit_steps: int | None = None
    """Adam steps of the first round; later ones take more, by the root of their number. By default
    500, and 1,500 where commands are late."""
    history: int | None = None
    """Past commands that the smooth policy sees; by default as many as may be on their way."""
    policy_hidden: tuple[int, ...] = _DEFAULT.nets.policy_hidden
    """Hidden widths of the smooth policy."""
    seed: int = _DEFAULT.run.seed
    """Root of every random stream of the run."""
    simulation_threads: int = _DEFAULT.run.simulation_threads
    """Threads that step the simulator."""
    torch_threads: int = _DEFAULT.run.torch_threads
    """Threads of the matrix products."""
    episodes: int = 20
    """Whole episodes for each row of the final table."""
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


def run(parsed: Arguments) -> int:
    from spacil.comparison.pictures import draw_smoothing
    from spacil.export.export import export_policy
    from spacil.film.video import video
    from spacil.learning.run import Outcome
    from spacil.learning.smooth import POLICY_FILE, config_for, smooth_in_folder
    from spacil.policies.policy import task_of
    from spacil.runs.progress import Progress

    teacher = parsed.opened()
    task = parsed.task or task_of(teacher)
    own = {name: vars(parsed)[name] for name in settings_of("smooth") if name in vars(parsed)}
    config = config_for(teacher, task, {k: v for k, v in own.items() if v is not None})
    result = smooth_in_folder(
        config,
        task,
        teacher,
        Progress(config.run.iterations, is_shown=not parsed.quiet),
        parsed.episodes,
        run_dir=parsed.run_dir,
        resume=parsed.resume,
        overwrite=parsed.overwrite,
    )
    if isinstance(result, Outcome):
        hint = f"the same command with --resume goes on in {result.path}"
        print(f"interrupted; {hint}", file=sys.stderr)
        return result.exit_code
    folder = result.run_dir
    assert folder is not None
    policy, table = folder / POLICY_FILE, result.comparison

    def film() -> Path:
        # The student from its file: the frame of the table's J is in there.
        actors = {"teacher": teacher, "smooth policy": policy}
        video(
            *(actors, folder / "video.mp4"),
            env=task,
            seed=table.seed,
            seconds=VIDEO_SECONDS,
            demonstrator=False,
            overwrite=True,
        )
        return folder / "video.mp4"

    def export() -> Path:
        few = min(table.num_episodes, EXPORT_EPISODES)
        target = folder / "deploy"
        export_policy(policy, target, task, episodes=few, seed=table.seed, overwrite=True)
        return target

    made: dict[str, str | None] = {}
    lines = [f"run folder: {folder}", f"policy: {policy}"]
    pictures = draw_smoothing(table, result.traces, folder)
    lines += [f"picture: {path}" for path in pictures]
    for name, make in (("video", film), ("export", export)):
        made[name] = None
        try:
            if getattr(parsed, name):
                made[name] = str(make())
                lines.append(f"{name}: {made[name]}")
        except SpacilError as error:  # the policy is there either way
            lines.append(f"no {name}: {error}")
    document = identity(task=task, algorithm="smooth", seed=config.run.seed) | {
        "teacher_source": teacher.name,
        "pictures": [str(path) for path in pictures],
        **made,
        **result.as_document(),
    }
    show(document, parsed.json, lambda: print_result(result, lines))
    return 0


def print_result(result: "SmoothingResult", lines: Sequence[str] = ()) -> None:
    from spacil.learning.smoothing_comparison import LEAST_DISTURBED_SHARE
    from spacil.learning.smoothing_goal import REQUIRED_SHARE

    table = result.comparison
    print(f"{table.task}: {table.num_episodes} episodes each, seed {table.seed}")
    rows = {
        row.name: {
            **vars(row.played),
            **vars(row.played.action_signal),
            "smoothness_j": row.smoothness_j,
            "share": row.return_share,
            **{f"G, {c.disturbance} {c.level:g}": c.average_return for c in row.disturbed},
        }
        for row in table.rows
    }
    disturbed = [key for key in rows[table.smooth.name] if key.startswith("G, ")]
    print_records(rows, (*_COLUMNS, *disturbed))
    good = [row.name.removeprefix("teacher, ") for row in table.as_good_filters(REQUIRED_SHARE)]
    print(
        f"\n{result.verdict}\n"
        "filters on the teacher that do as well in return, action change, noise and delay: "
        f"{', '.join(good) or 'none'}. A filter leaves J as it is and remembers the past\n"
        f"share: of the teacher's return above that of random actions, "
        f"{table.random_return:.1f}; J, noise: per standard deviation of {table.frame}; a "
        f"filter that keeps less than {LEAST_DISTURBED_SHARE:.0%} of the return is not played "
        "further"
    )
    if lines:
        print("\n".join(lines))

"""`spacil smooth MODEL --task T`: distil any policy into a smooth one."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.cli.arguments import Output, PolicySource
from spacil.cli.output import identity, print_table, show
from spacil.config.defaults import default_config
from spacil.config.flat import settings_of, with_user_settings

if TYPE_CHECKING:
    from spacil.learning.smooth import SmoothingResult
    from spacil.learning.smoothing_comparison import Comparison, Contender

VIDEO_SECONDS = 5.0
EXPORT_EPISODES = 5
"""Episodes for the J among the facts of the exported policy."""

_DEFAULT = default_config("smooth", "")


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Output):
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
    fit_steps: int = _DEFAULT.distil.fit_steps
    """Adam steps of the first round; later ones take more, by the root of their number."""
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
    from spacil.learning.run import Outcome
    from spacil.learning.smooth import smooth_in_folder
    from spacil.policies.open import open_policy
    from spacil.policies.policy import task_of
    from spacil.runs.progress import Progress

    teacher = open_policy(parsed.source, parsed.which)
    task = parsed.task or task_of(teacher)
    given = {name: vars(parsed)[name] for name in settings_of("smooth") if name in vars(parsed)}
    if parsed.penalty is None:
        del given["penalty"]
    config = with_user_settings(default_config("smooth", task), given)
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
    assert result.run_dir is not None
    pictures = draw_smoothing(result.comparison, result.traces, result.run_dir)
    made: dict[str, Path | str] = {}
    if parsed.video:
        made["video"] = _or_reason(lambda: _film(result, teacher, task))
    if parsed.export:
        made["export"] = _or_reason(lambda: _export(result, task))
    paths = {name: path for name, path in made.items() if isinstance(path, Path)}
    document = identity(task=task, algorithm="smooth", seed=config.run.seed) | {
        "teacher_source": teacher.name,
        "pictures": [str(path) for path in pictures],
        **{name: str(paths[name]) if name in paths else None for name in ("video", "export")},
        **result.as_document(),
    }

    def show_table() -> None:
        _print_comparison(result)
        for path in pictures:
            print(f"picture: {path}")
        for name, made_of in made.items():
            print(f"{name}: {made_of}" if name in paths else f"no {name}: {made_of}")

    show(document, parsed.json, show_table)
    return 0


def _or_reason(make: Callable[[], Path]) -> Path | str:
    """What is made; or, since the policy is there either way, why it is not."""
    from spacil.errors import SpacilError

    try:
        return make()
    except SpacilError as error:
        return str(error)


def _film(result: "SmoothingResult", teacher: object, task: str) -> Path:
    from spacil.film.video import make_video
    from spacil.learning.smooth import POLICY_FILE

    assert result.run_dir is not None
    path = result.run_dir / "video.mp4"
    make_video(
        # The student from its file: the frame of the table's J is in there.
        {"teacher": teacher, "smooth policy": result.run_dir / POLICY_FILE},
        path,
        env=task,
        seed=result.comparison.seed,
        seconds=VIDEO_SECONDS,
        demonstrator=False,
        overwrite=True,
    )
    return path


def _export(result: "SmoothingResult", task: str) -> Path:
    from spacil.export.export import export_policy
    from spacil.learning.smooth import POLICY_FILE

    assert result.run_dir is not None
    table = result.comparison
    return export_policy(
        result.run_dir / POLICY_FILE,
        result.run_dir / "deploy",
        task,
        episodes=min(table.num_episodes, EXPORT_EPISODES),
        seed=table.seed,
        overwrite=True,
    ).folder


def _print_comparison(result: "SmoothingResult") -> None:
    from spacil.learning.smooth import POLICY_FILE
    from spacil.learning.smoothing_comparison import DELAYS, LEAST_DISTURBED_SHARE, NOISE_LEVELS

    table = result.comparison
    conditions = [("noise", level) for level in NOISE_LEVELS] + [("delay", d) for d in DELAYS]

    def cells(row: "Contender") -> list[object]:
        played, signal = row.played, row.played.action_signal
        found = [row.under(*condition) for condition in conditions]
        return [
            row.name,
            played.average_return,
            played.return_std,
            row.return_share,
            row.smoothness_j,
            signal.action_fluctuation,
            signal.spectrum_score,
            *(condition and condition.average_return for condition in found),
        ]

    print(f"{table.task}: {table.num_episodes} episodes each, seed {table.seed}")
    disturbed = [f"G, {disturbance} {level:g}" for disturbance, level in conditions]
    header = ["", "return G", "± std", "share", "J", "E|da|", "Sm", *disturbed]
    print_table(header, [cells(row) for row in table.rows])
    print(f"\n{result.verdict}\n{about_filters(table)}")
    print(
        f"share: of the teacher's return above that of random actions, {table.random_return:.1f}; "
        f"J, noise: per standard deviation of {table.frame}; a filter that keeps less than "
        f"{LEAST_DISTURBED_SHARE:.0%} of the return is not played further"
    )
    assert result.run_dir is not None
    print(f"run folder: {result.run_dir}\npolicy: {result.run_dir / POLICY_FILE}")


def about_filters(table: "Comparison") -> str:
    """Say in one sentence whether a filter on the teacher would have done as well."""
    from spacil.learning.smoothing_goal import REQUIRED_SHARE

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

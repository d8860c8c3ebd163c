"""`spacil smoothness SOURCE`: how smooth any policy is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spacil import storage
from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, print_record, print_records, show
from spacil.measuring.margins import Margin
from spacil.measuring.measure import SmoothnessOptions, SmoothnessReport, load_states, measure
from spacil.plain_text import shown
from spacil.policies.policy import known_task
from spacil.smoothness.action_signal import SPECTRUM_CONVENTION

_SUMMARY = ("mean", "median", "p95", "max")
PICTURES = ("j_along_episode", "actions_and_spectrum", "noise_curve")
_DISTURBANCES = ("observation_noise", "observation_delay", "action_delay")


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Json):
    """How smooth any policy is: local Lipschitz constants in every frame, what the motors feel, a
    certificate, and robustness."""

    states: Path | None = None
    """Measure on these states too: an .npz with an array `states`, or a demonstration file. By
    default the demonstrations'."""
    demos: str | None = None
    """Demonstrations that define the common frame of J; by default the frame kept with the
    policy, else the task's bundled ones."""
    measuring: SmoothnessOptions = field(default_factory=SmoothnessOptions)
    pictures: Path | None = None
    """Draw into this folder: J along an episode, actions and their spectrum, the noise curve."""
    overwrite: bool = False
    """Replace pictures that are there."""


def run(parsed: Arguments) -> int:
    if parsed.pictures is not None:
        names = (f"{name}.png" for name in PICTURES)
        storage.require_free_in(parsed.pictures, names, overwrite=parsed.overwrite)
    policy = parsed.opened()
    task = parsed.task or known_task(policy)
    fixed = None if parsed.states is None else load_states(parsed.states)
    report, trace = measure(policy, fixed, parsed.demos, task, parsed.measuring)
    document, drawn = report.as_document(), list[Path]()
    if (folder := parsed.pictures) is not None:
        from spacil.comparison.pictures import draw_pictures
        from spacil.runs.folder import make_folder

        make_folder(folder)
        drawn = draw_pictures(document, trace and trace(), folder)
    document = identity(algorithm=policy.provenance.get("algorithm")) | document
    show(document, parsed.json, lambda: print_report(report, drawn))
    return 0


def print_report(report: SmoothnessReport, drawn: Sequence[Path] = ()) -> None:
    where = f" on {shown(report.task)}" if report.task else ""
    kind = "policy of spacil" if report.kind == "spacil" else report.kind
    print(f"{report.source} ({kind}){where}, seed {report.seed}")
    if report.is_inactive:
        print(
            f"INACTIVE: its actions spread by {report.action_spread:.2%} of the half range. "
            "A policy that does not act is perfectly smooth."
        )
    how = "" if report.derivative == "exact" else ", by finite differences"
    print(f"\nJ: local Lipschitz constant of the mean action{how}; lower is smoother")
    document = asdict(report)
    for title, name in (
        (f"own trajectories, {report.acting} actions", "on_trajectories"),
        (f"fixed states: {report.fixed_states_from}", "on_fixed_states"),
        ("learned cost: its local Lipschitz constants", "cost"),
    ):
        if summaries := document[name]:
            print(f"\n{title} ({summaries.pop('num_states')} states)")
            print_records(
                {key.replace("_", " "): each for key, each in summaries.items()}, _SUMMARY
            )
    without = "no common frame: pass --demos to compare policies of this task"
    print(without if report.common_frame is None else f"common frame: {report.common_frame}")
    print("\nthe paper's J by ascent in a ball, by step rule, in the own frame")
    print_record(report.estimators)
    print("\ncertificate: no two states can break these bounds on |dmu| / |ds|")
    if report.certificate is None:
        print(
            "none: only a plain nn.Sequential of linear layers with tanh or ReLU can be certified; "
            "of a module that calls one pass that part, such as my_model:model.net"
        )
    else:
        print_record(report.certificate)
        if report.common_frame is not None and report.common_frame.dims_unseen:
            print("none in the common frame, which leaves out dims that the policy reads")
    if report.played is not None and report.references is not None:
        print(f"\n{report.played.num_episodes} episodes, beside others from the same starts")
        played = {"policy": report.played, **report.references}
        columns = {
            name.replace("_", " "): vars(each) | vars(each.action_signal)
            for name, each in played.items()
        }
        columns["policy"]["smoothness_j"] = report.smoothness_j
        print_records(columns, is_across=True)
        print(f"Sm convention: {SPECTRUM_CONVENTION}; it grows with n, so compare at a similar n")
    if (found := report.robustness) is not None:
        print(f"\nreturn under disturbance, {found['num_episodes']} episodes each")
        points = {
            f"{name.replace('_', ' ')} {point['level']:g}": point
            for name in _DISTURBANCES
            for point in found[name]
        }
        if attack := found["action_difference_attack"]:
            points[f"action difference attack {attack['level']:g}"] = attack
        print_records(points)
        print(
            f"noise and attack: in std of {found['feature_std_from']}; delay: in steps. "
            "The attack maximises the action's change; Robust Sarsa attacks are stronger"
        )
        if (margins := found["margins"]) is not None:
            later = _words(margins.delay_steps, "steps", margins.step_seconds)
            noise = _words(margins.noise, "std")
            print(f"a tenth of the return is lost {later} later, and at sensor noise of {noise}")
        if attack is None:
            print("no attack: no usual radius for this task; pass --attack-radius")
    for picture in drawn:
        print(f"picture: {picture}")


def _words(margin: Margin, unit: str, seconds: float | None = None) -> str:
    """1.5 steps (12 ms; 1.3 to 1.7)"""
    ends = (margin.level, margin.low, margin.high)
    level, low, high = (f"over {margin.most:g}" if x is None else f"{x:.2g}" for x in ends)
    time = f"{1000 * margin.level * seconds:.3g} ms; " if margin.level and seconds else ""
    return f"{level} {unit} ({time}{low} to {high})"

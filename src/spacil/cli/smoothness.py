"""`spacil smoothness SOURCE`: how smooth any policy is."""

from dataclasses import astuple, dataclass, field
from pathlib import Path

from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, print_table, show
from spacil.measuring.measure import SmoothnessOptions, SmoothnessReport, load_states, measure
from spacil.plain_text import shown
from spacil.policies.file import bundled_experts
from spacil.policies.open import open_policy
from spacil.policies.policy import known_task
from spacil.smoothness.action_signal import SPECTRUM_CONVENTION
from spacil.smoothness.metric_names import METRICS

_QUARTET = ["", "mean", "median", "p95", "max"]
_FRAMES = {
    "common": "common frame (demonstrations' std)",
    "effective": METRICS["smoothness_j_effective"].label.removeprefix("J, "),
    "own": METRICS["smoothness_j_own"].label.removeprefix("J, "),
    "raw": METRICS["smoothness_j_raw"].label.removeprefix("J, "),
}
_SIGNALS = (
    *("action_fluctuation", "spectrum_score", "continuity_cost", "action_jerk"),
    *("high_frequency_ratio", "mean_squared_action", "mean_absolute_power", "spectral_arc_length"),
)


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


def run(parsed: Arguments) -> int:
    policy = open_policy(parsed.source, parsed.which)
    task = parsed.task or known_task(policy)
    fixed = None if parsed.states is None else load_states(parsed.states)
    report, trace = measure(policy, fixed, parsed.demos, task, parsed.measuring)
    document, drawn = report.as_document(), list[Path]()
    if (folder := parsed.pictures) is not None:
        from spacil import storage
        from spacil.comparison.pictures import draw_pictures
        from spacil.errors import StorageError

        with storage.os_errors_as(StorageError, "create", folder):
            folder.mkdir(parents=True, exist_ok=True)
        drawn = draw_pictures(document, trace and trace(), folder)
    document = identity(algorithm=policy.provenance.get("algorithm")) | document
    show(document, parsed.json, lambda: _print(report, drawn))
    return 0


def _print(report: SmoothnessReport, drawn: list[Path]) -> None:
    where = f" on {shown(report.task)}" if report.task else ""
    # The kind `spacil` must not read as the algorithm that trained it.
    is_bundled = report.source in bundled_experts() and not Path(report.source).exists()
    ours = "bundled expert" if is_bundled else "saved by spacil"
    kind = ours if report.kind == "spacil" else report.kind
    print(f"{report.source} ({kind}){where}, seed {report.seed}")
    if report.is_inactive:
        print(
            f"INACTIVE: its actions spread by {report.action_spread:.2%} of the half range. "
            "A policy that does not act is perfectly smooth."
        )
    _print_constants(report)
    _print_estimators(report)
    _print_bounds(report)
    _print_played(report)
    _print_robustness(report)
    for picture in drawn:
        print(f"picture: {picture}")


def _print_constants(report: SmoothnessReport) -> None:
    how = "" if report.derivative == "exact" else ", by finite differences"
    print(f"\nJ: local Lipschitz constant of the mean action{how}; lower is smoother")
    rows: list[list[object]] = []
    for name, summaries in (
        (f"own trajectories, {report.acting} actions", report.on_trajectories),
        (f"fixed states: {report.fixed_states_from}", report.on_fixed_states),
    ):
        if summaries is not None:
            rows.append([f"{name} ({summaries.num_states} states)", "", "", "", ""])
            rows += [
                [f"  {label}", *(astuple(j) if (j := getattr(summaries, key)) else [None] * 4)]
                for key, label in _FRAMES.items()
            ]
    print_table(_QUARTET, rows)
    if report.common_frame is None:
        print("no common frame: pass --demos to compare policies of this task")
    else:
        print(f"common frame: {report.common_frame}")


def _print_estimators(report: SmoothnessReport) -> None:
    found = report.estimators
    print(
        f"\nthe paper's J by ascent in a ball of radius {found.radius:g}, {found.num_steps} steps, "
        f"own frame, {found.num_states} states"
    )
    values = {
        "Jacobian norm, exact (eq:j_form_2)": found.exact,
        "raw step, as printed (eq:jacobian_metric)": found.raw,
        "normalized step": found.normalized,
        "power step": found.power,
    }
    shares = {name: j / found.exact if found.exact else None for name, j in values.items()}
    print_table(["", "J", "of exact"], [[name, j, shares[name]] for name, j in values.items()])
    own = found.jeffreys_policy_std
    print(
        f"largest Jeffreys divergence in the ball: {found.jeffreys:.3g} nats at std 1"
        f"{'' if own is None else f'; {own:.3g} at its own'}"
    )


def _print_bounds(report: SmoothnessReport) -> None:
    """The certificate, and the constants of the learned cost."""
    found, cost = report.certificate, report.cost
    print("\ncertificate: no two states can break these bounds on |dmu| / |ds|")
    if found is None:
        remedy = (
            "; if forward does nothing but call one, pass that part, such as my_model:model.net"
            if report.kind == "module"
            else ""
        )
        print(
            "none: only a plain nn.Sequential of linear layers with tanh or ReLU can be certified"
            f"{remedy}"
        )
    else:
        rows = [
            [
                f"{frame} frame",
                *(getattr(found, f"{frame}_{k}") for k in ("bound", "layer_product", "looseness")),
            ]
            for frame in ("common", "own")
        ]
        print_table(["", "bound", "layer product", "bound / largest J"], rows)
    if cost is not None:
        print(f"\nlearned cost: local Lipschitz constants over {cost.num_states} states")
        summaries = {
            "in the state, common frame": cost.in_state_common,
            "in the state, own frame": cost.in_state,
            "in the action": cost.in_action,
            "along the policy's response, common frame": cost.response_common,
            "along the policy's response, own frame": cost.response,
        }
        print_table(
            _QUARTET,
            [
                [name, *(astuple(summary) if summary else [None] * 4)]
                for name, summary in summaries.items()
            ],
        )


def _print_played(report: SmoothnessReport) -> None:
    references = report.references
    if report.played is None or references is None:
        return
    columns = {"policy": report.played, **references}
    others = "zero and random actions"
    others += " and the bundled demonstrator" if "demonstrator" in references else ""
    print(f"\n{report.played.num_episodes} episodes, beside {others}")
    rows: list[list[object]] = [
        [METRICS[key].label, *(getattr(column, key) for column in columns.values())]
        for key in ("average_return", "return_std", "mean_length")
    ]
    js = [report.smoothness_j, *(each.smoothness_j for each in references.values())]
    rows.insert(2, [METRICS["smoothness_j"].label, *js])
    for key in _SIGNALS:
        cells = [getattr(column.action_signal, key) for column in columns.values()]
        if key != "spectral_arc_length" or cells[0] is not None:
            rows.append([METRICS[key].label, *cells])
    print_table(["", *(name.replace("_", " ") for name in columns)], rows)
    print(f"Sm convention: {SPECTRUM_CONVENTION}; it grows with n, so compare at a similar n")


def _print_robustness(report: SmoothnessReport) -> None:
    found = report.robustness
    if found is None:
        return
    print(f"\nreturn under disturbance, {found.num_episodes} episodes each")
    attack = found.action_difference_attack
    disturbances = {
        "observation noise, +- std x": found.observation_noise,
        "action-difference attack, +- std x": () if attack is None else (attack,),
        "observation delay, steps:": found.observation_delay,
        "action delay, steps:": found.action_delay,
    }
    rows = [
        [f"{noun} {p.level:g}", p.average_return, p.return_std, p.spectrum_score]
        for noun, points in disturbances.items()
        for p in points
    ]
    print_table(["", "return G", "std", "Sm"], rows)
    print(f"std of each feature: {found.feature_std_from}")
    if attack is None:
        print("no attack: no usual radius for this task; pass --attack-radius")
    else:
        print("the attack maximises the action's change; Robust Sarsa attacks are stronger")

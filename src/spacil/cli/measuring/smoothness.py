"""`spacil smoothness SOURCE`: how smooth any policy is."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.measuring.measure import SmoothnessOptions
from spacil.plain_text import shown

if TYPE_CHECKING:
    from spacil.measuring.measure import Measurement, SmoothnessReport


@dataclass(frozen=True)
class SmoothnessArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A run folder, a saved agent, a checkpoint folder, a policy file, an .onnx file, or
    module:name of a function from raw states [B, S] to actions [B, A] (or of a torch module)."""
    task: str | None = None
    """Play here (a task, a Gymnasium id, or module:Env-v0 of your own); by default the task the
    policy was trained on, where it says."""
    states: Path | None = None
    """Measure on these states too: an .npz with an array `states`, or a demonstration file. By
    default the demonstrations'."""
    demos: str | None = None
    """Demonstrations that define the common frame of J; by default the frame kept with the
    policy, else the task's bundled ones."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    measuring: SmoothnessOptions = field(default_factory=SmoothnessOptions)
    json: JsonTarget = None
    pictures: Path | None = None
    """Draw into this folder: J along an episode, actions and their spectrum, the noise curve."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        SmoothnessArguments,
        arguments,
        "spacil smoothness",
        "How smooth any policy is: local Lipschitz constants in every frame, what the motors "
        "feel, a certificate, and robustness.",
    )
    from spacil.measuring.measure import load_states, measure
    from spacil.policies.open import open_policy
    from spacil.policies.policy import known_task

    source = open_policy(parsed.source, parsed.which)
    task = parsed.task or known_task(source)
    fixed = None if parsed.states is None else load_states(parsed.states)
    measured = measure(source, fixed, parsed.demos, task, parsed.measuring)
    drawn = [] if parsed.pictures is None else _draw(measured, parsed.pictures)
    document = identity(algorithm=source.provenance.get("algorithm"))
    document |= measured.report.as_document()
    show(document, parsed.json, lambda: _print(measured.report, drawn))
    return 0


def _print(report: "SmoothnessReport", drawn: list[Path]) -> None:
    where = f" on {shown(report.task)}" if report.task else ""
    print(f"{report.source} ({_kind_in_words(report)}){where}, seed {report.seed}")
    if report.is_inactive:
        print(
            f"INACTIVE: its actions spread by {report.action_spread:.2%} of the half range. "
            "A policy that does not act is perfectly smooth."
        )
    _print_local(report)
    _print_estimators(report)
    _print_certificate(report)
    _print_cost(report)
    _print_played(report)
    _print_robustness(report)
    for picture in drawn:
        print(f"picture: {picture}")


def _kind_in_words(report: "SmoothnessReport") -> str:
    """Where a policy is from: the kind `spacil` must not read as the algorithm that trained it."""
    from spacil.policies.file import bundled_experts

    if report.kind != "spacil":
        return report.kind
    is_bundled = report.source in bundled_experts() and not Path(report.source).exists()
    return "bundled expert" if is_bundled else "saved by spacil"


def _print_local(report: "SmoothnessReport") -> None:
    how = "" if report.derivative == "exact" else ", by finite differences"
    _title(f"J: local Lipschitz constant of the mean action{how}; lower is smoother")
    rows: list[list[object]] = []
    for name, summaries in (
        (f"own trajectories, {report.acting} actions", report.on_trajectories),
        (f"fixed states: {report.fixed_states_from}", report.on_fixed_states),
    ):
        if summaries is None:
            continue
        rows.append([f"{name} ({summaries.num_states} states)", "", "", "", ""])
        for frame, noun in (
            ("common", "common frame (demonstrations' std)"),
            ("effective", "effective (after clipping)"),
            ("own", "own normalised frame"),
            ("raw", "raw units"),
        ):
            rows.append([f"  {noun}", *_four(getattr(summaries, frame))])
    _table(["", "mean", "median", "p95", "max"], rows)
    if report.common_frame is None:
        print("no common frame: pass --demos to compare policies of this task")
    else:
        print(f"common frame: {report.common_frame}")


def _print_estimators(report: "SmoothnessReport") -> None:
    found = report.estimators
    _title(
        f"the paper's J by ascent in a ball of radius {found.radius:g}, {found.num_steps} steps, "
        f"own frame, {found.num_states} states"
    )
    values = {
        "Jacobian norm, exact (eq:j_form_2)": found.exact,
        "raw step, as printed (eq:jacobian_metric)": found.raw,
        "normalized step": found.normalized,
        "power step": found.power,
    }
    rows: list[list[object]] = [
        [name, value, value / found.exact if found.exact else None]
        for name, value in values.items()
    ]
    _table(["", "J", "of exact"], rows)
    own = (
        "" if found.jeffreys_policy_std is None else f"; {found.jeffreys_policy_std:.3g} at its own"
    )
    print(f"largest Jeffreys divergence in the ball: {found.jeffreys:.3g} nats at std 1{own}")


def _print_certificate(report: "SmoothnessReport") -> None:
    found = report.certificate
    _title("certificate: no two states can break these bounds on |dmu| / |ds|")
    if found is None:
        print(_why_not_certified(report.kind))
        return
    _table(
        ["", "bound", "layer product", "bound / largest J"],
        [
            [
                "common frame",
                found.common_bound,
                found.common_layer_product,
                found.common_looseness,
            ],
            ["own frame", found.own_bound, found.own_layer_product, found.own_looseness],
        ],
    )


def _why_not_certified(kind: str) -> str:
    words = "none: only a plain nn.Sequential of linear layers with tanh or ReLU can be certified"
    remedy = "; if forward does nothing but call one, pass that part, such as my_model:model.net"
    return words + remedy if kind == "module" else words


def _print_cost(report: "SmoothnessReport") -> None:
    found = report.cost
    if found is None:
        return
    _title(f"learned cost: local Lipschitz constants over {found.num_states} states")
    _table(
        ["", "mean", "median", "p95", "max"],
        [
            ["in the state, common frame", *_four(found.in_state_common)],
            ["in the state, own frame", *_four(found.in_state)],
            ["in the action", *_four(found.in_action)],
            ["along the policy's response, common frame", *_four(found.response_common)],
            ["along the policy's response, own frame", *_four(found.response)],
        ],
    )


def _print_played(report: "SmoothnessReport") -> None:
    references = report.references
    if report.played is None or references is None:
        return
    columns = {"policy": report.played, **references}
    others = "zero and random actions" + (
        " and the bundled demonstrator" if "demonstrator" in references else ""
    )
    _title(f"{report.played.num_episodes} episodes, beside {others}")

    def signal(name: str) -> list[object]:
        return [getattr(column.action_signal, name) for column in columns.values()]

    rows: list[list[object]] = [
        ["return G", *(column.average_return for column in columns.values())],
        ["  std over episodes", *(column.return_std for column in columns.values())],
        ["J, common frame", report.smoothness_j, *(r.smoothness_j for r in references.values())],
        ["episode length n", *(column.mean_length for column in columns.values())],
        ["action change E|da|", *signal("action_fluctuation")],
        ["spectrum score Sm", *signal("spectrum_score")],
        ["continuity cost, 0 to 100", *signal("continuity_cost")],
        ["jerk E|d3 a|, per step", *signal("action_jerk")],
        ["power above 1/4 Nyquist, 0 to 1", *signal("high_frequency_ratio")],
        ["energy E|a|^2", *signal("mean_squared_action")],
        ["power E|a . q'|", *signal("mean_absolute_power")],
    ]
    if report.played.action_signal.spectral_arc_length is not None:
        rows.append(["SPARC, near 0 is smoother", *signal("spectral_arc_length")])
    _table(["", *(name.replace("_", " ") for name in columns)], rows)
    from spacil.smoothness.action_signal import SPECTRUM_CONVENTION

    print(f"Sm convention: {SPECTRUM_CONVENTION}; it grows with n, so compare at a similar n")


def _print_robustness(report: "SmoothnessReport") -> None:
    found = report.robustness
    if found is None:
        return
    _title(f"return under disturbance, {found.num_episodes} episodes each")
    attack = found.action_difference_attack
    rows: list[list[object]] = []
    for noun, points in (
        ("observation noise, +- std x", found.observation_noise),
        ("action-difference attack, +- std x", () if attack is None else (attack,)),
        ("observation delay, steps:", found.observation_delay),
        ("action delay, steps:", found.action_delay),
    ):
        rows += [
            [f"{noun} {p.level:g}", p.average_return, p.return_std, p.spectrum_score]
            for p in points
        ]
    _table(["", "return G", "std", "Sm"], rows)
    print(f"std of each feature: {found.feature_std_from}")
    if attack is None:
        print("no attack: no usual radius for this task; pass --attack-radius")
    else:
        print("the attack maximises the action's change; Robust Sarsa attacks are stronger")


def _draw(measured: "Measurement", folder: Path) -> list[Path]:
    from spacil import storage
    from spacil.comparison.pictures import draw_pictures
    from spacil.errors import StorageError

    with storage.os_errors_as(StorageError, "create", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return draw_pictures(measured.report.as_document(), measured.trace(), folder)


def _four(summary: Any) -> list[object]:
    if summary is None:
        return [None] * 4
    return [summary.mean, summary.median, summary.p95, summary.max]


def _title(text: str) -> None:
    print(f"\n{text}")


def _table(header: list[str], rows: list[list[object]]) -> None:
    from spacil.cli.output import print_table

    print_table(header, rows)

"""`spacil demos {collect,import,export,check,show}`: demonstrations from and to any format."""

import contextlib
import math
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, print_record, print_records, show
from spacil.config.checks import require, whole_number
from spacil.errors import DataError, SpacilError
from spacil.plain_text import shown

if TYPE_CHECKING:
    from torch import Tensor

    from spacil.demos.check import DemoReport
    from spacil.demos.demonstrations import Demonstrations

_BARS = " ▁▂▃▄▅▆▇█"
_NUM_BINS = 32

Source = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        help="A file or folder of any format, minari:ID, or a task name for the bundled ones."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Read:
    """Flags of a verb that reads demonstrations of any format."""

    source: Source
    obs_keys: tuple[str, ...] = ()
    """Names of the observations of a LeRobot or robomimic dataset that make a state, in this order;
    by default all that are tables of numbers."""

    def load(self) -> "Demonstrations":
        from spacil.demos.file import load_demos

        return load_demos(self.source, self.obs_keys)


@dataclass(frozen=True, kw_only=True)
class Written(Json):
    """Flags of a verb that writes demonstrations."""

    overwrite: bool = False
    """Replace OUT if it exists and is a file."""

    def require_writable(self, out: str, form: str | None = None) -> str:
        """Return the format of OUT; hours of recording must not end in a refusal."""
        from spacil import storage
        from spacil.demos.file import require_savable

        name = require_savable(out, form)
        if name != "minari":  # whose name need not be a path
            storage.require_free(out, overwrite=self.overwrite)
        return name


@dataclass(frozen=True, kw_only=True)
class Checked(Json):
    """Flags of a verb that checks demonstrations."""

    task: str | None = None
    """Check against this task, which they belong to if the source does not say; by default the one
    that the source names, if it is installed here."""
    allow_env_mismatch: bool = False
    """Only warn when they were recorded in another env or version of the same sizes."""
    demo_columns: str = ""
    """Check them as states that know only these columns of the observation, as 0-7 or 0,2,5-9."""

    def report(self, demos: "Demonstrations") -> "DemoReport":
        """Check against a probe of the env; without one if none can be made."""
        from spacil.demos.check import check_demonstrations
        from spacil.learning.intake import probe
        from spacil.user_code import task_named_in_file

        spec = reset_states = None
        try:
            if task := self.task or demos.metadata.task:
                spec, reset_states = probe(self.task or task_named_in_file(task, demos.source), 0)
        except SpacilError as error:
            if self.task is not None:  # a file may come from an env that is not installed here
                raise
            text = f"checked without an env, choose one with --task: {error}"
            print(f"spacil: {text}", file=sys.stderr)
        if self.demo_columns:
            num_states = demos.num_states if spec is None else spec.num_states
            demos = demos.in_columns(self.demo_columns, num_states)
        mismatch = self.allow_env_mismatch
        report = check_demonstrations(demos, spec, reset_states, allow_env_mismatch=mismatch)
        from spacil.recordings.demonstrations import shaking_in

        return replace(report, findings=report.findings + shaking_in(demos))


@dataclass(frozen=True, kw_only=True)
class Collect(Written, PolicySource):
    """Record a policy's mean actions as demonstrations."""

    out: Annotated[str, tyro.conf.arg(aliases=["-o"])]
    """Where to: a file whose ending names the format, e.g. .safetensors (native), or minari:ID."""
    num: int = 10
    """Number of whole episodes."""
    seed: int = 0
    """Seed of the start states and of the noise."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise on the mean action, in units of the action."""
    evaluation_episodes: int = 0
    """Also evaluate the policy over this many episodes, and store the numbers in the file."""

    def run(self) -> int:
        import torch

        from spacil.demos.common_frame import CommonFrame
        from spacil.demos.file import save_demos
        from spacil.demos.recording import record_demonstrations
        from spacil.envs.registry import make_vector_env
        from spacil.envs.vector_env import ResetSeeds
        from spacil.measuring.evaluate import evaluate
        from spacil.policies.open import open_policy
        from spacil.policies.policy import task_of
        from spacil.seeding import stream

        require(0 <= self.noise < math.inf, "noise", self.noise, "0 or more")
        for name, least in (("num", 1), ("seed", 0), ("evaluation_episodes", 0)):
            whole_number(name, getattr(self, name), least)
        self.require_writable(self.out)
        policy = open_policy(self.source, self.which)
        task = self.task or task_of(policy)
        generator = stream(self.seed, "demos-noise")

        def act(states: "Tensor") -> "Tensor":
            actions = policy.mean(states).float()
            if self.noise:
                actions = actions + self.noise * torch.randn(actions.shape, generator=generator)
            return actions

        def say(done: int, wanted: int) -> None:
            print(f"recorded {done} of {wanted} episodes", file=sys.stderr, flush=True)

        provenance = {
            "policy": dict(policy.provenance) or {"kind": policy.kind, "name": policy.name},
            "seed": self.seed,
            "noise": self.noise,
            "actions": "mean",
        }
        seeds = ResetSeeds(self.seed, "demos")
        with contextlib.closing(make_vector_env(task, min(self.num, 50), seeds, 2)) as env:
            policy.require_env(env.spec)
            demos = record_demonstrations(env, act, self.num, provenance, say)
            try:
                if num := self.evaluation_episodes:
                    found = evaluate(policy, env, 1_000_000, num, CommonFrame.of(demos))
                    metadata = replace(
                        demos.metadata, provenance=provenance | {"evaluation": asdict(found)}
                    )
                    demos = replace(demos, metadata=metadata)
            finally:  # whatever becomes of the evaluation, the recording is kept
                save_demos(demos, self.out)
        assert demos.returns is not None
        mean, std = float(demos.returns.mean()), float(demos.returns.std(correction=0))
        document = {
            **_about(demos, source=self.source, out=self.out),
            "average_return": mean,
            "return_std": std,
            "provenance": dict(demos.metadata.provenance),
        }
        line = f"{self.out}: {_sizes(demos)}, return {mean:.2f} ± {std:.2f}"
        show(document, self.json, lambda: print(line))
        return 0


@dataclass(frozen=True, kw_only=True)
class Import(Checked, Written, Read):
    """Convert demonstrations of any format into another, checked."""

    out: Annotated[str, tyro.conf.Positional]
    """The file to write, whose ending names the format, e.g. my.demos.safetensors (native)."""
    obs: str = ""
    """Of a CSV or Parquet table: columns that make the observation, as x,y,vx,vy."""
    act: str = ""
    """Likewise: columns that make the action; none for states alone."""
    episode_from: str = ""
    """Likewise: a column that tells episodes apart, by changing where it stands still within one
    (a number of the episode), by falling where it runs (a time)."""
    drop_nonfinite: bool = False
    """Drop episodes that hold NaN or infinity instead of refusing the source."""

    def run(self) -> int:
        from spacil.demos.file import load_demos, save_demos
        from spacil.demos.findings import require_usable

        self.require_writable(self.out)
        columns = [[name for name in each.split(",") if name] for each in (self.obs, self.act)]
        if columns[0]:
            apart = self.episode_from or None
            demos = load_demos(self.source, obs=columns[0], act=columns[1], episode_from=apart)
        else:
            demos = self.load()
        if self.task is not None and demos.metadata.task is None:
            named = replace(demos.metadata, task=self.task).with_change("name_task", task=self.task)
            demos = replace(demos, metadata=named)
        if self.drop_nonfinite:
            demos = demos.without_nonfinite_episodes()
        report = self.report(demos)
        require_usable(report.findings)
        save_demos(demos, self.out)
        document = {**_about(demos, out=self.out), **report.as_dict()}
        show(document, self.json, lambda: _print_report(report, f"written: {self.out}"))
        return 0


@dataclass(frozen=True, kw_only=True)
class Export(Written, Read):
    """Write demonstrations in another library's format."""

    out: Annotated[str, tyro.conf.Positional]
    """A file whose ending names the format, minari:ID, or a new folder with --format."""
    format: str | None = None
    """By default, OUT's name decides; needed for imitation, which writes a folder."""

    def run(self) -> int:
        from spacil.demos.file import left_out, save_demos

        name = self.require_writable(self.out, self.format)
        demos = self.load()
        save_demos(demos, self.out, name)
        missing = left_out(demos, name)
        about = _about(demos, source=self.source, out=self.out, format=name)
        line = f"{self.out}: {_sizes(demos)}, format {name}"
        show({**about, "left_out": missing}, self.json, lambda: print(line))
        if missing:
            names = ", ".join(missing)
            print(f"spacil: left out, {name} has no place for them: {names}", file=sys.stderr)
        return 0


@dataclass(frozen=True, kw_only=True)
class Check(Checked, Read):
    """Report everything that is wrong with a file; exits 65 if it is unusable."""

    def run(self) -> int:
        demos = self.load()
        report = self.report(demos)
        document = _about(demos) | report.as_dict()
        show(document, self.json, lambda: _print_report(report))
        return 0 if report.is_usable else DataError.exit_code


@dataclass(frozen=True, kw_only=True)
class Show(Json, Read):
    """Draw returns, lengths and actions in the terminal."""

    figure: Path | None = None
    """Draw a picture into this file too (.png, .pdf, .svg)."""
    overwrite: bool = False
    """Replace the picture if it exists."""

    def run(self) -> int:
        from spacil import storage

        if self.figure is not None:
            storage.require_free(self.figure, overwrite=self.overwrite)
        demos = self.load()
        if self.figure is not None:
            from spacil.comparison.pictures import draw_demonstrations

            draw_demonstrations(demos, self.figure)
        columns: dict[str, Any] = {"returns": demos.returns, "lengths": demos.episode_lengths}
        about = {name: None if v is None else _summary(v) for name, v in columns.items()}
        lists = {}
        for name, actions in (("executed", demos.executed_actions), ("raw", demos.actions)):
            of_dims = {} if actions is None else dict(enumerate(actions.T))
            columns |= {f"{name} action a{i}": values for i, values in of_dims.items()}
            lists[f"{name}_actions"] = [_summary(values) for values in of_dims.values()] or None
        num_terminated = sum(episode.is_terminated for episode in demos.episodes)
        document = {
            **_about(demos, source=demos.source),
            "num_terminated": num_terminated,
            **about,
            **lists,
        }

        def show_table() -> None:
            task = shown(demos.metadata.task or "an unnamed task")
            print(f"{demos.source}: {_sizes(demos)} of {task}")
            rows = {name: _summary(v, "histogram") for name, v in columns.items() if v is not None}
            print_records(rows, ("histogram", "mean", "std", "min", "max", "share_at_ends"))
            print(f"{num_terminated} ended by the task, {demos.num_episodes - num_terminated} cut")
            if self.figure is not None:
                print(f"picture: {self.figure}")

        show(document, self.json, show_table)
        return 0


def _summary(values: "Tensor", *more: str) -> dict[str, float | str | None]:
    """Summarise the finite values; None where there are none. A bin with values has a bar."""
    names = ("mean", "std", "min", "max", "share_at_ends", *more)
    finite = values[values.isfinite()].double()
    if not len(finite):
        return dict.fromkeys(names)
    low, high, counts = finite.min(), finite.max(), finite.histc(_NUM_BINS)
    heights = (8 * counts / counts.max()).round().maximum(counts.sign())
    found: dict[str, float | str | None] = {
        "mean": float(finite.mean()),
        "std": float(finite.std(correction=0)),
        "min": float(low),
        "max": float(high),
        "share_at_ends": float(((finite == low) | (finite == high)).double().mean()),
        "histogram": "".join(_BARS[int(height)] for height in heights),
    }
    return {name: found[name] for name in names}


def _print_report(report: "DemoReport", *more: str) -> None:
    about = report.as_dict()
    findings = about.pop("findings")
    print_record(about)
    for line in [*(f"{one['severity']}: {one['message']}" for one in findings), *more]:
        print(line)


def _sizes(demos: "Demonstrations") -> str:
    return f"{demos.num_episodes} episodes, {demos.num_steps} steps"


def _about(demos: "Demonstrations", **paths: str) -> dict[str, Any]:
    """Task, sizes, and who demonstrated with which seed, as far as the record knows."""
    provenance = demos.metadata.provenance
    policy = provenance.get("policy")
    algorithm = policy.get("algorithm") if isinstance(policy, dict) else None
    sizes = {"num_episodes": demos.num_episodes, "num_steps": demos.num_steps}
    seed = provenance.get("seed")
    return identity(task=demos.metadata.task, algorithm=algorithm, seed=seed, **paths, **sizes)


Arguments = (
    Annotated[Collect, tyro.conf.subcommand("collect")]
    | Annotated[Import, tyro.conf.subcommand("import")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Show, tyro.conf.subcommand("show")]
)


def run(parsed: Any) -> int:
    code: int = parsed.run()
    return code

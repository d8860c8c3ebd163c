"""`spacil demos {collect,import,export,check,show}`: demonstrations from and to any format."""

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, show
from spacil.config.checks import whole_number
from spacil.errors import ConfigError, DataError, SpacilError

if TYPE_CHECKING:
    from torch import Tensor

    from spacil.demos.check import DemoReport
    from spacil.demos.demonstrations import Demonstrations

Source = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        help="A file or folder of any format, minari:ID, or a task name for the bundled ones."
    ),
]


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

    def report(self, demos: "Demonstrations") -> "DemoReport":
        """Check against a probe of the env; without one if none can be made."""
        from spacil.demos.check import check_demonstrations
        from spacil.envs.registry import make_vector_env
        from spacil.envs.vector_env import ResetSeeds
        from spacil.learning.intake import NUM_PROBE_ENVS
        from spacil.user_code import task_named_in_file

        spec = reset_states = None
        try:
            if task := self.task or demos.metadata.task:
                task = self.task or task_named_in_file(task, demos.source)
                probe = make_vector_env(task, NUM_PROBE_ENVS, ResetSeeds(0, "probe"), 1)
                spec, reset_states = probe.spec, probe.reset().cpu().numpy()
                probe.close()
        except SpacilError as error:
            if self.task is not None:  # a file may come from an env that is not installed here
                raise
            text = f"checked without an env, choose one with --task: {error}"
            print(f"spacil: {text}", file=sys.stderr)
        mismatch = self.allow_env_mismatch
        return check_demonstrations(demos, spec, reset_states, allow_env_mismatch=mismatch)


@dataclass(frozen=True, kw_only=True)
class Collect(Written, PolicySource):
    """Record a policy's mean actions as demonstrations."""

    out: str
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

        from spacil.demos.file import save_demos
        from spacil.demos.recording import record_demonstrations
        from spacil.envs.registry import make_vector_env
        from spacil.envs.vector_env import ResetSeeds
        from spacil.policies.open import open_policy
        from spacil.policies.policy import task_of
        from spacil.seeding import stream

        if not 0 <= self.noise < float("inf"):
            raise ConfigError(f"--noise is {self.noise}, expected 0 or more")
        for name, value, least in (
            ("num", self.num, 1),
            ("seed", self.seed, 0),
            ("evaluation-episodes", self.evaluation_episodes, 0),
        ):
            whole_number(name, value, least=least)
        self.require_writable(self.out)
        policy = open_policy(self.source, self.which)
        task = self.task or task_of(policy)
        env = make_vector_env(task, min(self.num, 50), ResetSeeds(self.seed, "demos"), 2)
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
        try:
            policy.require_env(env.spec)
            demos = record_demonstrations(env, act, self.num, provenance, say)
            try:
                if self.evaluation_episodes:
                    demos = self._with_evaluation(demos, policy, env)
            finally:  # whatever becomes of the evaluation, the recording is kept
                save_demos(demos, self.out)
        finally:
            env.close()
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

    def _with_evaluation(self, demos: "Demonstrations", policy: Any, env: Any) -> "Demonstrations":
        from spacil.demos.common_frame import CommonFrame
        from spacil.measuring.evaluate import evaluate

        frame, episodes = CommonFrame.of(demos), self.evaluation_episodes
        evaluation = asdict(evaluate(policy, env, 1_000_000, episodes, frame))
        provenance = {**demos.metadata.provenance, "evaluation": evaluation}
        return replace(demos, metadata=replace(demos.metadata, provenance=provenance))


@dataclass(frozen=True, kw_only=True)
class Import(Checked, Written):
    """Convert demonstrations of any format into a checked native file."""

    source: Source
    out: Annotated[str, tyro.conf.Positional]
    """The native file to write, e.g. my.demos.safetensors."""
    drop_nonfinite: bool = False
    """Drop episodes that hold NaN or infinity instead of refusing the source."""

    def run(self) -> int:
        from spacil.demos.check import report_lines
        from spacil.demos.file import load_demos, save_demos
        from spacil.demos.findings import require_usable

        if self.require_writable(self.out) != "native":
            raise ConfigError(
                f"{self.out}: import writes native files only, spacil demos export others"
            )
        demos = load_demos(self.source)
        if self.task is not None and demos.metadata.task is None:
            named = replace(demos.metadata, task=self.task).with_change("name_task", task=self.task)
            demos = replace(demos, metadata=named)
        if self.drop_nonfinite:
            demos = demos.without_nonfinite_episodes()
        report = self.report(demos)
        require_usable(report.findings)
        save_demos(demos, self.out)
        lines = [*report_lines(report), f"written: {self.out}"]
        document = {**_identity(demos), **report.as_dict(), "out": self.out}
        show(document, self.json, lambda: print("\n".join(lines)))
        return 0


@dataclass(frozen=True, kw_only=True)
class Export(Written):
    """Write demonstrations in another library's format."""

    source: Source
    out: Annotated[str, tyro.conf.Positional]
    """A file whose ending names the format, minari:ID, or a new folder with --format."""
    format: str | None = None
    """By default, OUT's name decides; needed for imitation, which writes a folder."""

    def run(self) -> int:
        from spacil.demos.file import left_out, load_demos, save_demos

        name = self.require_writable(self.out, self.format)
        demos = load_demos(self.source)
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
class Check(Checked):
    """Report everything that is wrong with a file; exits 65 if it is unusable."""

    source: Source

    def run(self) -> int:
        from spacil.demos.check import report_lines
        from spacil.demos.file import load_demos

        demos = load_demos(self.source)
        report = self.report(demos)
        document = _identity(demos) | report.as_dict()
        show(document, self.json, lambda: print("\n".join(report_lines(report))))
        return 0 if report.is_usable else DataError.exit_code


@dataclass(frozen=True, kw_only=True)
class Show(Json):
    """Draw returns, lengths and actions in the terminal."""

    source: Source
    figure: Path | None = None
    """Draw a picture into this file too (.png, .pdf, .svg)."""

    def run(self) -> int:
        from spacil.cli.demo_lines import demo_lines, summary_of, summary_of_actions
        from spacil.demos.file import load_demos

        demos = load_demos(self.source)
        lines = demo_lines(demos)
        if self.figure is not None:
            from spacil.comparison.pictures import draw_demonstrations

            draw_demonstrations(demos, self.figure)
            lines += ["", f"picture: {self.figure}"]
        document = {
            **_about(demos, source=demos.source),
            "num_terminated": sum(episode.is_terminated for episode in demos.episodes),
            "returns": None if demos.returns is None else summary_of(demos.returns),
            "lengths": summary_of(demos.episode_lengths),
            "executed_actions": summary_of_actions(demos.executed_actions),
            "raw_actions": None if demos.actions is None else summary_of_actions(demos.actions),
        }
        show(document, self.json, lambda: print("\n".join(lines)))
        return 0


def _sizes(demos: "Demonstrations") -> str:
    return f"{demos.num_episodes} episodes, {demos.num_steps} steps"


def _about(demos: "Demonstrations", **paths: str) -> dict[str, Any]:
    sizes = {"num_episodes": demos.num_episodes, "num_steps": demos.num_steps}
    return {**_identity(demos), **paths, **sizes}


def _identity(demos: "Demonstrations") -> dict[str, Any]:
    """Task, and who demonstrated with which seed, as far as the record knows."""
    provenance = demos.metadata.provenance
    policy = provenance.get("policy")
    algorithm = policy.get("algorithm") if isinstance(policy, dict) else None
    return identity(task=demos.metadata.task, algorithm=algorithm, seed=provenance.get("seed"))


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

"""`spacil demos check SOURCE --task NAME`: everything that is wrong with a file, in one report."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.errors import SpacilError

if TYPE_CHECKING:
    from spacil.demos.check import DemoReport
    from spacil.demos.demonstrations import Demonstrations
    from spacil.envs.vector_env import EnvSpec, FloatArray


@dataclass(frozen=True)
class CheckArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A file or folder of any format, minari:ID, or a task name for the bundled ones."""
    task: str | None = None
    """Check against this task; by default the one that the file names, if it is installed here."""
    allow_env_mismatch: bool = False
    """Only warn when the file was recorded in another env or version of the same sizes."""
    json: JsonTarget = None


def run_check(arguments: list[str]) -> int:
    parsed = parse(
        CheckArguments, arguments, "spacil demos check", "Find what is wrong with a file."
    )
    from spacil.demos.check import report_lines
    from spacil.demos.file import load_demos
    from spacil.errors import DataError

    demos = load_demos(parsed.source)
    report = checked(demos, parsed.task, allow_env_mismatch=parsed.allow_env_mismatch)
    document = identity_of(demos) | report.as_dict()
    show(document, parsed.json, lambda: print("\n".join(report_lines(report))))
    return 0 if report.is_usable else DataError.exit_code


def identity_of(demos: "Demonstrations") -> dict[str, Any]:
    """Task, and who demonstrated with which seed, as far as the record knows."""
    provenance = demos.metadata.provenance
    policy = provenance.get("policy")
    algorithm = policy.get("algorithm") if isinstance(policy, dict) else None
    return identity(task=demos.metadata.task, algorithm=algorithm, seed=provenance.get("seed"))


def checked(
    demos: "Demonstrations", task: str | None, *, allow_env_mismatch: bool = False
) -> "DemoReport":
    """The report against the given task, or else the one that the file names."""
    from spacil.demos.check import check_demonstrations

    spec, reset_states = _probe(task, demos.metadata.task, demos.source)
    return check_demonstrations(demos, spec, reset_states, allow_env_mismatch=allow_env_mismatch)


def _probe(
    asked_for: str | None, named_in_file: str | None, file: str
) -> "tuple[EnvSpec | None, FloatArray | None]":
    """The env to check against and some of its start states; None if no env can be made.

    A file may come from an env that is not installed here; a task that the user names must be.
    """
    from spacil.envs.registry import make_vector_env
    from spacil.envs.vector_env import ResetSeeds
    from spacil.learning.intake import NUM_PROBE_ENVS
    from spacil.user_code import task_named_in_file

    if asked_for is None and named_in_file is None:
        return None, None
    try:
        task = asked_for or task_named_in_file(str(named_in_file), file)
        probe = make_vector_env(task, NUM_PROBE_ENVS, ResetSeeds(0, "probe"), 1)
    except SpacilError as error:
        if asked_for is not None:
            raise
        print(f"spacil: checked without an env, choose one with --task: {error}", file=sys.stderr)
        return None, None
    try:
        return probe.spec, probe.reset().cpu().numpy()
    finally:
        probe.close()

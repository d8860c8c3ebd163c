"""How every verb reads its command line: a dataclass whose fields are the flags.

A verb is one module of this room. Its `Arguments` compose the groups of flags below, the class's
docstring describes the verb and a field's docstring explains its flag; `run(parsed)` does the work
and returns the exit code.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import tyro

from spacil.cli.output import STDOUT, JsonTarget, check_target, with_json_target
from spacil.config.checks import whole_number
from spacil.config.settings import ConditionsConfig

if TYPE_CHECKING:
    from spacil.policies.policy import Policy

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Json:
    """Flag of a verb that prints a result."""

    json: JsonTarget = None


@dataclass(frozen=True, kw_only=True)
class Output(Json):
    """Flags of a verb that takes a while before it prints a result."""

    quiet: bool = False
    """No progress display."""


@dataclass(frozen=True, kw_only=True)
class PolicySource:
    """Flags that name a policy and where it acts."""

    source: Annotated[str, tyro.conf.Positional]
    """A run folder, a saved agent, a checkpoint, a policy file, an .onnx file, the .zip of a
    Stable-Baselines3 model, a task's name for its bundled expert, or module:name of a torch module,
    a Stable-Baselines3 model or a function from raw states [B, S] to actions [B, A]."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    task: str | None = None
    """Task name, Gymnasium id, or an env of your own (module:Env-v0); by default the task that the
    policy was trained on."""
    vecnormalize: Path | None = None
    """What VecNormalize.save wrote, where the .zip of a Stable-Baselines3 model was trained behind
    it; or its numbers as npz."""

    def opened(self) -> "Policy":
        """The policy that is named."""
        from spacil.policies.open import open_policy

        return open_policy(self.source, self.which, self.vecnormalize)


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """Flags of a verb that plays episodes with mean actions."""

    episodes: int = 100
    """Number of whole episodes."""
    seed: int = 0
    """Seed of the start states, which no training run uses."""

    def __post_init__(self) -> None:
        whole_number("episodes", self.episodes)
        whole_number("seed", self.seed, least=0)


@dataclass(frozen=True, kw_only=True)
class UnderConditions:
    """Flags of what stands between policy and env; by default what the policy was made for."""

    action_delay: str | None = None
    """Steps after which a command is executed: 2, or 0-2 where it is drawn for each episode; by
    default, here and below, what the policy was made for."""
    observation_delay: str | None = None
    """Steps by which what the policy sees is late; likewise."""
    delay_jitter: bool | None = None
    """Draw a delay that is a range at every step, and not once per episode."""
    sensor_noise: float | None = None
    """Standard deviation of the noise on each observation, in those of the demonstrations."""

    def instead_of(self, own: ConditionsConfig) -> ConditionsConfig:
        """What is asked for, and the rest as the policy has it; its history stays its own."""
        names = [each.name for each in dataclasses.fields(UnderConditions)]
        asked = {name: getattr(self, name) for name in names}
        return dataclasses.replace(own, **{k: v for k, v in asked.items() if v is not None})


class ArgumentsEnd(SystemExit):
    """The end of a command after its help or a mistake in its flags; `sys.exit` elsewhere is a
    fault of the code that was called."""


def parse(
    arguments_type: type[T],
    arguments: list[str],
    prog: str,
    description: str | None = None,
    default: T | None = None,
) -> T:
    """Flags are the field names, flattened; a field's docstring is its help. Exits 2 on misuse."""
    is_record = isinstance(arguments_type, type)  # no union, which has a docstring of typing
    try:
        parsed: T = tyro.cli(
            arguments_type,
            args=with_json_target(arguments),
            prog=prog,
            description=description or (arguments_type.__doc__ if is_record else None),
            config=(tyro.conf.OmitArgPrefixes,),
            default=tyro.MISSING_NONPROP if default is None else default,
        )
    except SystemExit as ending:
        raise ArgumentsEnd(ending.code) from None
    target: Path | None = getattr(parsed, "json", None)
    if target is None or target == STDOUT:
        return parsed
    check_target(target)
    # Absolute from the start: an env may change the working folder.
    return dataclasses.replace(parsed, json=target.absolute())  # type: ignore[type-var]


def value_of(flag: str, arguments: list[str]) -> str | None:
    """The value of `--flag value` or `--flag=value`, read before the full parse."""
    for i, argument in enumerate(arguments):
        if argument == flag and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{flag}="):
            return argument.removeprefix(f"{flag}=")
    return None

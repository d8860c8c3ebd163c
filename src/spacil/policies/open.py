"""Turns whatever a user has into a `Policy`, and a policy of spacil's own into a file.

A run folder, a saved agent, a checkpoint, a policy file or an ONNX file; in memory, a spacil
policy or agent, a `torch.nn.Module`, a Stable-Baselines3 model or a plain function; and
`module:name` of any of these.

Opening a file never imports code. Only a `module:name` that the user typed does.
"""

import operator
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from spacil.config.algorithms import ALGORITHMS
from spacil.config.flat import settings_of, with_settings
from spacil.config.settings import ConditionsConfig
from spacil.demos.common_frame import CommonFrame
from spacil.errors import ConfigError, DataError
from spacil.nets.policy import GaussianPolicy
from spacil.policies import third_party
from spacil.policies.file import (
    Which,
    bundled_experts,
    checkpoint_of,
    policy_in_checkpoint,
    read_policy_file,
    require_held,
    write_policy_file,
)
from spacil.policies.policy import Policy, own_policy
from spacil.policies.rsl_rl import from_checkpoint
from spacil.policies.sb3_zip import open_sb3_zip
from spacil.runs import checkpoint
from spacil.runs.state import first_non_finite, with_prefix
from spacil.smoothness.cost import CostFunction, on_live_dims
from spacil.user_code import import_typed

_MODULE_AND_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PICKLED = (".pt", ".pth", ".pkl", ".pickle")
_RECIPE = """\
{path}: holds pickles, which can run code, and they are never opened. If you trust it, load it in \
a module of your own, my_model.py, and name that in its place: my_model:model, with --task NAME. \
For Stable-Baselines3 it holds
    from stable_baselines3 import PPO  # or the algorithm that wrote it
    model = PPO.load("{path}")  # behind VecNormalize: env=VecNormalize.load(...)"""


def open_policy(
    policy: object, which: Which = "best", vecnormalize: str | Path | None = None
) -> Policy:
    """Any policy as one record; `which` selects the checkpoint of a run folder.

    `vecnormalize`: statistics of the observations that a Stable-Baselines3 .zip was trained behind.
    """
    if isinstance(policy, str | Path) and (path := Path(policy)).suffix.lower() == ".zip":
        if path.is_file():
            statistics = None if vecnormalize is None else Path(vecnormalize)
            return open_sb3_zip(path, statistics, _RECIPE.format(path=path))
    elif vecnormalize is not None:
        raise ConfigError(f"--vecnormalize is for the .zip of a Stable-Baselines3 model: {policy}")
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return _from_text(str(policy), which, with_cost=True)
    if isinstance(policy, GaussianPolicy):
        return own_policy(policy, "policy")
    if isinstance(inner := getattr(policy, "policy", None), GaussianPolicy):
        config = getattr(policy, "config", None)
        about = {} if config is None else {"algorithm": config.algorithm, "seed": config.run.seed}
        return own_policy(
            inner,
            f"{type(policy).__name__} agent",
            task=getattr(config, "task", None),
            provenance=about,
            common_frame=getattr(policy, "common_frame", None),
            conditions=getattr(policy, "conditions", ConditionsConfig()),
        )
    if (opened := third_party.from_memory(policy)) is not None:
        return opened
    raise ConfigError(
        f"cannot open a {type(policy).__name__} as a policy: pass a run folder, a policy or ONNX "
        "file, a torch module, a Stable-Baselines3 model, or a function from states to actions"
    )


def load_policy(policy: object, which: Which = "best") -> Policy:
    """A policy of spacil's own: of a file, of a run folder (`best` or `last`), of an agent.

    A task's name means its bundled expert.
    """
    is_named = isinstance(policy, str | Path)
    opened = _from_text(str(policy), which, with_cost=False) if is_named else open_policy(policy)
    return replace(opened, network=opened.policy)  # other kinds are refused


def load_expert(task: str) -> Policy:
    """The policy that recorded a task's bundled demonstrations: `load_expert("Hopper-v4")`."""
    bundled = bundled_experts()
    if task not in bundled:
        names = ", ".join(sorted(bundled)) or "none"
        raise DataError(f"no expert is bundled for '{task}'; bundled tasks: {names}")
    with as_file(bundled[task]) as path:
        return replace(read_policy_file(path), name=task, path=None)


def save_policy(
    policy: object,
    path: str | Path,
    task: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    common_frame: CommonFrame | None = None,
) -> None:
    """Write one self-contained file, atomically: `save_policy(agent, "x.policy.safetensors")`.

    `policy`: an agent, what `load_policy` returned, or the policy of either, which needs the name
    of its task. `provenance` is any JSON-able note on where it is from. The frame of its J is kept
    too, where there is one.
    """
    saved = load_policy(policy)
    if not (task := task or saved.task):
        raise ConfigError(
            'save_policy: a bare policy does not know its task: pass task="Hopper-v4"'
        )
    notes = saved.provenance if provenance is None else provenance
    saved = replace(saved, provenance=notes, common_frame=common_frame or saved.common_frame)
    write_policy_file(saved, task, Path(path))


def _from_text(text: str, which: Which, *, with_cost: bool) -> Policy:
    path = Path(text)
    if not path.exists() and _MODULE_AND_NAME.fullmatch(text):
        module, attribute = import_typed(text)
        try:
            found_there: object = operator.attrgetter(attribute)(module)
        except AttributeError:
            raise ConfigError(f"{text}: module {module.__name__!r} has no {attribute!r}") from None
        if isinstance(found_there, str | Path):
            raise ConfigError(f"{text}: is a string, expected a policy or a function")
        return open_policy(found_there)
    if path.suffix.lower() == ".onnx":
        return third_party.from_onnx(path)
    if path.is_file() and path.suffix.lower() == ".pt" and re.match(r"model_\d+", path.name):
        return from_checkpoint(path)
    if path.is_file() and path.suffix.lower() in _PICKLED:
        raise DataError(_RECIPE.format(path=path))
    if path.is_file() and not checkpoint.is_checkpoint(path):
        return read_policy_file(path)
    if not path.exists() and text in bundled_experts():
        return load_expert(text)
    found = checkpoint_of(path, which)
    opened = policy_in_checkpoint(found, path, which)
    return replace(opened, cost=_saved_cost(found, opened.policy, path)) if with_cost else opened


def _saved_cost(
    found: checkpoint.Checkpoint, policy: GaussianPolicy, path: Path
) -> CostFunction | None:
    """The cost its adversary learned; None for a run that has none."""
    tensors = with_prefix(found.tensors, "discriminator.")
    if not tensors:
        return None
    if (name := first_non_finite(tensors)) is not None:
        raise DataError(f"{path}: the discriminator's {name!r} is not finite; nothing to measure")
    try:
        settings = found.document["config"]
        adversary = ALGORITHMS[settings["algorithm"]].adversary
        if adversary is None:
            raise ValueError(f"{settings['algorithm']} has no discriminator")
        require_held([1, *(int(width) for width in settings["discriminator_hidden"]), 1], tensors)
        # Of the settings only those of the network: a penalty of the user's own may be unknown.
        homes = settings_of(settings["algorithm"])
        names = [name for name in homes if homes[name] in ("discriminator", "airl", "returns")]
        without = {"lambda_cost": 0.0} if "lambda_cost" in homes else {}
        config = with_settings(
            ALGORITHMS[settings["algorithm"]](task=""),
            without | {name: settings[name] for name in names},
        )
        network = pkgutil.resolve_name(adversary).make_network(config, policy)
        network.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError, ConfigError) as error:
        raise DataError(
            f"{path}: the discriminator's tensors do not match its settings: {error}"
        ) from None
    if not network.has_cost:
        return None
    return on_live_dims(network.requires_grad_(False).cost, policy.normalizer.mask)

"""The help of `spacil train`: what an algorithm reads, most used first.

`--help` fits on two screens; `--help-all` explains every setting in full.
"""

import ast
import functools
import inspect
import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from spacil.config.algorithms import ALGORITHMS
from spacil.config.flat import SHORT_FORM, changed_by_giving, group_of_setting, settings_read
from spacil.config.penalty_terms import POLICY_PENALTIES
from spacil.config.train_config import ConfigGroups, TrainConfig

WIDTH = 98
_FLAG_WIDTH = 33
_ABOUT_DEMONSTRATIONS = ("num_demos", "first_demo", "drop_nonfinite", "allow_env_mismatch")
_MOST_USED = (
    "penalty",
    "lambda_cost",
    "cost_penalty_form",
    "smoothest",
    "keep_return",
    "smoothness_target",
    "fluctuation_target",
    "iterations",
    "seed",
    "steps_per_iteration",
    "policy_step",
    "max_kl",
    "imitation_reward",
    "airl_reward",
    "policy_hidden",
    "evaluation_interval",
    "device",
)


def usage() -> str:
    """What `spacil train --help` says."""
    return "\n".join(
        [
            "usage: spacil train ALGORITHM --task NAME [options]",
            "",
            *(f"  {name:<8} {r.summary}" for name, r in ALGORITHMS.items() if r.verb == "train"),
            "",
            "`spacil train ALGORITHM --task NAME --help` shows the options with that task's "
            "defaults,",
            "`--help-all` every one of them in full.",
        ]
    )


def help_text(config: TrainConfig, arguments: type, *, is_whole: bool) -> str:
    """The help of one algorithm, with the defaults of `config`."""
    lines = [
        f"usage: spacil train {config.algorithm} --task NAME [options]",
        "",
        *textwrap.wrap(ALGORITHMS[config.algorithm].summary, WIDTH),
        "",
        "about the run",
        *_run_options(config.algorithm, arguments, is_whole=is_whole),
    ]
    if is_whole:
        for group in ALGORITHMS[config.algorithm].reads:
            lines += ["", *_group(config, group)]
        if "policy_penalty" in ALGORITHMS[config.algorithm].reads:
            lines += ["", "policy penalties (--penalty)", *_penalties()]
    else:
        read = settings_read(config.algorithm)
        names = [name for name in _MOST_USED if name in read]
        lines += ["", "settings used most", *(line for n in names for line in _first(config, n))]
        lines += ["", f"{len(read) - len(names)} more settings: --help-all"]
    return "\n".join(lines)


def _run_options(algorithm: str, arguments: type, *, is_whole: bool) -> list[str]:
    """The flags that are no settings: task, demonstrations, folder, output."""
    docs, lines = docs_of(arguments), []
    groups = {field.name for field in fields(ConfigGroups)}
    for field in fields(arguments):
        if field.name in groups or not _takes(algorithm, field.name):
            continue
        default = "" if field.default in (MISSING, None, (), False) else f" ({field.default})"
        lines += _entry(f"--{field.name.replace('_', '-')}{default}", docs[field.name], is_whole)
    return lines


def _takes(algorithm: str, flag: str) -> bool:
    """Whether an algorithm has any use for a flag that is no setting."""
    row = ALGORITHMS[algorithm]
    if flag == SHORT_FORM:
        return "policy_penalty" in row.reads
    if flag == "preset":
        return len(row.presets) > 1
    is_about_demos = flag.startswith("demo") or flag in _ABOUT_DEMONSTRATIONS
    return row.needs_demonstrations or not is_about_demos


def _group(config: TrainConfig, group: str) -> list[str]:
    kind = get_type_hints(ConfigGroups)[group]
    title = (inspect.getdoc(kind) or group).split("\n\n")[0]
    lines = textwrap.wrap(title, WIDTH)
    ignored = ALGORITHMS[config.algorithm].ignores
    docs = docs_of(kind)
    for field in fields(kind):
        if field.name not in ignored:
            note = _note(config, field.name)
            lines += _entry(_flag(config, field.name), docs[field.name], True, note)
    return lines


def _penalties() -> list[str]:
    rows = []
    for name, kind in POLICY_PENALTIES.items():
        rows += _entry(f"{name}={kind.default_weight:g}", kind.summary, True)
    return rows


def _first(config: TrainConfig, name: str) -> list[str]:
    docs = docs_of(get_type_hints(ConfigGroups)[group_of_setting()[name]])
    return _entry(_flag(config, name), docs[name], False, _note(config, name))


def _flag(config: TrainConfig, name: str) -> str:
    return f"--{name.replace('_', '-')} ({_shown(config, name)})"


def _shown(config: TrainConfig, name: str) -> str:
    value = getattr(getattr(config, group_of_setting()[name]), name)
    return (" ".join(map(str, value)) if isinstance(value, tuple) else str(value)) or "none"


def _note(config: TrainConfig, name: str) -> str:
    """That the shown default is not what it is to give it: a weight that is typed is fixed."""
    changes = [
        f"--{other.replace('_', '-')} is {value} and not {_shown(config, other)}"
        for other, value in changed_by_giving(config, name).items()
    ]
    return f"Given, even as shown, {' and '.join(changes)}." if changes else ""


def _entry(flag: str, text: str, is_whole: bool, note: str = "") -> list[str]:
    """One option; its first sentence on at most two lines and the note, or all of it."""
    text = " ".join(text.split())
    if not is_whole:
        first, width = re.split(r"(?<=\.) (?=[A-Z-])", text)[0], WIDTH - 3 - _FLAG_WIDTH
        lines = textwrap.wrap(first.rstrip("."), width, max_lines=2, placeholder=" ...")
        lines += textwrap.wrap(note.rstrip("."), width)
        marks = [f"{flag:<{_FLAG_WIDTH}}", *[" " * _FLAG_WIDTH] * (len(lines) - 1)]
        return [f"  {mark} {line}" for mark, line in zip(marks, lines, strict=True)]
    text = f"{text} {note}".rstrip()
    return [f"  {flag}", *textwrap.indent(textwrap.fill(text, WIDTH - 8), " " * 8).splitlines()]


@functools.cache
def docs_of(kind: type) -> dict[str, str]:
    """The docstring below each field of a dataclass."""
    assert is_dataclass(kind)
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs: dict[str, Any] = {}
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = text
    return docs

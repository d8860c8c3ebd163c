"""What the library never does, read from its syntax: no code from files, no global chance."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "spacil"

BANNED_MODULES = {
    *("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "jsonpickle", "joblib", "marshal"),
    *("shelve", "commands", "pty", "telnetlib"),
}
BANNED_CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"),
    *("yaml.unsafe_load", "yaml.full_load", "pandas.read_pickle", "pd.read_pickle"),
    # A clock that jumps: durations are measured with monotonic ones.
    *("time.time", "datetime.now", "datetime.datetime.now"),
    # Chance that no seed of the run controls.
    *("torch.manual_seed", "torch.seed", "random.seed", "random.random", "random.choice"),
    *("random.shuffle", "random.randint", "random.uniform", "random.sample"),
}
SEEDED_NUMPY = {"default_rng", "Generator", "SeedSequence", "PCG64", "BitGenerator"}


def faults_in(source: str) -> Iterator[str]:
    """Each banned construct of a module, with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case _:
                modules = []
        for module in modules:
            if module.split(".")[0] in BANNED_MODULES:
                yield f"line {node.lineno}: imports {module}"
        if isinstance(node, ast.Call):
            reason = _banned_call(node)
            if reason is not None:
                yield f"line {node.lineno}: {reason}"


def _banned_call(call: ast.Call) -> str | None:
    name = _dotted_name(call.func)
    options = {word.arg: word.value for word in call.keywords}
    if name in BANNED_CALLS:
        return f"calls {name}"
    if name == "safetensors.torch.load":
        return None
    if name.endswith("torch.load") and not _is_constant(options.get("weights_only"), True):
        return "torch.load without weights_only=True"
    if name in ("np.load", "numpy.load") and not _is_constant(options.get("allow_pickle"), False):
        return "numpy.load without allow_pickle=False"
    if "shell" in options and not _is_constant(options["shell"], False):
        return f"{name} through a shell"
    if name.startswith(("np.random.", "numpy.random.")) and name.split(".")[-1] not in SEEDED_NUMPY:
        return f"calls {name}, which draws from a global generator"
    return None


def _dotted_name(function: ast.expr) -> str:
    """`module.function`; empty for a method of whatever an expression gives."""
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return ".".join(reversed([*parts, function.id])) if isinstance(function, ast.Name) else ""


def _is_constant(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def test_no_module_does_any_of_it() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert len(modules) > 50
    found = [
        f"{path.relative_to(SOURCE)}, {fault}"
        for path in modules
        for fault in faults_in(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        *("import pickle", "import os, marshal", "from cloudpickle import loads", "eval('1')"),
        *("def f():\n    from pickle import loads", "exec(text)", "os.system('ls')"),
        *("subprocess.run(command, shell=True)", "subprocess.Popen(command, shell=flag)"),
        *(
            f"torch.load(path{word})"
            for word in ("", ", weights_only=False", ", weights_only=flag")
        ),
        *("np.load(path)", "numpy.load(path, allow_pickle=True)", "yaml.load(text)", "time.time()"),
        *("np.random.normal(size=3)", "torch.manual_seed(0)"),
    ],
)
def test_each_of_it_would_be_found(line: str) -> None:
    assert len(list(faults_in(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        *("import json", "policy.eval()", "re.compile('x')", "time.monotonic()"),
        *("torch.load(path, weights_only=True)", "np.load(path, allow_pickle=False)"),
        *("subprocess.run(command, shell=False)", "np.random.default_rng(0)"),
        "np.random.SeedSequence(0).generate_state(1)",
    ],
)
def test_what_only_looks_like_it_is_allowed(line: str) -> None:
    assert list(faults_in(line)) == []

"""Would a test notice? One small change to the code at a time, against the quick tests.

    python tests/support/mutants.py --count 300          # goes on where it was stopped
    python tests/support/mutants.py --again survived     # after new tests
    python tests/support/mutants.py --part 3/16 --record build/mutants-3.jsonl   # on many cores

A mutant lies in a copy of the package and meets the test files that name its module, then the
others of its room, up to the first test that fails. Slow runs are left out, and so is what nobody
could notice in a result: messages, logging, annotations, assertions. The tests must be green.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "spacil"
ROOMS = ("functional", "smoothness", "learning", "nets", "measuring")
TESTS = (*ROOMS, "engine", "envs", "attach")
OPERATORS = {
    "Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "FloorDiv": "Mult", "Mod": "Mult",
    "Pow": "Mult", "BitAnd": "BitOr", "BitOr": "BitAnd", "And": "Or", "Or": "And",
    "Lt": "GtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Lt", "Eq": "NotEq", "NotEq": "Eq",
    "Is": "IsNot", "IsNot": "Is", "In": "NotIn", "NotIn": "In",
}  # fmt: skip
METHODS = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "maximum": "minimum"}
MOVES = {"to", "cpu", "detach", "contiguous"}
"""They change where a tensor lies or who differentiates it, which a CPU's numbers do not show."""


def places(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that a change may be made to."""
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not is_unseen(child):
                    yield child
                    yield from places(child)


def is_unseen(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True  # the first is a docstring
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in ("_logger", "warnings", "logging")
        case ast.FunctionDef(name="__repr__"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or (name[0].isupper() and not name.isupper())  # a type
    return False


def changes_of(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.BinOp(op=ast.BitOr(), right=ast.Constant(value=None)):
            pass  # a type
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            if swapped := OPERATORS.get(type(node.op).__name__):
                yield changed(node, op=getattr(ast, swapped)())
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                swap = getattr(ast, OPERATORS[type(op).__name__])()
                yield changed(node, ops=[*ops[:i], swap, *ops[i + 1 :]])
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            yield ast.Constant(0)  # -1 -> 1 would be the same dim of a matrix
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield changed(node, value=not node.value)
        case ast.Constant(value=int()):
            yield changed(node, value=node.value + 1)
        case ast.Constant(value=float()):
            yield changed(node, value=2 * node.value if node.value else 1.0)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.If() | ast.IfExp():
            yield changed(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args):
            if attr in METHODS:
                yield changed(node, func=ast.Attribute(value, METHODS[attr], ast.Load()))
            is_of_module = isinstance(value, ast.Name) and value.id in ("torch", "np", "F", "math")
            if not (is_of_module or attr in MOVES or node.keywords or len(args) > 1):
                yield value


def changed(node: ast.AST, **changes: object) -> ast.AST:
    twin = copy.copy(node)
    for name, value in changes.items():
        setattr(twin, name, value)
    return twin


class Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def shown(node: ast.AST) -> str:
    twin = ast.fix_missing_locations(copy.deepcopy(node))
    return " ".join(ast.unparse(twin).split())[:120]


def mutants_of(file: Path) -> Iterator[tuple[str, ast.AST, ast.AST, ast.Module]]:
    """Where and what each change is, the node and what takes its place, and the whole tree."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in places(tree):
        for change in changes_of(node):
            before, after = shown(node), shown(change)
            if before != after:
                place = f"{file.relative_to(SOURCE)}:{node.lineno}:{node.col_offset}"
                yield f"{place}: {before}  ->  {after}", node, change, tree


def tests_for(module: str) -> list[str]:
    """Test files that name the module, then the others of its room."""
    files = [file for room in TESTS for file in sorted((ROOT / "tests" / room).glob("test_*.py"))]
    room = module.split(".")[1]
    called = [file for file in files if module in file.read_text(encoding="utf-8")]
    called.sort(key=lambda file: file.parent.name != room)
    return [*dict.fromkeys(map(str, [*called, *(ROOT / "tests" / room).glob("test_*.py")]))]


def killer_of(file: Path, source: str, package: Path) -> str:
    """The first test that fails on changed code; empty for none."""
    path = file.relative_to(SOURCE.parent)
    (package / path).write_text(source, encoding="utf-8")
    hidden = {"PYTHONPATH": str(package), "HYPOTHESIS_STORAGE_DIRECTORY": str(package / "examples")}
    module = ".".join(path.with_suffix("").parts)
    command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-p", "no:cacheprovider"]
    command += ["--hypothesis-seed=0", "--timeout", "60", *tests_for(module)]
    environment = os.environ | hidden | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    shutil.copy(file, package / path)
    failed = re.search(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
    return failed[1] if failed else "" if done.returncode == 0 else f"exit code {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="more go on with the same sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", choices=["survived", "none"], default="none")
    parser.add_argument("--record", type=Path, default=ROOT / "build" / "mutants.jsonl")
    parser.add_argument("--part", default="0/1", help="every n-th of them from the i-th on: i/n")
    options = parser.parse_args()
    first, parts = map(int, options.part.split("/"))
    files = [file for room in ROOMS for file in sorted((SOURCE / room).rglob("*.py"))]
    found = [(file, *mutant) for file in files for mutant in mutants_of(file)]
    random.Random(options.seed).shuffle(found)
    options.record.parent.mkdir(parents=True, exist_ok=True)
    options.record.touch()
    known = dict(map(json.loads, options.record.read_text(encoding="utf-8").splitlines()))
    counts: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / SOURCE.name)
        for file, name, node, change, tree in found[first : options.count : parts]:
            if name not in known or (options.again == "survived" and not known[name]):
                Swap(node, ast.copy_location(change, node)).visit(tree)
                source = ast.unparse(ast.fix_missing_locations(tree))
                Swap(change, node).visit(tree)
                known[name] = killer_of(file, source, Path(folder))
                with options.record.open("a", encoding="utf-8") as record:
                    record.write(json.dumps([name, known[name]]) + "\n")
                print(known[name] or "SURVIVED", name, sep="   ", flush=True)
            counts[name.split("/")[0], bool(known[name])] += 1
    print(f"of {len(found)} mutants in {len(ROOMS)} rooms:")
    for room in ROOMS:
        print(f"{room:<12}{counts[room, True]:>5} of {counts[room, True] + counts[room, False]:>4}")
    print(
        f"{sum(n for (_, is_killed), n in counts.items() if is_killed)} of {counts.total()} killed"
    )


if __name__ == "__main__":
    main()

"""Small changes to a source file that a good test suite notices: one mutant, one change.

A mutant is named by where it is and what it does, so that a campaign can be resumed, and one of
its mutants looked at again. What nobody could notice in a result is left out: messages, logging,
annotations, assertions.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SWAPPED_METHODS = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "maximum": "minimum"}
_MOVES = {"to", "cpu", "detach", "contiguous"}
"""They change where a tensor lies or who differentiates it, which a CPU's numbers do not show."""
_SILENT = {"_logger", "warnings", "logging"}


@dataclass(frozen=True)
class Mutant:
    """One change; `path` is relative to the folder of the package."""

    path: str
    line: int
    column: int
    kind: str
    function: str
    """Qualified name of the outermost function it is in; empty for the module itself"""
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.kind}"


def mutants_of(path: Path, name: str) -> list[Mutant]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node, function in _places(tree):
        for kind, changed in _changes(node):
            before, after = _shown(node), _shown(changed)
            if before != after:
                place = (node.lineno, node.col_offset)
                found.append(Mutant(name, *place, kind, function, before, after))
    return found


def mutated(path: Path, mutant: Mutant) -> ast.Module:
    """The file's syntax tree with the one change in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, _ in _places(tree):
        if (node.lineno, node.col_offset) == (mutant.line, mutant.column):
            for kind, changed in _changes(node):
                if kind == mutant.kind and _shown(node) == mutant.before:
                    swap = _Swap(node, ast.copy_location(changed, node))
                    return ast.fix_missing_locations(swap.visit(tree))
    raise LookupError(f"{mutant.name}: the file has changed")


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _places(
    node: ast.AST, function: str = "", of_class: str = ""
) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Every node that a change may be made to, with the function it is in."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_unseen(child):
                continue
            inside, prefix = function, of_class
            if isinstance(child, ast.ClassDef):
                prefix = f"{of_class}{child.name}."
            if isinstance(child, ast.FunctionDef):
                inside = function or f"{of_class}{child.name}"
            if isinstance(child, ast.expr | ast.stmt):
                yield child, inside
            yield from _places(child, inside, prefix)


def _is_unseen(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _SILENT
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name="__repr__"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or (name[0].isupper() and not name.isupper())  # a type
    return False


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in _OPERATORS:
            if not (isinstance(node, ast.BinOp) and _is_type_union(node)):
                yield "operator", _with(node, op=_OPERATORS[type(node.op)]())
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                swapped = [*ops[:i], _OPERATORS[type(op)](), *ops[i + 1 :]]
                yield f"comparison{i}", _with(node, ops=swapped)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            yield "index", ast.Constant(0)  # -1 -> 1 would be the same dim of a matrix
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield "sign", node.operand
        case ast.Constant(value=bool()):
            yield "constant", _with(node, value=not node.value)
        case ast.Constant(value=int()):
            yield "constant", _with(node, value=node.value + 1)
        case ast.Constant(value=float()):
            yield "constant", _with(node, value=2 * node.value if node.value else 1.0)
        case ast.Expr(value=ast.Call()):
            yield "dropped call", ast.Pass()
        case ast.If() | ast.IfExp():
            yield "condition", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            yield from _changed_call(node, value, attr)


def _changed_call(node: ast.Call, value: ast.expr, attr: str) -> Iterator[tuple[str, ast.AST]]:
    if attr in _SWAPPED_METHODS:
        yield "method", _with(node, func=ast.Attribute(value, _SWAPPED_METHODS[attr], ast.Load()))
    is_of_module = isinstance(value, ast.Name) and value.id in ("torch", "np", "F", "math")
    if not is_of_module and attr not in _MOVES and not node.keywords and len(node.args) <= 1:
        yield "skipped method", value


def _with(node: ast.AST, **changes: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def _is_type_union(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.BitOr) and any(
        isinstance(side, ast.Constant) and side.value is None for side in (node.left, node.right)
    )


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())[:120]

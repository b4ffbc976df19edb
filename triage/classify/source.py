"""Whether a line of a test ends the process by itself, told from its source alone.

The one ground on which this version calls a test wrong, so everything that could hide a product behind the line is a reason to
say no: another call on the line, an argument that is not a constant, a condition that anything but the standard library
decides, an exception handler, a loop, a way out of the function before the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

DEADLY = {
    "os.abort": frozenset({"SIGABRT"}),
    "faulthandler._read_null": frozenset({"SIGSEGV", "SIGBUS"}),
    "ctypes.string_at": frozenset({"SIGSEGV", "SIGBUS"}),
    "ctypes.wstring_at": frozenset({"SIGSEGV", "SIGBUS"}),
    "ctypes.memmove": frozenset({"SIGSEGV", "SIGBUS"}),
    "ctypes.memset": frozenset({"SIGSEGV", "SIGBUS"}),
}
"""Calls that end a process, with the signals that they can do it by. None that only sends a signal: whether a process dies by
one is decided by its handlers, and those may be the product's."""
HARMLESS = frozenset({"os.getpid", "signal.Signals"})
DRAWS = ("random.", "secrets.", "time.")
STILL = frozenset({"sys.platform", "sys.version_info", "sys.hexversion", "sys.implementation.name", "os.name"})
"""Attributes that nobody writes to; `os.environ` is none of them, since the product may have left a variable there."""
WAYS_OUT = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
BRANCHES = (ast.For, ast.AsyncFor, ast.While, ast.match_case, ast.ExceptHandler, ast.FunctionDef, ast.ClassDef)


def deadly_call(source: str, function: str, line: int, signal: str | None) -> str | None:
    """Return the call at `line` of `function` that ends the process whatever the product does, or None if that is not certain."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    names = imported(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == function
            and node.lineno <= line <= (node.end_lineno or 0)
        ):
            return _in_function(node, line, signal, names)
    return None


def imported(tree: ast.Module) -> dict[str, str]:
    """Return what each name means that the module's own imports, and nothing else in it, bind."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.pop(node.id, None)
        elif isinstance(node, ast.arg):
            names.pop(node.arg, None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.pop(node.name, None)
    return names


def _in_function(node: ast.FunctionDef, line: int, signal: str | None, names: dict[str, str]) -> str | None:
    path = list(_path(node, line))
    statement = path[-1] if path else None
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    if any(isinstance(step, BRANCHES) or _in_handler(step, line) for step in path):
        return None
    if any(isinstance(step, ast.If) and not _fixed(step.test, names) for step in path):
        return None
    if any(isinstance(step, WAYS_OUT) and step.lineno <= line for step in ast.walk(node)):
        return None
    called = _dotted(statement.value.func, names)
    if called not in DEADLY or not _fixed(statement.value, names):
        return None
    signals = DEADLY[called]
    return called if signals is None or signal in signals else None


def _path(node: ast.stmt, line: int) -> Iterator[ast.AST]:
    """Yield the statements around `line`, outermost first, without the function itself."""
    inner: ast.AST | None = node
    while inner is not None:
        children = [
            child
            for child in ast.iter_child_nodes(inner)
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]
        inner = next((child for child in children if _covers(child, line)), None)
        if inner is not None:
            yield inner


def _covers(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_covers(statement, line) for statement in node.body)
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    return bool(first <= line <= last)


def _in_handler(step: ast.AST, line: int) -> bool:
    """Whether the line is in a part of a `try` that runs only after something in it happened."""
    return isinstance(step, ast.Try) and not any(_covers(statement, line) for statement in step.body)


def _fixed(expression: ast.expr, names: dict[str, str]) -> bool:
    """Whether nothing that the product does can change the value: constants, draws, the clock, the platform."""
    match expression:
        case ast.Constant():
            return True
        case ast.Name() | ast.Attribute():
            dotted = _dotted(expression, names)
            return dotted in STILL or dotted.startswith("signal.SIG")
        case ast.Call():
            called = _dotted(expression.func, names)
            known = called in DEADLY or called in HARMLESS or called.startswith(DRAWS)
            values = [*expression.args, *(word.value for word in expression.keywords)]
            return known and all(_fixed(value, names) for value in values)
        case ast.Compare() | ast.BinOp() | ast.BoolOp() | ast.UnaryOp() | ast.Tuple() | ast.Subscript():
            parts = [part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr)]
            return all(_fixed(part, names) for part in parts)
        case _:
            return False


def _dotted(expression: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of what is called, as far as imports tell it; empty if they do not."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.insert(0, expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name) or expression.id not in names:
        return ""
    return ".".join([names[expression.id], *parts])

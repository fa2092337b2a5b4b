"""What ``torch.compile`` accepts, read from the source files of an installed or unpacked torch. Nothing is imported.

Names are read generously: what any branch of a file may define counts. A name that is missing here does not exist.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphdoctor.target_torch.installed import NAME_FILES

#: The type of a setting (bool, int, float, str), and of a flag its default; None where either is not plain.
Kind = tuple[str, bool | None] | None

_PLAIN = ("bool", "int", "float", "str")
#: torch/_dynamo/eval_frame.py has no list of them, but a comparison with each.
_STANCE = re.compile(r'_stance\.stance == "(\w+)"')
_REGISTER = ("register_backend", "register_experimental_backend", "register_debug_backend")


@dataclass(frozen=True)
class TorchNames:
    """The names by what they are. ``handled`` are keys of ``options=`` that torch.compile takes out itself."""

    arguments: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    stances: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    #: Settings of ``torch._dynamo.config`` and ``torch._inductor.config``, aliases included: ``triton.cudagraphs``.
    dynamo: dict[str, Kind] = field(default_factory=dict)
    inductor: dict[str, Kind] = field(default_factory=dict)


def read(folder: Path) -> TorchNames:
    """The names of the torch in ``folder``. Raises OSError or SyntaxError where its files are not as they should be."""
    top, dynamo, inductor, modes, stances = ((folder / name).read_text(encoding="utf-8") for name in NAME_FILES)
    backends = [*sorted((folder / "_dynamo" / "backends").glob("*.py")), folder / "_dynamo/repro/after_dynamo.py"]
    return TorchNames(
        arguments=_arguments(ast.parse(top)),
        modes=_modes(ast.parse(modes)),
        backends=tuple(sorted({name for file in backends if file.is_file() for name in _backends(file)})),
        stances=tuple(sorted({"default", *_STANCE.findall(stances)})),
        handled=_handled(ast.parse(top)),
        dynamo=dict(_settings(ast.parse(dynamo).body)),
        inductor=dict(_settings(ast.parse(inductor).body)),
    )


def _compile(tree: ast.Module) -> ast.FunctionDef:
    """``torch.compile`` itself, which stands behind its overloads."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "compile"][-1]


def _arguments(tree: ast.Module) -> tuple[str, ...]:
    parameters = _compile(tree).args
    return tuple(argument.arg for argument in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs))


def _handled(tree: ast.Module) -> tuple[str, ...]:
    """The keys in ``options.pop("...")`` and ``options.get("...")``."""
    found = {
        node.args[0].value
        for node in ast.walk(_compile(tree))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("pop", "get")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "options"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    return tuple(sorted(str(key) for key in found))


def _modes(tree: ast.Module) -> tuple[str, ...]:
    """The keys of the first dict in ``list_mode_options``."""
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "list_mode_options")
    table = next(node for node in ast.walk(function) if isinstance(node, ast.Dict))
    return tuple(sorted(str(key.value) for key in table.keys if isinstance(key, ast.Constant)))


def _backends(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_registers(each) for each in node.decorator_list):
            yield node.name
        if isinstance(node, ast.Call) and _registers(node):
            yield from (
                str(k.value.value) for k in node.keywords if k.arg == "name" and isinstance(k.value, ast.Constant)
            )


def _registers(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Name) and called.id in _REGISTER


def _settings(
    body: Sequence[ast.stmt], prefix: str = "", above: Mapping[str, ast.ClassDef] | None = None
) -> Iterator[tuple[str, Kind]]:
    """The names that a configuration module binds, with those of the classes in it, which are its sections.

    ``above`` are the classes around, from which a section may take its fields.
    """
    classes = {**(above or {}), **{node.name: node for node in body if isinstance(node, ast.ClassDef)}}
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield f"{prefix}{node.name}", None
            for base in (*_parents(node, classes), node):
                yield from _settings(base.body, f"{prefix}{node.name}.", classes)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield f"{prefix}{node.target.id}", _annotated(node)
        elif isinstance(node, ast.Assign):
            names = [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            yield from ((f"{prefix}{name}", _kind(node.value)) for name in names)
        elif isinstance(node, ast.ImportFrom):
            # A flag that is imported, such as TYPE_CHECKING, is a setting too.
            yield from ((f"{prefix}{alias.asname or alias.name}", None) for alias in node.names if alias.name != "*")
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            # Of two branches, it is not known which one gives the type.
            inside = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            inside += [each for handler in getattr(node, "handlers", ()) for each in handler.body]
            yield from ((name, None) for name, _ in _settings(inside, prefix, classes))


def _parents(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """What the fields of a section come from: its bases, and the classes in ``@inherit_fields_from(cutlass)``."""
    named = [
        *node.bases,
        *(argument for each in node.decorator_list if isinstance(each, ast.Call) for argument in each.args),
    ]
    return [classes[base.id] for base in named if isinstance(base, ast.Name) and base.id in classes]


def _annotated(node: ast.AnnAssign) -> Kind:
    if not (isinstance(node.annotation, ast.Name) and node.annotation.id in _PLAIN):
        return None
    kind = _kind(node.value) if node.value is not None else None
    return node.annotation.id, kind[1] if kind is not None and node.annotation.id == "bool" else None


def _kind(value: ast.expr) -> Kind:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Config":
        # What the environment decides has a default all the same.
        return next((_kind(word.value) for word in value.keywords if word.arg == "default"), None)
    if isinstance(value, ast.Constant) and type(value.value).__name__ in _PLAIN:
        return type(value.value).__name__, value.value if isinstance(value.value, bool) else None
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        return "bool", _compared(value)
    return None


def _compared(value: ast.Compare) -> bool | None:
    """``os.environ.get("NAME", "0") == "1"`` where the environment does not set it."""
    read, other = value.left, value.comparators[0]
    is_read = isinstance(read, ast.Call) and ast.unparse(read.func) in ("os.environ.get", "os.getenv")
    if not is_read or not isinstance(read, ast.Call) or not isinstance(other, ast.Constant):
        return None
    default = read.args[1] if len(read.args) > 1 else ast.Constant(None)
    if not isinstance(default, ast.Constant) or not isinstance(value.ops[0], (ast.Eq, ast.NotEq)):
        return None
    return (default.value == other.value) == isinstance(value.ops[0], ast.Eq)

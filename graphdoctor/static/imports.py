"""Import statements: names of other scanned modules, or of libraries."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
from libcst import helpers

from graphdoctor.static import facts, statements
from graphdoctor.static.index import ModuleInfo, Scope
from graphdoctor.static.lazy import promised
from graphdoctor.static.machine import Frame, Machine
from graphdoctor.static.values import Const, External, Imported, Value


def import_names(machine: Machine, node: cst.Import | cst.ImportFrom) -> tuple[str, ...]:
    """The dotted names that the statement imports."""
    if isinstance(node, cst.Import):
        return tuple(helpers.get_full_name_for_node(alias.name) or "" for alias in node.names)
    base = _base(machine, node)
    if isinstance(node.names, cst.ImportStar):
        return (f"{base}.*",)
    return tuple(f"{base}.{helpers.get_full_name_for_node(alias.name)}" for alias in node.names)


def _base(machine: Machine, node: cst.ImportFrom) -> str:
    name = helpers.get_full_name_for_node(node.module) if node.module is not None else ""
    if not node.relative:
        return name or ""
    package = machine.frame.module.package.split(".")
    above = package[: len(package) - (len(node.relative) - 1)]
    return ".".join([*above, name] if name else above)


def execute_import(machine: Machine, node: cst.Import | cst.ImportFrom) -> None:
    """Bind the imported names."""
    scope = machine.frame.scope
    if isinstance(node, cst.Import):
        for alias in node.names:
            dotted = helpers.get_full_name_for_node(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                scope.assign(alias.asname.name.value, named(dotted))
            else:
                top = dotted.partition(".")[0]
                scope.assign(top, named(top))
        return
    base = _base(machine, node)
    if isinstance(node.names, cst.ImportStar):
        module = load_module(machine, machine.frame.module, base)
        for name, value in module.scope.names.items() if module is not None else ():
            if not name.startswith("_"):
                scope.assign(name, value)
        return
    for alias in node.names:
        name = alias.name.value if isinstance(alias.name, cst.Name) else ""
        bound = (
            alias.asname.name.value if alias.asname is not None and isinstance(alias.asname.name, cst.Name) else name
        )
        scope.assign(bound, member(machine, base, name))


def named(dotted: str) -> Value:
    """The value of a module named ``dotted``."""
    return External(dotted)


def member(machine: Machine, base: str, name: str) -> Value:
    """``from base import name``: of a scanned module it is looked up on first use, since most names never are."""
    if f"{base}.{name}" == "typing.TYPE_CHECKING":
        return Const(False)
    here = machine.frame.module
    if module_path(machine, here, base) is None:
        return External(f"{base}.{name}" if base else name)
    return Imported(base, name, here.key)


def resolve(machine: Machine, pending: Imported) -> Value:
    """The value that an imported name stands for."""
    importer = machine.importer(pending.importer)
    qualname = f"{pending.module}.{pending.name}"
    if importer is None or qualname in facts.COMPILE_TIME:
        return External(qualname)
    module = load_module(machine, importer, pending.module)
    found = module.scope.names.get(pending.name) if module is not None else None
    if isinstance(found, Imported) and found != pending:
        return resolve(machine, found)
    if found is not None:
        return found
    lazy = lazy_member(machine, module, pending.name) if module is not None else None
    return External(qualname) if lazy is None else lazy


def lazy_member(machine: Machine, module: ModuleInfo, name: str) -> Value | None:
    """``name`` of a followed package that makes its names when they are asked for."""
    root = machine.project.followed.get(module.name.partition(".")[0])
    return None if root is None else _promised(machine, module, name, root)


def decorator(machine: Machine, named: Value) -> Value:
    """What the decorator ``named`` is, also where a package of the project makes its names when they are asked for.

    Only decorators are looked up so: all that such packages promise would be most of the project.
    """
    base, _, name = named.qualname.rpartition(".") if isinstance(named, External) else ("", "", "")
    module = load_module(machine, machine.frame.module, base) if base else None
    found = None if module is None else _promised(machine, module, name, module.root)
    return named if found is None else found


def _promised(machine: Machine, module: ModuleInfo, name: str, root: Path) -> Value | None:
    place = promised(module.source.file, module.name, root).get(name)
    return resolve(machine, Imported(*place, module.key)) if place is not None else None


def module_path(machine: Machine, here: ModuleInfo, dotted: str) -> Path | None:
    """The file of the module ``dotted`` if it is followed, or belongs to the same project as ``here``."""
    top = dotted.partition(".")[0]
    if top in machine.project.followed:
        return _found(machine, here, dotted, machine.project.followed[top])
    if here.package and top != here.package.partition(".")[0]:
        return None
    if not here.package and here.root.name in ("site-packages", "dist-packages"):
        # A module that is installed as one file: what lies beside it are other people's packages.
        return None
    return _found(machine, here, dotted, here.root)


def _found(machine: Machine, here: ModuleInfo, dotted: str, root: Path) -> Path | None:
    file, paths = machine.project.module_file(dotted, root)
    here.looked_for.update(paths)
    return file


def load_module(machine: Machine, here: ModuleInfo, dotted: str) -> ModuleInfo | None:
    """The module ``dotted`` of the scanned project; None when it is not part of the project.

    It is interpreted once for all files that import it, by a machine of its own: what that says of it is the same for
    all, and is not a finding of any.
    """
    if here is machine.main and dotted == here.name:
        return here
    file = module_path(machine, here, dotted)
    if file is None:
        return None
    known = machine.project.library.get(str(file))
    if known is not None:
        return known
    source = machine.project.source(file)
    if source is None:
        return None
    package = dotted if source.file.name == "__init__.py" else dotted.rpartition(".")[0]
    module = ModuleInfo(source, dotted, package, Scope("module"))
    machine.project.library[str(file)] = module
    librarian = machine.librarian
    # A budget for each module, not for all of them.
    librarian.steps = 0
    run_module(librarian, module)
    return module


def run_module(machine: Machine, module: ModuleInfo) -> ModuleInfo:
    """Interpret the top level of ``module``."""
    frame = Frame(function=None, module=module, scope=module.scope, statement=module.source.top)
    with machine.call(frame):
        for statement in module.source.top.body:
            # One by one: what stands behind a raise or an exit at the top level is still there to be imported.
            statements.run_statements(machine, [statement])
    return module

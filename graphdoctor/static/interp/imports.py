"""Import statements: names of other scanned modules, or of libraries."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
from libcst import helpers

from graphdoctor.source.files import is_file
from graphdoctor.source.module_files import is_called_extension
from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.lazy_exports import lazy_exports
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.torch_tables import EXTENSION
from graphdoctor.static.domain.values import Const, External, Imported, Seq, Value
from graphdoctor.static.interp import statements
from graphdoctor.static.interp.interpreter import Interpreter


def import_names(interpreter: Interpreter, node: cst.Import | cst.ImportFrom) -> tuple[str, ...]:
    """The dotted names that the statement imports."""
    if isinstance(node, cst.Import):
        return tuple(helpers.get_full_name_for_node(alias.name) or "" for alias in node.names)
    base = _base(interpreter, node)
    if isinstance(node.names, cst.ImportStar):
        return (f"{base}.*",)
    return tuple(f"{base}.{helpers.get_full_name_for_node(alias.name)}" for alias in node.names)


def _base(interpreter: Interpreter, node: cst.ImportFrom) -> str:
    name = helpers.get_full_name_for_node(node.module) if node.module is not None else ""
    if not node.relative:
        return name or ""
    package = interpreter.frame.module.package.split(".")
    above = package[: len(package) - (len(node.relative) - 1)]
    return ".".join([*above, name] if name else above)


def is_present(interpreter: Interpreter, node: cst.Import | cst.ImportFrom) -> bool:
    """Whether the statement imports only modules of the scanned project, so that it cannot fail."""
    here = interpreter.frame.module
    bases = import_names(interpreter, node) if isinstance(node, cst.Import) else (_base(interpreter, node),)
    return all(base and module_path(interpreter, here, base) is not None for base in bases)


def execute_import(interpreter: Interpreter, node: cst.Import | cst.ImportFrom) -> None:
    """Bind the imported names."""
    scope = interpreter.frame.scope
    if isinstance(node, cst.Import):
        for alias in node.names:
            dotted = helpers.get_full_name_for_node(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                scope.assign(alias.asname.name.value, _bound_module(interpreter, dotted))
            else:
                top = dotted.partition(".")[0]
                scope.assign(top, _bound_module(interpreter, top))
        return
    base = _base(interpreter, node)
    if isinstance(node.names, cst.ImportStar):
        module = load_module(interpreter, interpreter.frame.module, base)
        interpreter.frame.module.imports_unknown_names |= module is None or module.imports_unknown_names
        for name, value in _handed_on(module) if module is not None else ():
            scope.assign(name, value)
        return
    for alias in node.names:
        name = alias.name.value if isinstance(alias.name, cst.Name) else ""
        bound = (
            alias.asname.name.value if alias.asname is not None and isinstance(alias.asname.name, cst.Name) else name
        )
        scope.assign(bound, member(interpreter, base, name))


def _handed_on(module: ModuleInfo) -> list[tuple[str, Value]]:
    """The names that ``from module import *`` binds: those in ``__all__``, where that is known, else all but private
    names.
    """
    names = module.scope.names
    public = names.get("__all__")
    listed = public.items if isinstance(public, Seq) else None
    if listed is None or not all(isinstance(item, Const) for item in listed):
        return [(name, value) for name, value in names.items() if not name.startswith("_")]
    chosen = {item.value for item in listed if isinstance(item, Const)}
    return [(name, value) for name, value in names.items() if name in chosen]


def named(dotted: str) -> Value:
    """The value of a module named ``dotted``."""
    return External(dotted)


def _bound_module(interpreter: Interpreter, dotted: str) -> Value:
    """The module that ``import dotted`` binds."""
    here, (package, _, module) = interpreter.frame.module, dotted.rpartition(".")
    if _may_be_extension(interpreter, here, dotted) and module_path(interpreter, here, dotted) is None:
        return _outside(interpreter, here, package, module)
    return named(dotted)


def _may_be_extension(interpreter: Interpreter, here: ModuleInfo, dotted: str) -> bool:
    """Whether a missing module is an extension: the project builds it, or its name is like that of one."""
    built = interpreter.project.layout.builds_extension(here.source.resolved.parent, dotted)
    return built or is_called_extension(dotted.rpartition(".")[2])


def member(interpreter: Interpreter, base: str, name: str) -> Value:
    """``from base import name``: of a scanned module it is looked up on first use, since most names never are."""
    # beartype hands on the hints of the standard library, the ones that fit the version of Python.
    base = "typing" if base == "beartype.typing" else base
    if f"{base}.{name}" == "typing.TYPE_CHECKING":
        return Const(False)
    here = interpreter.frame.module
    if module_path(interpreter, here, base) is None:
        package, _, module = base.rpartition(".")
        return External(f"{_outside(interpreter, here, package, module).qualname}.{name}" if base else name)
    return Imported(base, name, here.key)


def _outside(interpreter: Interpreter, here: ModuleInfo, package: str, module: str) -> External:
    """The value of ``module`` where it is not scanned code; ``package`` holds it, "" for a module on the path.

    A module in C or Cython is marked as such. It may be built into a folder of its own in a package, where its source
    lies. One that is not built yet is known by ``setup.py``, or by what it is called.
    """
    qualname = f"{package}.{module}" if package else module
    outer, _, inner = package.rpartition(".")
    for name, below in ((package, ""), (outer, inner)):
        place = module_path(interpreter, here, name) if name else None
        if place is not None:
            layout, folders = interpreter.project.layout, {place.parent / below, place.parent}
            unbuilt = _may_be_extension(interpreter, here, qualname) and not any(
                (folder / module).is_dir() or is_file(folder / f"{module}.py") for folder in folders
            )
            if unbuilt or any(layout.is_extension(module, folder) for folder in folders):
                return External(f"{EXTENSION}{qualname}")
            break
    unbuilt = not package and _may_be_extension(interpreter, here, module)
    return External(f"{EXTENSION}{qualname}" if unbuilt else qualname)


def resolve(interpreter: Interpreter, pending: Imported) -> Value:
    """The value that an imported name stands for."""
    importer = interpreter.module_with_key(pending.importer)
    qualname = f"{pending.module}.{pending.name}"
    if importer is None or qualname in torch_tables.COMPILE_TIME:
        return External(qualname)
    module = load_module(interpreter, importer, pending.module)
    found = module.scope.names.get(pending.name) if module is not None else None
    if isinstance(found, Imported):
        # A package that imports its own modules, ``from package import module``, binds them to themselves.
        itself = pending.module, pending.name
        is_itself = (found.module, found.name) == itself
        return _outside(interpreter, importer, *itself) if is_itself else resolve(interpreter, found)
    if found is not None:
        return found
    lazy = lazy_member(interpreter, module, pending.name) if module is not None else None
    if lazy is None:
        # A package that chooses its backend at run time exports ``torch`` without an import of it.
        torch = pending.name == "torch"
        return External("torch") if torch else _outside(interpreter, importer, pending.module, pending.name)
    return lazy


def lazy_member(interpreter: Interpreter, module: ModuleInfo, name: str) -> Value | None:
    """``name`` of a followed package that imports its modules on first use."""
    root = interpreter.project.followed.get(module.name.partition(".")[0])
    return None if root is None else _lazy_export(interpreter, module, name, root)


def decorator(interpreter: Interpreter, named: Value) -> Value:
    """What the decorator ``named`` is, also where a package of the project imports it on first use.

    Only decorators are looked up so: all that such packages export would be most of the project.
    """
    base, _, name = named.qualname.rpartition(".") if isinstance(named, External) else ("", "", "")
    module = load_module(interpreter, interpreter.frame.module, base) if base else None
    found = None if module is None else _lazy_export(interpreter, module, name, module.root)
    return named if found is None else found


def _lazy_export(interpreter: Interpreter, module: ModuleInfo, name: str, root: Path) -> Value | None:
    place = lazy_exports(module.source.file, module.name, root).get(name)
    return resolve(interpreter, Imported(*place, module.key)) if place is not None else None


def module_path(interpreter: Interpreter, here: ModuleInfo, dotted: str) -> Path | None:
    """The file of the module ``dotted`` if it is followed, or belongs to the same project as ``here``."""
    # The same module is looked up for each name that a file imports from it.
    if dotted not in here.imported:
        here.imported[dotted] = _module_path(interpreter, here, dotted)
    return here.imported[dotted]


def _module_path(interpreter: Interpreter, here: ModuleInfo, dotted: str) -> Path | None:
    top = dotted.partition(".")[0]
    if top in interpreter.project.followed:
        return _found(interpreter, here, dotted, interpreter.project.followed[top])
    if interpreter.project.layout.is_installed(here.root):
        # The folders beside an installed package are other packages.
        own = bool(here.package) and top == here.package.partition(".")[0]
        return _found(interpreter, here, dotted, here.root) if own else None
    # A script that changes ``sys.path`` adds a folder around it.
    folder = here.source.resolved.parent
    added = folder.parents[:2] if here.changes_path else ()
    roots = (here.root, *interpreter.project.layout.roots(folder, top), *added)
    return next((file for root in roots if (file := _found(interpreter, here, dotted, root)) is not None), None)


def _found(interpreter: Interpreter, here: ModuleInfo, dotted: str, root: Path) -> Path | None:
    file, paths = interpreter.project.module_file(dotted, root)
    here.looked_for.update(paths)
    return file


def load_module(interpreter: Interpreter, here: ModuleInfo, dotted: str) -> ModuleInfo | None:
    """The module ``dotted`` of the scanned project; None when it is not part of the project.

    It is interpreted once for all files that import it, by an interpreter whose events nobody receives.
    """
    if here is interpreter.main and dotted == here.name:
        return here
    file = module_path(interpreter, here, dotted)
    if file is None:
        return None
    known = interpreter.project.library.get(str(file))
    if known is not None:
        return known
    source = interpreter.project.source(file)
    if source is None:
        return None
    package = dotted if source.file.name == "__init__.py" else dotted.rpartition(".")[0]
    module = ModuleInfo(source, dotted, package, Scope("module"))
    interpreter.project.library[str(file)] = module
    library_interpreter = interpreter.library_interpreter
    # A budget for each module, not for all of them.
    library_interpreter.steps = 0
    run_module(library_interpreter, module)
    return module


def run_module(interpreter: Interpreter, module: ModuleInfo) -> ModuleInfo:
    """Interpret the top level of ``module``."""
    frame = Frame(function=None, module=module, scope=module.scope, statement=module.source.top)
    with interpreter.call(frame):
        for statement in module.source.top.body:
            # One by one, since names bound after a raise or an exit at the top level may be imported too.
            statements.run_statements(interpreter, [statement])
    return module

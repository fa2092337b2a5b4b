"""Files whose classes a package exports from other files: the source that code is generated from, or an older copy."""

from __future__ import annotations

from graphdoctor.source.files import is_file
from graphdoctor.source.module_files import candidates
from graphdoctor.static.domain.lazy_exports import exports
from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.values import Class
from graphdoctor.static.regions.definitions import defined


def superseded(module: ModuleInfo) -> bool:
    """Whether the ``__init__.py`` beside ``module`` exports, for each class of ``module``, one of the same name from
    another file of the folder. Users of the package get these instead.

    ``module`` has been interpreted: its names are known.
    """
    own = [v.info.name for _, v in defined(module) if isinstance(v, Class) and v.info.module is module]
    if not own or not module.package or module.package == module.name:
        return False
    exported = exports(module.source.resolved.parent / "__init__.py", module.package, module.root)
    origins = {exported[name][0] if name in exported else module.name for name in own}
    for origin in origins:
        module.looked_for.update(map(str, candidates(origin, module.root)))
    return all(origin != module.name and _in_folder(origin, module) for origin in origins)


def _in_folder(origin: str, module: ModuleInfo) -> bool:
    """Whether ``origin`` is a file beside ``module``; a package may export what other packages define."""
    package, file = candidates(origin, module.root)
    return origin.rpartition(".")[0] == module.package and is_file(file) and not is_file(package)

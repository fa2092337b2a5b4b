"""Which placements to count in a model. Runs in the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torch import nn

from graphdoctor.advise import code
from graphdoctor.bench.blocks import repeated
from graphdoctor.bench.place import hides_forward
from graphdoctor.model.advice import Placement

#: Submodules that are tried alone at most: each takes a run of the model.
_MOST_TRIED = 30

Count = Callable[[Placement], Placement]


def blocks(model: nn.Module) -> Iterator[Placement]:
    """The repeated blocks; and again with the setting that lets the blocks of a language model share a compilation."""
    groups = repeated(model)
    names = tuple(name for group in groups for name in group)
    if not names:
        return
    parents = {group[0].rpartition(".")[0]: group for group in groups}
    containers = [
        path
        for path, group in parents.items()
        if isinstance(model.get_submodule(path), (nn.ModuleList, nn.Sequential))
        and len(list(model.get_submodule(path).children())) == len(group)
    ]
    lines = code.in_place(names, containers, _hidden(model, names))
    yield Placement("blocks", lines, names)
    if getattr(getattr(model, "config", None), "use_cache", False):
        # Each layer reads its own entry of the key-value cache, so each is compiled for itself.
        setting = "model.config.use_cache = False"
        yield Placement("blocks", f"{setting}\n{lines}", names, setting=setting)


def submodules(model: nn.Module, whole: Placement, count: Count) -> Placement | None:
    """The largest submodules that compile without a break; of a model that has no break, its parts.

    None where there are fewer than two parts, or where no submodule compiles.
    """
    if not whole.breaks and not whole.failure:
        names = tuple(name for name, child in model.named_children() if [*child.children()] and _is_called(child))
        return count(_placement(model, names)) if len(names) > 1 else None
    ready = _Search(model, count).names()
    return count(_placement(model, tuple(ready))) if ready else None


def _placement(model: nn.Module, names: tuple[str, ...]) -> Placement:
    return Placement("submodules", code.in_place(names, hidden=_hidden(model, names)), names)


def _hidden(model: nn.Module, names: Sequence[str]) -> set[str]:
    return {name for name in names if hides_forward(model.get_submodule(name))}


class _Search:
    """Top-down: opens only modules that break, and tries one of several equal blocks."""

    def __init__(self, model: nn.Module, count: Count) -> None:
        self._model = model
        self._count = count
        self._alike = {name: group for group in repeated(model) for name in group}
        self._tried = 0

    def names(self, path: str = "") -> list[str]:
        """The submodules below ``path`` that compile."""
        found: list[str] = []
        for child, module in self._model.get_submodule(path).named_children():
            name = f"{path}.{child}" if path else child
            if not [*module.children()] or name != self._alike.get(name, (name,))[0]:
                continue
            if _is_called(module) and self._compiles(name):
                found += self._alike.get(name, (name,))
            else:
                found += self.names(name)
        return found

    def _compiles(self, name: str) -> bool:
        if self._tried == _MOST_TRIED:
            return False
        self._tried += 1
        counted = self._count(_placement(self._model, (name,)))
        return counted.compilations > 0 and not counted.breaks and not counted.failure


def _is_called(module: nn.Module) -> bool:
    return not isinstance(module, (nn.ModuleList, nn.ModuleDict))

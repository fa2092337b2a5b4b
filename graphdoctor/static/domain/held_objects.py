"""The objects that an object holds in its attributes, at any depth, and the modules that a module has registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphdoctor.static.domain.value_functions import options, walk
from graphdoctor.static.domain.values import CHILDREN, Function, Instance, Mapping, Seq, TorchModule, Value


def held_objects(instance: Instance, through_modules: bool = True) -> list[Instance]:
    """The objects that ``instance`` holds, and those in them, which may hold ``instance`` again.

    Without ``through_modules`` those that only a module of it holds are left out, and the modules too.
    """
    found: list[Instance] = []
    seen: set[int] = set()
    stack: list[Value] = list(instance.attrs.values())
    while stack:
        for value in options(stack.pop()):
            if id(value) in seen or (_is_module(value) and not through_modules):
                continue
            seen.add(id(value))
            if isinstance(value, Instance):
                found.append(value)
            elif isinstance(value, TorchModule) and value.children is not None:
                stack.append(value.children)
            stack += [part for part in walk(value, 1) if part is not value]
    return found


def submodules(module: Instance) -> Iterator[Instance | TorchModule]:
    """The modules in ``module`` in the order of ``modules()``, which gives ``module`` before them."""
    yield from _registered(module, {id(module)})


def children(module: Instance) -> Iterator[Instance | TorchModule]:
    """The modules that ``children()`` of ``module`` gives."""
    for name, held in module.attrs.items():
        for value in walk(held, 1) if name == CHILDREN else options(held):
            if isinstance(value, TorchModule) or (isinstance(value, Instance) and value.info.is_module):
                yield value


def _registered(module: Instance | TorchModule, seen: set[int]) -> Iterator[Instance | TorchModule]:
    if isinstance(module, Instance):
        inner: Iterable[Value] = children(module)
    else:
        inner = walk(module.children, 1) if module.children is not None else ()
    for value in inner:
        if isinstance(value, (Instance, TorchModule)) and _is_module(value) and id(value) not in seen:
            seen.add(id(value))
            yield value
            yield from _registered(value, seen)


def note_passed(target: Value, args: Iterable[Value]) -> None:
    """Mark the objects among the arguments of a region, also in containers, and those that they hold, as passed to it.

    Objects that a module holds are not marked: their numbers are constants of the graph. What is compiled counts as
    an argument where it is an object that is called, and so does the object whose method it is.
    """
    own = [o.bound if isinstance(o, Function) else o for o in options(target)]
    for value in (*(each for each in own if each is not None), *args):
        for option in _in_containers(value):
            if isinstance(option, Instance) and not option.info.is_module:
                for each in (option, *held_objects(option, through_modules=False)):
                    each.is_passed = True


def _in_containers(value: Value, depth: int = 3) -> Iterator[Value]:
    """``value`` and what the containers in it hold; objects are not opened."""
    for option in options(value):
        yield option
        if depth and isinstance(option, (Seq, Mapping)):
            for part in walk(option, 1):
                if part is not option:
                    yield from _in_containers(part, depth - 1)


def _is_module(value: Value) -> bool:
    return isinstance(value, TorchModule) or (isinstance(value, Instance) and value.info.is_module)

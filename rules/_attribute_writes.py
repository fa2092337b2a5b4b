"""Numbers that compiled code reads of its module, and the statements of a loop that write them. Not a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.static.domain.events import CompiledCall
from graphdoctor.static.domain.program import ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Function, Instance, PythonValue, Value
from graphdoctor.syntax.walk import find, walk

#: How many objects deep numbers are looked for: `self.encoder.layer.cfg.window`.
_DEPTH = 4


@dataclass(frozen=True)
class Read:
    """An attribute that ``body``, in the file ``module``, reads of the compiled module: ``("cfg", "window")``."""

    path: tuple[str, ...]
    body: cst.CSTNode
    module: ModuleInfo


@dataclass(frozen=True)
class Write:
    """A statement or call that gives the attribute at ``path`` of the module a number."""

    node: cst.CSTNode
    path: tuple[str, ...]
    #: The number; where a method computes it, as written there.
    value: cst.BaseExpression
    #: What the loop computes it from.
    given: tuple[cst.CSTNode, ...]


def numbers_read(target: Value) -> Iterator[Read]:
    """The numbers that a compiled module or method reads of its object, of what it holds, and of modules it calls."""
    for option in options(target):
        owner = option if isinstance(option, Instance) else option.bound if isinstance(option, Function) else None
        if not isinstance(owner, Instance):
            continue
        function = option if isinstance(option, Function) else owner.info.lookup("forward")
        if isinstance(function, Function):
            yield from _read_by(function, owner, (), [])


def writes(loop: cst.For | cst.While, owners: Sequence[cst.CSTNode], target: Value) -> Iterator[Write]:
    """What ``loop`` writes to attributes of the module that ``owners`` name, itself or by a method that does so."""
    module = next((option for option in options(target) if isinstance(option, Instance)), None)
    for node in walk(loop.body):
        if isinstance(node, (cst.Assign, cst.AugAssign)):
            written = node.targets[0].target if isinstance(node, cst.Assign) else node.target
            path = _path(written, owners)
            if path:
                yield Write(node, path, node.value, (node.value,))
        elif isinstance(node, cst.Call) and module is not None:
            yield from _set_by_method(node, owners, module)


def compiled_from(callee: cst.CSTNode, event: CompiledCall) -> list[cst.CSTNode]:
    """What else names the module that ``callee`` was compiled from, where the file binds ``callee`` once.

    After ``fast = torch.compile(net)`` that is ``net``, and after ``self.net = net`` beside it, ``self.net``.
    """
    tree = event.site.module.tree
    made = [node for node in find(tree, cst.Assign) if node.targets[0].target.deep_equals(callee)]
    value = made[0].value if len(made) == 1 else None
    if not isinstance(value, cst.Call) or called(value) != "compile" or not value.args:
        return []
    original = value.args[0].value
    if not isinstance(original, cst.Name):
        return []
    around = next((node for node in find(tree, cst.FunctionDef) if _contains(node, made[0])), None)
    beside = find(around, cst.Assign) if around is not None else ()
    same: list[cst.CSTNode] = [node.targets[0].target for node in beside if node.value.deep_equals(original)]
    bindings = sum(node.target.deep_equals(original) for node in find(tree, cst.AssignTarget))
    is_same = bindings == 1 or (bindings == 0 and around is not None and _contains(around, event.loops[-1]))
    return [original, *same] if is_same else same


def is_number(value: Value) -> bool:
    """Whether it is an int or a float, whatever path the code takes."""

    def numeric(option: Value) -> bool:
        if isinstance(option, Const):
            return type(option.value) in (int, float)
        return isinstance(option, PythonValue) and option.kind in ("int", "float") and not option.shape

    return all(numeric(option) for option in options(value))


def _read_by(
    function: Function, owner: Instance, prefix: tuple[str, ...], seen: list[tuple[object, object]]
) -> Iterator[Read]:
    """What ``function``, a method of ``owner``, reads; ``prefix`` is the path to ``owner``."""
    receiver = _receiver(function)
    if receiver is None or len(prefix) > _DEPTH or any(f is function.info and o is owner for f, o in seen):
        return
    seen.append((function.info, owner))
    body = function.info.body
    stored = {id(node.target) for node in find(body, cst.AssignTarget)}
    for node in find(body, cst.Attribute):
        path = _path(node, [receiver])
        if not path or id(node) in stored:
            continue
        holder = _follow(owner, path[:-1])
        if holder is None:
            continue
        value = holder.attrs.get(path[-1])
        if value is not None and is_number(value):
            yield Read((*prefix, *path), body, function.info.module)
        method = holder.info.lookup(path[-1]) if value is None else None
        if isinstance(method, Function):
            yield from _read_by(method, holder, (*prefix, *path[:-1]), seen)
        for part in options(value) if value is not None else ():
            forward = part.info.lookup("forward") if isinstance(part, Instance) else None
            if isinstance(part, Instance) and isinstance(forward, Function):
                yield from _read_by(forward, part, (*prefix, *path), seen)


def _follow(owner: Instance, path: tuple[str, ...]) -> Instance | None:
    """The object at ``path`` of ``owner``, where it is the only one that may be there."""
    for name in path:
        value = owner.attrs.get(name)
        if not isinstance(value, Instance):
            return None
        owner = value
    return owner


def _set_by_method(call: cst.Call, owners: Sequence[cst.CSTNode], module: Instance) -> Iterator[Write]:
    """The attributes that a method of the module, or of what it holds, computes from an argument of ``call``."""
    path = _path(call.func, owners)
    holder = _follow(module, path[:-1]) if path else None
    method = holder.info.lookup(path[-1]) if holder is not None else None
    receiver = _receiver(method) if isinstance(method, Function) else None
    if not isinstance(method, Function) or receiver is None or method.info.name == "forward":
        return
    passed = _arguments(call, method)
    for node in find(method.info.body, cst.Assign):
        set_path = _path(node.targets[0].target, [receiver])
        given = tuple(passed[name.value] for name in find(node.value, cst.Name) if name.value in passed)
        if set_path and given:
            value = given[0] if isinstance(node.value, cst.Name) else node.value
            yield Write(call, (*path[:-1], *set_path), value, given)


def _arguments(call: cst.Call, method: Function) -> dict[str, cst.BaseExpression]:
    """The arguments of ``call`` by the names of the method's parameters; nothing where one is unpacked."""
    if any(arg.star for arg in call.args) or isinstance(method.info.node, cst.Lambda):
        return {}
    names = [param.name.value for param in method.info.node.params.params[1:]]
    by_position = [arg.value for arg in call.args if arg.keyword is None]
    found = dict(zip(names, by_position, strict=False))
    return found | {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}


def _receiver(function: Function) -> cst.Name | None:
    params = function.info.node.params.params
    is_method = isinstance(function.info.node, cst.FunctionDef) and "staticmethod" not in function.info.markers
    return params[0].name if is_method and params else None


def _path(node: cst.CSTNode, owners: Sequence[cst.CSTNode]) -> tuple[str, ...]:
    """The names behind one of ``owners`` in ``node``: ``("cfg", "window")`` for ``net.cfg.window``; () without any."""
    names: list[str] = []
    while isinstance(node, cst.Attribute):
        names.append(node.attr.value)
        node = node.value
        if any(node.deep_equals(owner) for owner in owners):
            return tuple(reversed(names))
    return ()


def _contains(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return any(node is inner for node in walk(outer))
